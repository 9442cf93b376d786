// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/plan/detail/arena.hpp>
#include <cohort/plan/detail/command.hpp>
#include <cohort/plan/detail/lowering.hpp>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Value in memory: its address and layout, and copies of it in other layouts.
template <class Layout>
struct stored_value {
  address at;
  Layout layout;
  std::vector<std::pair<Layout, address>> copies;
};

/// Returns whether value v, as computed by forward, has readers besides the forward of step `reader`.
/// `recomputed`: steps whose forward runs again in backward. Backward reads the new results of these steps
/// instead of the first ones.
template <class Operation, class Again>
bool has_other_readers(lowered_graph const& low, std::vector<Operation> const& operations, std::size_t v,
                       std::size_t reader, Again const& recomputed) {
  bool is_recomputed = false;
  for (std::size_t s = 0; s < low.steps.size(); ++s)
    is_recomputed = is_recomputed || (recomputed[s] && static_cast<std::size_t>(low.steps[s].output) == v);
  for (int sink : low.output_values)
    if (static_cast<std::size_t>(sink) == v) return true;
  for (std::size_t s = 0; s < low.steps.size(); ++s) {
    plan_step const& step = low.steps[s];
    auto const reads = [&](auto const& call, bool own_output) {
      for (auto const& o : call.operands) {
        if (o.role == operand_role::input
            && static_cast<std::size_t>(step.inputs[static_cast<std::size_t>(o.index)]) == v)
          return true;
        if (own_output && o.role == operand_role::output && static_cast<std::size_t>(step.output) == v)
          return true;
      }
      return false;
    };
    for (auto const& call : operations[s].forward)
      if ((s != reader || (recomputed[s] && !is_recomputed)) && reads(call, false)) return true;
    for (auto const& call : operations[s].backward)
      if (!is_recomputed && reads(call, true)) return true;
  }
  return false;
}

/// Lets a step write in place over its input if nothing else reads this input.
template <class Operation, class Layout, class Again>
void write_in_place(lowered_graph const& low, std::vector<Operation> const& operations,
                    std::vector<std::optional<stored_value<Layout>>> const& values,
                    std::vector<arena_slot>& slots, Again const& recomputed) {
  for (std::size_t s = 0; s < low.steps.size(); ++s) {
    plan_step const& step = low.steps[s];
    auto const over = static_cast<std::size_t>(operations[s].overwritten);
    if (!operations[s].overwrites || (over == 0 && step.inputs.size() != 1)) continue;
    auto const from = static_cast<std::size_t>(step.inputs[over]);
    auto const& input = *values[from];
    if (input.at.where != place::arena || !(input.layout == operations[s].output)
        || has_other_readers(low, operations, from, s, recomputed))
      continue;
    int root = input.at.index;
    if (slots[static_cast<std::size_t>(root)].same_as >= 0)
      root = slots[static_cast<std::size_t>(root)].same_as;
    int const target = values[static_cast<std::size_t>(step.output)]->at.index;
    slots[static_cast<std::size_t>(target)].same_as = root;
  }
}

}  // namespace cohort::detail
