// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/trainer/training.hpp>
#include <memory>
#include <span>
#include <vector>

namespace cohort {

/// Continues sequences: each call predicts their next steps from the states that recurrent layers had after
/// the steps of all calls before.
///
///     stateful_predictions stream(model, 8);                    // eight sequences side by side
///     predictions const made = stream.advance(measurements);    // 8 × k × C: their next k steps
///
/// Shapes    an input T×C of the network becomes sequences × k × C here, T indices become sequences × k. For
///           k = 1 the extent k may be missing. Other inputs (read behind a layer with `last_step`) are
///           unchanged. The first output of the network: k × … per sequence; with `last_step`, that after
///           the last of the k steps.
/// Order     one call at a time. The model must outlive it, and its parameters may change between two calls
///           only.
/// Exact     the outputs of the whole sequence in one piece: the same bits on `reference`; to the rounding
///           of sums on other backends.
/// Cost      k steps. A plan is made, and kept, for each k.
/// Errors    setting_error that names a layer which needs all steps: attention, pools, flatten, conv1d,
///           `reverse`, positions, a layer of yours that is not `in_place`.
class stateful_predictions {
 public:
  explicit stateful_predictions(training const& model, int sequences = 1);
  ~stateful_predictions();
  stateful_predictions(stateful_predictions&&) noexcept;
  stateful_predictions& operator=(stateful_predictions&&) noexcept;

  /// Number of sequences.
  int sequences() const;

  /// Continues all sequences by k steps. With masks (sequences × k), a masked step keeps the state.
  ///
  /// Errors    shape_error for inputs or masks of another shape or type; the states are unchanged then.
  predictions advance(tensor_view input) { return advance(std::span<tensor_view const>(&input, 1)); }
  predictions advance(std::span<tensor_view const> inputs);
  predictions advance(batch_view const& data);

  /// The next call begins new sequences: all, or one of them.
  ///
  /// Errors    setting_error for a sequence that does not exist.
  void reset();
  void reset(int sequence);

 private:
  struct stream;
  std::unique_ptr<stream> stream_;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/stateful_predictions.ipp>
#endif
