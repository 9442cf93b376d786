// SPDX-License-Identifier: Apache-2.0
#include "../../communicator/conformance.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <atomic>
#include <cmath>
#include <cohort/communicator/launch.hpp>
#include <cstring>
#include <filesystem>
#include <string>
#include <tuple>

#include "../../data/refused.hpp"
#include "tcp_ranks.hpp"

namespace tcp_conformance_test {

using namespace tcp_test;

class conformance_of_tcp : public testing::TestWithParam<std::tuple<conformance::test, int, char const*>> {};

TEST_P(conformance_of_tcp, holds_in_every_case) {
  std::string_view const how = std::get<2>(GetParam());
  on_tcp_ranks(std::get<1>(GetParam()), std::get<0>(GetParam()).run,
               how == "encrypted" ? shared_key() : detail::tls_identity(), how == "in_memory");
}

INSTANTIATE_TEST_SUITE_P(all, conformance_of_tcp,
                         testing::Combine(testing::ValuesIn(conformance::all_tests),
                                          testing::Values(1, 2, 3, 4),
                                          testing::Values("plain", "encrypted", "in_memory")),
                         [](auto const& one) {
                           return std::string(std::get<0>(one.param).name) + "_on_"
                                  + std::to_string(std::get<1>(one.param)) + "_" + std::get<2>(one.param);
                         });

TEST(ranks_without_messages, are_not_reported_as_lost) {
  tcp_job job(3);
  EXPECT_NO_THROW(on_tcp_ranks(job, {.deadline = 20s, .heartbeat = 1s}, [](communicator& world) {
    ::poll(nullptr, 0, 2000);  // no two ranks have exchanged a message
    world.barrier();
  }));
}

TEST(addresses, are_tried_in_sequence) {
  tcp_job job(3);
  for (std::vector<detail::endpoint>& one : job.members.ranks)
    one.insert(one.begin(), detail::tcp_socket::listening(loopback(), {}).local());  // closed again
  EXPECT_NO_THROW(on_tcp_ranks(job, {.deadline = 20s}, [](communicator& world) { world.barrier(); }));
}

/// Changes the position of the reader in all rings of this process.
void damage_rings() {
  constexpr std::size_t at_read = 128, bytes = 4096;
  int changed = 0;
  for (auto const& one : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (!std::filesystem::read_symlink(one.path(), gone).string().starts_with("/memfd:cohort")) continue;
    int const file = std::stoi(one.path().filename().string());
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ASSERT_NE(at, MAP_FAILED);
    new (static_cast<std::byte*>(at) + at_read) std::atomic<std::uint64_t>(std::uint64_t{1} << 40);
    ::munmap(at, bytes);
    ++changed;
  }
  ASSERT_GT(changed, 0);
}

TEST(damaged_shared_memory, ends_the_job_with_an_error) {
  std::string const said = refused<communicator_error>([] {
    on_tcp_ranks(
        2,
        [](communicator& world) {
          for (int k = 0; k < 3; ++k) world.barrier();
          if (world.rank() == 0) damage_rings();
          std::vector<float> all(100'000);
          world.allreduce(std::span(all));
        },
        {}, true);
  });
  expect_parts(said, {"the memory shared with another process is damaged"});
}

/// Numbers of all magnitudes: their sum depends on the order.
std::vector<float> rough(int rank, std::size_t n) {
  random_stream const draw(7, "rough", static_cast<std::uint64_t>(rank));
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = std::ldexp(draw.uniform01<float>(i) - 0.5F, static_cast<int>(i % 23));
  return x;
}

TEST(sums_of_tcp, are_bitwise_equal_to_sums_over_threads) {
  for (std::size_t const n : {1U, 7U, 1000U, 67'780U, 1'000'003U}) {
    std::vector<float> there;
    launch<threads>(3, [&](communicator& world) {
      std::vector<float> mine = rough(world.rank(), n);
      world.allreduce(std::span(mine));
      if (world.rank() == 0) there = mine;
    });
    on_tcp_ranks(3, [&](communicator& world) {
      std::vector<float> mine = rough(world.rank(), n);
      world.allreduce(std::span(mine));
      conformance::require(std::memcmp(mine.data(), there.data(), n * sizeof(float)) == 0, std::to_string(n));
    });
  }
}

}  // namespace tcp_conformance_test
