// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/arrays.hpp>
#include <cohort/data/description.hpp>
#include <cohort/data/example_view.hpp>
#include <cohort/tensor/view.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cohort {

/// One tensor of examples that have different numbers of steps, in memory owned by the caller.
///
/// Shapes    values[i] of example i is Tᵢ×C or Tᵢ. In shape Tᵢ, integers are indices or class labels; other
///           elements are values of 1 channel.
/// Units     as array_view. Default type: i32 for integers Tᵢ, f32 for u8 Tᵢ×C, otherwise the stored type.
struct series_view {
  std::string name{};
  std::vector<tensor_view> values{};
  double scale = 1;
  double offset = 0;
  int classes = 0;  ///< if > 0: values are class labels 0 … classes − 1
  std::vector<std::string> label_names = {};
  std::optional<element_type> as = std::nullopt;
  std::vector<std::string> feature_names = {};  ///< as of tensor_description
  std::optional<std::uint64_t> pipeline = {};   ///< as of tensor_description
};

/// Divides a tensor that contains the rows of all series, one series after another. Copies nothing.
///
/// Shapes    rows ΣTᵢ×C or ΣTᵢ; `lengths`: Tᵢ of each series.
/// Errors    shape_error if the sum of the lengths differs from the number of rows, or a length is below 1.
std::vector<tensor_view> series_of(tensor_view rows, std::span<int const> lengths);

/// Settings of sequences.
struct sequence_settings {
  int length = 0;                               ///< steps of each example in a batch; 0: longest series
  std::shared_ptr<void const> owner = nullptr;  ///< kept alive by the data set
};

/// An indexed data set of series of different lengths, for a network with a masked_input.
///
/// Shapes    input T×C, or T for indices; target: that of the array, or T×C or T for one target per step;
///           mask T. T is `length`. Padding follows the steps of a series and is 0.
/// Before    the memory does not change and outlives the data set, unless `owner` keeps it alive.
/// Errors    shape_error if shapes, types or lengths do not match; data_error with the indices of series and
///           step if a label is out of range or a value is not finite; setting_error if `length` is negative,
///           or a series is longer than `length`.
class sequences {
 public:
  /// One target per series.
  sequences(series_view const& input, array_view const& target, sequence_settings const& how = {});
  /// One target per step.
  sequences(series_view const& input, series_view const& target, sequence_settings const& how = {});

  data_description const& describe() const& { return description_; }
  data_description describe() && { return description_; }  // outlives the temporary
  std::int64_t size() const { return static_cast<std::int64_t>(lengths_.size()); }
  void get(std::int64_t i, example_view& out) const;
  /// Returns the number of steps of example i without padding.
  int length(std::int64_t i) const { return lengths_[static_cast<std::size_t>(i)]; }

 private:
  sequences(series_view const& input, sequence_settings const& how);
  tensor_description add_series(series_view const& from, bool input);

  std::vector<std::vector<tensor_view>> series_;  // series of the input, and of a target per step
  std::optional<arrays> target_;                  // a target per series
  std::shared_ptr<void const> owner_;
  std::vector<int> lengths_;
  data_description description_;
};

}  // namespace cohort
