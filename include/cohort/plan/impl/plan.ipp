// SPDX-License-Identifier: Apache-2.0
#include <cohort/plan/plan.hpp>

namespace cohort {

void plan_context::forward(std::span<tensor_view const> inputs, std::span<tensor_view const> targets) {
  forward({.inputs = inputs, .targets = targets});
}

void plan_context::forward(tensor_view input, tensor_view target) {
  forward({.inputs = {&input, 1}, .targets = {&target, 1}});
}

}  // namespace cohort
