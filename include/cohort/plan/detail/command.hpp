// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/detail/arena.hpp>
#include <cohort/plan/detail/step_masks.hpp>
#include <cohort/plan/plan.hpp>
#include <cohort/tensor/element.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohort::detail {

/// Memory that holds an argument of a command, and the meaning of address::index.
enum class place : std::uint8_t {
  arena,      ///< index: slot
  parameter,  ///< index: parameter
  copy,       ///< index: working copy
  gradient,   ///< index: parameter
  input,      ///< index: input of the batch, set at each step
  target,     ///< index: loss
  loss,       ///< index: loss
  mask,       ///< index: mask of the batch
  scalars
};
/// Place of an argument, and the index within this place.
struct address {
  place where = place::arena;
  int index = 0;
  bool operator==(address const&) const = default;
};

/// Batch statistics that a command writes. `means` and `variances` are the indices of the command's arguments
/// for the batch's means and variances. `mask` is the index of the mask of the values, or −1 without a mask.
/// `first` and `channels` are the range of channels in batch_statistics.
struct written_statistics {
  std::size_t means, variances;
  int mask;
  std::size_t first, channels;
};

/// One kernel with its arguments, before a context assigns addresses to them.
template <class B>
struct command {
  typename B::kernel kernel;
  std::vector<address> arguments;
  int row = -1;     ///< index in the plan's rows
  int result = -1;  ///< slot of the step's output, if this forward command writes it
  element_type result_type = element_type::f32;
  bool accumulates = false;  ///< adds to the gradients among its arguments instead of overwriting them
  std::vector<written_statistics> statistics{};
};

/// Bucket whose gradients are complete after `after` backward commands.
struct completion {
  int after = 0;
  int bucket = 0;
};

/// Compiled form of a plan, from which contexts are made.
template <class B>
struct program {
  std::vector<command<B>> forward;
  std::vector<command<B>> backward;
  std::vector<completion> completions;
  std::vector<arena_slot> slots;
  std::size_t arena_bytes = 0;
  std::size_t saved_gradient_bytes = 0;  ///< largest total size of the gradients that one command writes
  std::vector<target_spec> targets;      ///< one per loss
  mask_sources masks;
  std::size_t bytes_saved = 0;  ///< bytes saved by recomputation
  plan_sums sums;
  std::vector<int> output_slots;
  std::vector<int> output_gradient_slots;  ///< one per output; filled before backward
  std::vector<int> input_gradient_slots;   ///< one per input; −1: no gradient reaches the input
};

}  // namespace cohort::detail
