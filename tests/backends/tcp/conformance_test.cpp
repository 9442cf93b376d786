// SPDX-License-Identifier: Apache-2.0
#include "../../communicator/conformance.hpp"

#include <gtest/gtest.h>
#include <cmath>
#include <cohort/communicator/launch.hpp>
#include <cstring>
#include <string>
#include <tuple>

#include "tcp_ranks.hpp"

namespace tcp_conformance_test {

using namespace tcp_test;

class conformance_of_tcp : public testing::TestWithParam<std::tuple<conformance::test, int, char const*>> {};

TEST_P(conformance_of_tcp, conforms) {
  std::string_view const how = std::get<2>(GetParam());
  on_tcp_ranks(std::get<1>(GetParam()), std::get<0>(GetParam()).run,
               how == "encrypted" ? shared_key() : detail::tls_identity(), how == "in_memory");
}

INSTANTIATE_TEST_SUITE_P(all, conformance_of_tcp,
                         testing::Combine(testing::ValuesIn(conformance::all_tests), testing::Values(1, 2, 3, 4),
                                          testing::Values("plain", "encrypted", "in_memory")),
                         [](auto const& one) {
                           return std::string(std::get<0>(one.param).name) + "_on_"
                                  + std::to_string(std::get<1>(one.param))
                                  + "_" + std::get<2>(one.param);
                         });

/// Numbers of all magnitudes: their sum depends on the order.
std::vector<float> rough(int rank, std::size_t n) {
  random_stream const draw(7, "rough", static_cast<std::uint64_t>(rank));
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = std::ldexp(draw.uniform01<float>(i) - 0.5F, static_cast<int>(i % 23));
  return x;
}

TEST(sums_of_tcp, are_bitwise_equal_to_threads) {
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
