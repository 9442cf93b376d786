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

/// Source of a mask: the batch, or an input of the network whose padding is marked by a value.
struct mask_source {
  int length = 0;        ///< steps
  bool in_batch = true;  ///< whether a batch may contain the mask
  int input = -1;        ///< the input that defines the mask if the batch does not; −1: all steps exist
  float padding = 0;     ///< a step is masked if all its numbers equal `padding`

  /// Returns the tensor that defines the mask: the mask with index `number` of the batch, or the input. Null
  /// if all steps exist.
  tensor_view const* in(std::span<tensor_view const> inputs, std::span<tensor_view const> masks,
                        std::size_t number) const {
    if (in_batch && !masks.empty()) return &masks[number];
    return input < 0 ? nullptr : &inputs[static_cast<std::size_t>(input)];
  }
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

/// Returns the source of the mask that begins at node `begin`.
mask_source mask_source_of(graph_view net, int begin);
/// Returns the index, among the masks of a batch, of the mask that begins at node `begin`; −1 if the batch
/// does not contain this mask.
int mask_of_batch(graph_view net, int begin);

/// Writes the mask that `from`, the result of mask_source::in, defines: 1 for a step that exists, else 0.
/// `from` is u8 if it is a mask, and i32, f32 or f64 if it is an input.
void write_mask(mask_source const& source, tensor_view from, std::uint8_t* steps);
/// Returns the mask that begins at node `begin`, N × T, u8: a mask of the batch, or a mask derived from the
/// batch's inputs and stored in `memory`. The view has no data if no step is masked.
tensor_view mask_of(graph_view net, int begin, std::span<tensor_view const> inputs,
                    std::span<tensor_view const> masks, std::vector<std::uint8_t>& memory);

/// Prepares the masks of a batch for kernels.
///
/// Shapes    masks are padded to the plan's batch: additional examples have no steps.
class step_masks {
 public:
  step_masks(mask_sources const& sources, int batch);

  /// `masks`: one per source that is `in_batch`; empty: only padded inputs have masked steps.
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
