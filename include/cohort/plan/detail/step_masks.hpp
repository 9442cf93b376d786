// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>
#include <cohort/layer/step_mask.hpp>
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort::detail {

/// Source of a mask: the batch, or an input of indices in which 0 is padding.
struct mask_source {
  int length = 0;  ///< steps
  int input = -1;  ///< input of the network whose indices define the mask; −1: the batch has the mask
};

/// The masks of a network, in the order of graph_view::masks.
///
/// `averaged`  index of the mask that selects the steps over which the losses are means; −1: the losses are
///             means over examples
struct mask_sources {
  std::vector<mask_source> all{};
  int averaged = -1;
};
mask_sources masks_of(graph_view net);

/// Returns the index, among the masks of a batch, of the mask that begins at node `begin`; −1 if the batch
/// does not contain this mask.
int mask_of_batch(graph_view net, int begin);

/// Writes the mask of indices: 1 for a step whose index is not 0. `indices`: i32, f32 or f64.
void write_mask(tensor_view indices, std::uint8_t* steps);
/// Returns the mask that begins at node `begin`, N × T, u8: one of the batch, or one derived from its inputs
/// and stored in `memory`. The view has no data if no step is masked.
tensor_view mask_of(graph_view net, int begin, std::span<tensor_view const> inputs,
                    std::span<tensor_view const> masks, std::vector<std::uint8_t>& memory);
/// Returns the number of unmasked steps in masks (u8) or indices: the elements that are not 0.
int count_steps(tensor_view steps);

/// Prepares the masks of a batch for kernels.
///
/// Shapes    masks are padded to the plan's batch: additional examples have no steps.
class step_masks {
 public:
  step_masks(mask_sources const& sources, int batch);

  /// `masks`: one per source that is the batch; empty: no step is masked.
  ///
  /// Before    masks and inputs stay valid until backward has run.
  /// Errors    shape_error for a wrong number, shape or type of masks.
  void load(std::span<tensor_view const> inputs, std::span<tensor_view const> masks, int examples);

  std::size_t size() const { return masks_.size(); }
  /// The steps of a mask, for the plan's batch.
  std::span<std::uint8_t const> steps(std::size_t which) const {
    step_mask const& one = masks_[which];
    return {one.steps, static_cast<std::size_t>(batch_) * static_cast<std::size_t>(one.length)};
  }
  step_mask& operator[](std::size_t which) { return masks_[which]; }
  /// Per example, the number of steps over which the losses are means; null if the losses are means over
  /// examples.
  std::int32_t const* averaged_steps() const { return averaged() ? averaged()->counts : nullptr; }
  /// The mask that selects the steps over which the losses are means; null if the losses are means over
  /// examples.
  step_mask const* averaged() const {
    return averaged_ < 0 ? nullptr : &masks_[static_cast<std::size_t>(averaged_)];
  }

 private:
  struct memory {
    std::vector<std::uint8_t> steps;
    std::vector<std::int32_t> lengths, counts;
  };

  void measure(std::size_t which);

  std::vector<mask_source> sources_;
  int averaged_;
  int batch_;
  std::vector<memory> memory_;
  std::vector<step_mask> masks_;
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/plan/impl/step_masks.ipp>
#endif
