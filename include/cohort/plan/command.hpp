// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/arena.hpp>
#include <cohort/plan/lowering.hpp>
#include <cohort/plan/plan.hpp>
#include <cohort/tensor/element.hpp>
#include <cstdint>
#include <utility>
#include <vector>

namespace cohort {

/// Where an argument of a command lies.
enum class place : std::uint8_t {
  arena,      ///< index: slot
  parameter,  ///< index: parameter
  copy,       ///< index: working copy
  gradient,   ///< index: parameter
  input,      ///< index: input of the batch, set at each step
  target,     ///< index: loss
  loss,       ///< index: loss
  scalars
};
struct address {
  place where = place::arena;
  int index = 0;
  bool operator==(address const&) const = default;
};

/// One kernel with its arguments, before a context gives them addresses.
template <class B>
struct command {
  typename B::kernel kernel;
  std::vector<address> arguments;
  int row = -1;     ///< of the plan's rows
  int result = -1;  ///< the slot of the step's output, where this command writes it in forward
  element_type result_type = element_type::f32;
  bool adds = false;  ///< to the gradients among its arguments, which it would overwrite otherwise
};

/// A bucket that is complete once `after` backward commands have run.
struct completion {
  int after = 0;
  int bucket = 0;
};

/// All that a context needs of a plan.
template <class B>
struct program {
  std::vector<command<B>> forward;
  std::vector<command<B>> backward;
  std::vector<completion> completions;
  std::vector<arena_slot> slots;
  std::size_t arena_bytes = 0;
  std::size_t kept_bytes = 0;        ///< of the gradients that one command writes, at most
  std::vector<target_spec> targets;  ///< one a loss
  std::size_t bytes_kept_less = 0;   ///< by recomputation
  plan_sums sums;
  std::vector<int> output_slots;
};

}  // namespace cohort
