// SPDX-License-Identifier: Apache-2.0
#include <cohort/onednn.hpp>
#include "../../training/recurrent_cases.hpp"

namespace recurrent_training_test {

using namespace recurrent_cases;

/// 12 updates in f32.
constexpr double rounding = 2e-5;

TEST(recurrent_training_with_onednn, is_independent_of_ranks_workers_micro_batches_and_padding) {
  trains_alike_in_parts<onednn>(rounding);
}
TEST(recurrent_training_with_onednn, is_bitwise_reproducible) { repeats_its_bits<onednn>(); }
TEST(recurrent_training_with_onednn, weighs_averaged_parameters_by_numbers_of_steps) {
  averages_parameters_by_their_steps<onednn>(rounding);
}
TEST(recurrent_training_with_onednn, resumes_bitwise_under_every_strategy) {
  resumes_under_every_strategy<onednn>();
}

TEST(recurrent_training_with_onednn, ignores_padding) { ignores_padding<onednn>(); }
TEST(recurrent_training_with_onednn, accepts_fully_masked_batches) {
  accepts_batches_without_steps<onednn>();
}
TEST(recurrent_training_with_onednn, has_the_gradients_of_the_reference) {
  has_the_gradients_of_the_reference<onednn>();
}
TEST(recurrent_training_with_onednn, has_the_same_bits_with_recomputation) {
  recomputes_with_the_same_bits<onednn>();
}
TEST(recurrent_training_with_onednn, propagates_gradients_through_frozen_layers) {
  passes_gradients_if_frozen<onednn>();
}

class recurrent_training_in_bf16 : public testing::Test {
 protected:
  void SetUp() override {
    if (!onednn_bf16::probe().usable) GTEST_SKIP() << onednn_bf16::probe().reason;
  }
};

TEST_F(recurrent_training_in_bf16, is_bitwise_reproducible) { repeats_its_bits<onednn_bf16>(); }
TEST_F(recurrent_training_in_bf16, resumes_bitwise_under_every_strategy) {
  resumes_under_every_strategy<onednn_bf16>();
}
TEST_F(recurrent_training_in_bf16, learns_under_every_strategy) {
  learns_under_every_strategy<onednn_bf16>();
}
TEST_F(recurrent_training_in_bf16, ignores_padding) { ignores_padding<onednn_bf16>(); }
TEST_F(recurrent_training_in_bf16, has_the_same_bits_with_recomputation) {
  recomputes_with_the_same_bits<onednn_bf16>();
}
TEST_F(recurrent_training_in_bf16, propagates_gradients_through_frozen_layers) {
  passes_gradients_if_frozen<onednn_bf16>();
}

/// Results with several threads per worker equal those with one thread, except for the order of sums.
TEST(recurrent_training_with_onednn, is_bitwise_reproducible_on_two_threads) {
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
