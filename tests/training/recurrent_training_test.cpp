// SPDX-License-Identifier: Apache-2.0
#include <cohort/backend/reference.hpp>
#include "recurrent_cases.hpp"

namespace recurrent_training_test {

using namespace recurrent_cases;
using wide = reference<double>;

/// Sums of at most 80 steps of size 1, in 12 updates.
constexpr double rounding = 1e-12;

TEST(recurrent_training, is_independent_of_ranks_workers_micro_batches_and_padding) {
  trains_alike_in_parts<wide>(rounding);
}
TEST(recurrent_training, is_bitwise_reproducible) { repeats_its_bits<reference<float>>(); }
TEST(recurrent_training, weighs_averaged_parameters_by_numbers_of_steps) {
  averages_parameters_by_their_steps<wide>(rounding);
}
TEST(recurrent_training, learns_under_every_strategy) { learns_under_every_strategy<reference<float>>(); }
TEST(recurrent_training, resumes_bitwise) { resumes_under_every_strategy<reference<float>>(); }
TEST(recurrent_training, ignores_padding) { ignores_padding<reference<float>>(); }
TEST(recurrent_training, accepts_fully_masked_batches) { accepts_batches_without_steps<reference<float>>(); }
TEST(recurrent_training, has_the_same_bits_with_recomputation) {
  recomputes_with_the_same_bits<reference<float>>();
}
TEST(recurrent_training, propagates_gradients_through_frozen_layers) {
  passes_gradients_if_frozen<reference<float>>();
}

}  // namespace recurrent_training_test
