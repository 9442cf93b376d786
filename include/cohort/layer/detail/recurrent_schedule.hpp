// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstdint>
#include <vector>

namespace cohort::detail {

/// Order in which one direction of a recurrent layer processes a batch of sequences.
///
/// Shapes    `mask`: batch × length, 0 for a masked step; null: no step is masked.
/// `reverse`        from the last step to the first
/// `resets`         a masked step sets the state to zero; otherwise it keeps the state
/// `last_only`      only the last unmasked step has an output
/// `state_rows`     number of rows of each example's output after the rows of its steps. With `last_only`:
///                  number of rows of an example's output; 0: one row
struct recurrent_order {
  int batch = 0;
  int length = 0;
  std::uint8_t const* mask = nullptr;
  bool reverse = false;
  bool resets = false;
  bool last_only = false;
  int state_rows = 0;

  /// Number of rows of each example's output.
  int output_rows() const { return last_only ? (state_rows > 0 ? state_rows : 1) : length + state_rows; }
};

/// The unmasked steps of a batch, packed: all first steps, then all second steps, …. The examples are sorted
/// by decreasing number of steps, so step k consists of the first live(k) examples. The rows of each step are
/// padded to a multiple of `row_multiple`, and all rows together to a multiple of `total_multiple`.
///
/// Order     call build before the other functions. A further build allocates nothing if batch and length did
///           not grow.
/// Exact     the schedule depends on the recurrent_order and its mask only; examples with equally many steps
///           keep their order.
class recurrent_schedule {
 public:
  /// `row_multiple`: divides the rows of each step; `total_multiple`: divides the number of all rows.
  void build(recurrent_order const& how, int row_multiple = 1, int total_multiple = 1);

  int steps() const { return steps_; }
  /// Number of examples in step k; 0 for k = steps().
  int live(int k) const { return live_[at(k)]; }
  /// The first row of step k.
  int first(int k) const { return first_[at(k)]; }
  /// Number of rows of step k, with padding.
  int rows(int k) const { return first_[at(k) + 1] - first_[at(k)]; }
  /// Number of all rows, with all padding.
  int rows() const { return rows_; }

  // The following arrays have one element per row.

  /// example · length + step of the input; −1 for padding.
  int const* inputs() const { return inputs_.data(); }
  /// Row of the layer's output: the step's row or, if `last_only`, the example's first row; −1: none.
  int const* outputs() const { return outputs_.data(); }
  /// Number of masked steps that repeat the row's output.
  int const* repeats() const { return repeats_.data(); }
  /// Whether the state before the row is zero because of a masked step.
  std::uint8_t const* restarts() const { return restarts_.data(); }

  /// Element j: the example of row j of every step. Examples without steps come last.
  int const* examples() const { return examples_.data(); }
  /// Number of unmasked steps of an example.
  int steps_of(int example) const { return counts_[at(example)]; }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  void sort_examples(recurrent_order const& how);

  int steps_ = 0;
  int rows_ = 0;
  std::vector<int> live_, first_, inputs_, outputs_, repeats_, examples_, counts_;
  std::vector<std::uint8_t> restarts_;
};

}  // namespace cohort::detail
