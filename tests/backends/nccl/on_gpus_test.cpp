// SPDX-License-Identifier: Apache-2.0
// needs: mpi
// label: gpu slow
// ranks: 1 2
// Sums, split communicators and training with the real NCCL, between as many GPUs as there are ranks. With
// fewer GPUs they are skipped; only tests with this label may be skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cohort/cudnn.hpp>
#include <cohort/mpi.hpp>
#include <cohort/nccl.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/trainer.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "../../training/bright_thirds.hpp"
#include "../../training/parameters_of.hpp"
#include "../cudnn/gpu_here.hpp"
#include "../mpi/under_mpirun.hpp"
#include "nccl_cases.hpp"

namespace {

using namespace cohort;
using namespace nccl_cases;

communicator* world = nullptr;

/// The reason why a rank has no separate GPU; the same on all ranks.
std::string missing() {
  std::string const why = gpu_here::missing();
  std::uint8_t lacks = why.empty() ? 0 : 1;
  world->allreduce(std::span(&lacks, 1), reduction::maximum);
  if (lacks != 0) return why.empty() ? "another rank has no GPU" : why;
  using identity = std::array<std::byte, 16>;
  std::vector<identity> all(static_cast<std::size_t>(world->size()));
  detail::gpu const found;
  std::ranges::copy(found.identity(), all[static_cast<std::size_t>(world->rank())].begin());
  world->allgather({all.data()->data(), element_type::u8, sizeof(identity) * all.size()});
  std::ranges::sort(all);
  if (std::ranges::adjacent_find(all) == all.end()) return {};
  return std::to_string(world->size()) + " ranks need as many GPUs";
}

class between_gpus : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string const why = missing(); !why.empty()) GTEST_SKIP() << why;
  }
  static std::shared_ptr<detail::compute_stream> stream() {
    return std::make_shared<detail::compute_stream>(std::make_shared<detail::gpu>());
  }
};

TEST_F(between_gpus, sums_device_memory) {
  on_every_rank(*world, [] {
    nccl over(*world);
    ASSERT_EQ(over.why_not(), "");
    sums_what_lies_there(over, stream());
  });
}

TEST_F(between_gpus, split_communicators_sum_and_are_destroyed_in_any_order) {
  if (world->size() % 2 != 0) return;  // each half needs the same number of ranks
  on_every_rank(*world, [] {
    nccl over(*world);
    relatives_sum_and_go_in_any_order(over, stream());
  });
}

TEST_F(between_gpus, ranks_train_as_with_host_memory) {
  if (world->size() == 1) return;  // one rank alone sums nothing
  on_every_rank(*world, [] {
    cohort_test::bright_thirds const examples(61);
    auto const trained = [&](communicator& ranks) {
      training made = trainer<required_backend<cudnn>>(
          wide, ranks, allreduce{}, {.optimizer = {momentum{.learning_rate = 0.02}}, .seed = 5});
      made.fit(examples.data(), {.batch = 6, .epochs = 4});
      return cohort_test::parameters_of<float>(made);
    };
    nccl over(*world);
    ASSERT_EQ(over.why_not(), "");
    auto const got = trained(over), wanted = trained(*world);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-5) << i;
  });
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int failed = 0;
  communicator_settings settings;
  settings.deadline = test_deadline;
  settings.log = stderr_sink();
  int const status = launch<mpi>(argc, argv, settings, [&](communicator& ranks) {
    world = &ranks;
    std::string const why = missing();
    failed = run_tests_on_every_rank(ranks.rank());
    if (failed != 0 || why.empty()) return;
    std::printf("case skipped: all: %s\n", why.c_str());
    failed = 77;  // which CTest reports as skipped
  });
  return failed != 0 ? failed : status;
}
