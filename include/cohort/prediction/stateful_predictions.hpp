// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/training/training.hpp>
#include <memory>
#include <span>
#include <vector>

namespace cohort {

/// Continues sequences: each call predicts the sequences' next steps from the recurrent layers' states after
/// all earlier calls.
///
///     stateful_predictions stream(model, 8);                    // eight sequences side by side
///     predictions const made = stream.advance(measurements);    // 8 × k × C: their next k steps
///
/// Shapes    an input T×C of the network becomes sequences × k × C here; an input of T indices becomes
///           sequences × k. For k = 1 the extent k may be omitted. Other inputs (those read after a layer
///           with `last_step`) are unchanged. Returns the first output of the network: k × … per sequence or,
///           with `last_step`, the output after the last of the k steps.
/// Order     one call at a time. The model must outlive this object, and its parameters may change only
///           between two calls.
/// Exact     the outputs equal those for the whole sequence in one call: bit by bit on `reference`, up to the
///           rounding of sums on other backends.
/// Cost      k steps. One plan is created for each value of k; the `max_plans` most recently used plans are
///           cached.
/// Errors    setting_error for fewer than one sequence. setting_error naming the layer if a layer whose input
///           has steps cannot run step by step. Such layers are: attention, matmul, pools, reshape, flatten,
///           conv1d and positions; layer_norm over several axes; recurrent layers with `reverse`, an initial
///           state, `returns_state` or `resets_masked`; user-defined layers that are not `in_place`.
class stateful_predictions {
 public:
  explicit stateful_predictions(training const& model, int sequences = 1);
  ~stateful_predictions();
  stateful_predictions(stateful_predictions&&) noexcept;
  stateful_predictions& operator=(stateful_predictions&&) noexcept;

  static constexpr int max_plans = 8;

  /// Number of sequences.
  int sequences() const;
  /// Number of cached plans.
  int plans() const;

  /// Continues all sequences by k steps. With masks (sequences × k), a masked step keeps the state.
  ///
  /// Errors    shape_error for inputs or masks of the wrong shape or type. After an error, the states are
  ///           unchanged.
  predictions advance(tensor_view input) { return advance(std::span<tensor_view const>(&input, 1)); }
  predictions advance(std::span<tensor_view const> inputs);
  predictions advance(batch_view const& data);

  /// Sets the states of all sequences, or of one, to zero: the next call begins a new sequence.
  ///
  /// Errors    setting_error for a sequence that does not exist.
  void reset();
  void reset(int sequence);

 private:
  struct stream;
  std::unique_ptr<stream> stream_;
};

}  // namespace cohort
