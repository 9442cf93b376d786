// SPDX-License-Identifier: Apache-2.0
// label: slow
#include <cohort/onednn.hpp>

#include "../../backend/activation_errors.hpp"

namespace onednn_activation_errors_test {

using namespace activation_errors;

/// The bounds in f32, which backends/onednn/README.md states.
bounds const in_f32{.value = {1e-6, 0}, .derivative = {1e-6, 1e-6}};

TEST(activation_errors, of_onednn_are_within_their_bounds) {
  bound const to_zero{1e-6, 1e-7};
  expect_activation_errors<onednn>(in_f32,
                                   {{"elu", {.value = to_zero, .derivative = in_f32.derivative}},
                                    {"hard_sigmoid", {.value = to_zero, .derivative = in_f32.derivative}},
                                    {"gelu_tanh", {.value = {2.5e-5, 0}, .derivative = {2.5e-5, 1e-6}}}});
}

/// Up to three roundings to bf16, of 2⁻⁹ each. The error of derivatives from rounded outputs is absolute.
TEST(activation_errors, of_onednn_in_bf16_are_rounding_errors_only) {
  if (!onednn_bf16::probe().usable) GTEST_SKIP() << onednn_bf16::probe().reason;
  expect_activation_errors<onednn_bf16>({.value = {0.006, 1e-7}, .derivative = {0.012, 0.006}}, {}, true);
}

}  // namespace onednn_activation_errors_test
