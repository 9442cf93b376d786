// SPDX-License-Identifier: Apache-2.0
#include "activation_errors.hpp"

namespace activation_errors_test {

using namespace activation_errors;

/// Derivatives that are computed from the output, or that are zero at a point, have absolute error bounds.
TEST(activation_errors, of_the_reference_in_f32_are_within_their_bounds) {
  bounds const usual{.value = {1e-6, 0}, .derivative = {1e-6, 3e-7}};
  expect_activation_errors<reference<float>>(
      usual, {{"hard_sigmoid", {.value = {1e-6, 1e-7}, .derivative = usual.derivative}},
              {"gelu", {.value = {2e-5, 0}, .derivative = {2e-5, 3e-7}}},
              {"gelu_tanh", {.value = {3e-5, 1e-37}, .derivative = {3e-5, 3e-7}}}});
}

}  // namespace activation_errors_test
