// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/interchange/detail/onnx_limits.hpp>
#include <cohort/interchange/detail/onnx_model.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cohort::detail {

/// Returns the number that represents an extent of k·N in lists of extents, where N is a batch of any size.
constexpr std::int64_t batch_multiple(std::int64_t k) { return std::numeric_limits<std::int64_t>::min() + k; }
/// Returns k of an extent of k·N, and 0 for a number.
constexpr std::int64_t batches_in(std::int64_t extent) {
  return extent <= batch_multiple(max_onnx_extent) ? extent - batch_multiple(0) : 0;
}

/// Numbers that are known at import, or known multiples of the batch size.
///
/// Shapes    `values` and `of_batch` have one entry for each element of `dims`. If of_batch[i] is not 0,
///           element i is values[i]·N, where N is the batch size; otherwise element i is values[i].
struct onnx_known {
  onnx_type type = onnx_type::i64;
  std::vector<std::int64_t> dims{};
  std::vector<double> values{};
  std::vector<char> of_batch{};

  /// Returns the product of `dims`; −1 if it exceeds 63 bits.
  std::int64_t elements() const;
};

/// A value of an ONNX graph: a constant, or a view of a layer's output with permuted axes.
///
/// Shapes    `dims`: the extents in the file; −1 for a batch of any size. `view`: the extents by which the
///           layer's output is read; empty: the output's own extents. `axes`: for each extent of `dims`, the
///           axis of the view, or `batch`, or `unit` for an extent of 1 that the view does not have. Axes of
///           the view with extent 1 may be missing. If `joined` is above 1, the file has one axis in place
///           of the `joined` axes from `first_joined` on, of which one is the batch: their product. Most
///           operators do not accept such a value.
struct onnx_value {
  static constexpr int batch = -1, unit = -2;

  int id = -1;
  std::vector<std::int64_t> dims{};
  std::vector<int> axes{};
  bool is_integer = false;
  onnx_tensor const* constant = nullptr;
  std::shared_ptr<onnx_known const> known{};     // integers that depend on the batch size only
  std::optional<double> fill{};                  // the value of all elements of a batch of any size
  std::shared_ptr<onnx_known const> repeated{};  // the elements of each example of a batch of any size
  std::vector<std::int64_t> view{};
  std::size_t first_joined = 0, joined = 1;
};

/// A mask that nodes compute: N×T booleans, true at the steps of each sequence that exist.
struct onnx_mask {
  std::string input{};    // input of the graph with the sequences
  std::string lengths{};  // input of the graph with the number of steps of each sequence; empty: none
  double value = 0;       // without `lengths`: steps whose elements all equal this value are padding

  bool operator==(onnx_mask const&) const = default;
};

}  // namespace cohort::detail
