// SPDX-License-Identifier: Apache-2.0
// uses: onednn
// Layers that are updated during the next forward, with working copies of their weights. The copies have
// other layouts, or are bf16 and written by the update.
#include <gtest/gtest.h>
#include <cohort/communicator/launch.hpp>
#include <cohort/onednn.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/trainer.hpp>
#include <string>
#include <vector>
#include "../../training/bright_thirds.hpp"

namespace onednn_overlap_next_forward_test {

using namespace cohort_test;

constexpr auto topped = network<[](builder& net) {
  return net.input({1, 8, 8}) | conv2d{.filters = 8, .kernel = 3, .padding = 1} | relu{} | dense{.units = 48}
         | relu{} | dense{.units = 256} | relu{} | dense{.units = 480} | relu{} | dense{.units = 48} | relu{}
         | dense{.units = 3} | softmax_cross_entropy{};
}>();

template <class B>
void expect_the_same_bits(int workers) {
  bright_thirds const examples(200);
  launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    struct looking final : listener {
      std::vector<std::string> seen;
      void on_step(training& run, step_report const& done) override {
        if (done.step % 4 == 3) seen.push_back(run.checksum());
      }
    };
    auto const checksums = [&](bool overlap_next_forward) {
      looking at;
      training made =
          trainer<B>(topped, world, allreduce{.overlap_next_forward = overlap_next_forward},
                     {.optimizer = {adam{.learning_rate = 0.002}}, .seed = 7, .workers = workers});
      made.fit(examples.data(), {.batch = 8, .epochs = 2, .listeners = {&at}});
      at.seen.push_back(made.checksum());
      return at.seen;
    };
    auto const plain = checksums(false);
    EXPECT_EQ(plain.size(), 7U);
    EXPECT_EQ(plain, checksums(true)) << workers;
  });
}

TEST(onednn_overlap_next_forward, is_bitwise_equal_to_allreduce) {
  for (int const workers : {1, 2}) expect_the_same_bits<onednn>(workers);
}
TEST(onednn_overlap_next_forward, is_bitwise_equal_to_allreduce_in_bf16) {
  if (!onednn_bf16::probe().usable) GTEST_SKIP() << onednn_bf16::probe().reason;
  for (int const workers : {1, 2}) expect_the_same_bits<onednn_bf16>(workers);
}

}  // namespace onednn_overlap_next_forward_test
