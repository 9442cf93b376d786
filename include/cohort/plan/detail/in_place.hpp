// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/operation.hpp>
#include <cohort/plan/arena.hpp>
#include <cohort/plan/command.hpp>
#include <cohort/plan/lowering.hpp>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace cohort::detail {

/// A value in memory: its own place and layout, and copies of it in other layouts.
template <class Layout>
struct stored_value {
  address at;
  Layout lies;
  std::vector<std::pair<Layout, address>> also;
};

/// Whether value v, as forward has made it, is read by anything but the forward of step `reader`. `again`: the steps that run once
/// more in backward, which reads what these make then.
template <class Operation, class Again>
bool is_read_otherwise(lowered_graph const& low, std::vector<Operation> const& operations, std::size_t v,
                       std::size_t reader, Again const& again) {
  bool remade = false;
  for (std::size_t s = 0; s < low.steps.size(); ++s)
    remade = remade || (again[s] && static_cast<std::size_t>(low.steps[s].output) == v);
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
      if ((s != reader || (again[s] && !remade)) && reads(call, false)) return true;
    for (auto const& call : operations[s].backward)
      if (!remade && reads(call, true)) return true;
  }
  return false;
}

/// Lets a step write where its input lies, where nobody reads the input afterwards.
template <class Operation, class Layout, class Again>
void write_in_place(lowered_graph const& low, std::vector<Operation> const& operations,
                    std::vector<std::optional<stored_value<Layout>>> const& values,
                    std::vector<arena_slot>& slots, Again const& again) {
  for (std::size_t s = 0; s < low.steps.size(); ++s) {
    plan_step const& step = low.steps[s];
    auto const over = static_cast<std::size_t>(operations[s].overwritten);
    if (!operations[s].overwrites || (over == 0 && step.inputs.size() != 1)) continue;
    auto const from = static_cast<std::size_t>(step.inputs[over]);
    auto const& input = *values[from];
    if (input.at.where != place::arena || !(input.lies == operations[s].output)
        || is_read_otherwise(low, operations, from, s, again))
      continue;
    int root = input.at.index;
    if (slots[static_cast<std::size_t>(root)].same_as >= 0)
      root = slots[static_cast<std::size_t>(root)].same_as;
    int const own = values[static_cast<std::size_t>(step.output)]->at.index;
    slots[static_cast<std::size_t>(own)].same_as = root;
  }
}

}  // namespace cohort::detail
