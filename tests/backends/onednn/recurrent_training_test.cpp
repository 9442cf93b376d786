// SPDX-License-Identifier: Apache-2.0
#include <cohort/onednn.hpp>
#include "../../trainer/recurrent_cases.hpp"

namespace recurrent_training_test {

using namespace recurrent_cases;

/// 12 updates in f32.
constexpr double rounding = 2e-5;

TEST(recurrent_training_with_onednn, agrees_over_ranks_workers_micro_batches_and_padding) {
  trains_alike_in_parts<onednn>(rounding);
}
TEST(recurrent_training_with_onednn, has_the_same_bits_again) { has_the_same_bits_again<onednn>(); }
TEST(recurrent_training_with_onednn, averages_parameters_by_their_steps) {
  averages_parameters_by_their_steps<onednn>(rounding);
}
TEST(recurrent_training_with_onednn, resumes_with_the_same_bits) { resumes_under_every_strategy<onednn>(); }

TEST(recurrent_training_with_onednn, has_the_same_bits_again_in_bf16) {
  if (!onednn_bf16::probe().usable) GTEST_SKIP() << onednn_bf16::probe().reason;
  has_the_same_bits_again<onednn_bf16>();
}
TEST(recurrent_training_with_onednn, resumes_with_the_same_bits_in_bf16) {
  if (!onednn_bf16::probe().usable) GTEST_SKIP() << onednn_bf16::probe().reason;
  resumes_under_every_strategy<onednn_bf16>();
}
TEST(recurrent_training_with_onednn, learns_in_bf16) {
  if (!onednn_bf16::probe().usable) GTEST_SKIP() << onednn_bf16::probe().reason;
  learns_under_every_strategy<onednn_bf16>();
}

/// A network runs on the threads of one worker as on one thread, but for the order of sums.
TEST(recurrent_training_with_onednn, has_the_same_bits_on_two_threads_again) {
  signs const data(43);
  auto const once = [&](int threads) {
    training_settings settings = with(1);
    settings.threads = threads;
    return trained<onednn>(tagger(6, 0.2), data, 6, 1, settings, {.batch = 12});
  };
  auto const two = once(2);
  EXPECT_EQ(two, once(2));
  EXPECT_LE(largest_difference(two, once(1)), rounding);
}

}  // namespace recurrent_training_test
