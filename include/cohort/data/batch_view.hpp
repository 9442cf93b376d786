// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch.hpp>
#include <cohort/tensor/view.hpp>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort {

/// A batch in the caller's memory: this rank's part of one global batch.
///
/// Shapes    inputs and targets: count × example each, packed; f32 or the backend's type, indices i32.
///           Padding must be finite, too. `masks`: count × T each, u8, 0 for padding; one per masked input.
///           Without masks, values mark the padding of a `padded_input`, and no step of a `masked_input` is
///           padding. `weights` and `indices`: one per example. Without weights each example has weight 1.
///           Weights are finite and at least 0.
/// Units     `indices` determine random masks (dropout); without them, train_on and training_loop use row
///           numbers, which differ on each rank. `global_count`: examples of all ranks; 0: unknown. `ranks`:
///           the number of ranks whose examples `global_count` includes; 0: all ranks of the run. If the run
///           has another number of ranks (each rank has its own loader and data), train_on and training_loop
///           treat `global_count` as unknown. `even`: the ranks' numbers of examples differ by at most 1.
/// Before    the memory outlives every use of the view.
/// After     the loss of a step is Σ weight·loss / Σ weight over the examples of all ranks. If all these
///           weights are 0, the step makes no update. Weights cannot be negative. To use factors of either
///           sign, such as advantages, multiply the target by them (softmax_cross_entropy).
struct batch_view {
  std::vector<tensor_view> inputs{};
  std::vector<tensor_view> targets{};
  std::vector<tensor_view> masks{};
  std::span<float const> weights{};
  std::span<std::int64_t const> indices{};
  int count = 0;
  std::int64_t global_count = 0;
  int ranks = 0;
  bool even = false;

  /// An empty batch. A program that fills the lists also sets `count` (predict ignores it).
  batch_view() = default;
  /// A batch with one input and one target.
  batch_view(tensor_view input, tensor_view target, std::span<float const> weights = {});
  batch_view(std::vector<tensor_view> inputs, std::vector<tensor_view> targets,
             std::span<float const> weights = {});
  /// A view of a loader's batch.
  batch_view(batch const& from) { refer_to(from); }

  /// Makes this the view of another batch, and reuses the memory of the lists.
  void refer_to(batch const& from);
  /// Makes this the view of examples [first, first + count) of another batch, and reuses the memory of the
  /// lists.  Before: the batch has these examples.
  void refer_to(batch_view const& from, int first, int count);

  /// Returns the sum of the weights; the number of examples if there are no weights.
  double weight() const;

  /// Returns the view of examples [first, first + count), for example a micro-batch. Its `global_count` is
  /// unknown.
  ///
  /// Errors    setting_error if the batch has fewer examples.
  batch_view rows(int first, int count) const;
};

}  // namespace cohort
