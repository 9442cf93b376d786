// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/shape.hpp>
#include <cohort/tensor/view.hpp>
#include <span>
#include <string>
#include <vector>

namespace cohort {

namespace detail {

/// Appends the values of a tensor, converted to float.
void append(tensor_view from, std::vector<float>& to);

}  // namespace detail

/// One output of the network for a number of examples.
///
/// Shapes    `values`: count × example, dense.
struct predictions {
  shape example{};
  std::vector<float> values{};

  /// Number of examples.
  int count() const;
  /// Output of example `i`, dense.  Errors: setting_error for an example that does not exist.
  std::span<float const> operator[](int i) const&;
  std::span<float const> operator[](int i) const&& = delete;  // keep the predictions in a variable
  /// Index of the largest value in the output of example `i`: the predicted class. Of equal values, the
  /// lowest index.
  int best(int i) const;
  /// Like best(i), but at a step of example `i`, for an output T × C.  Errors: setting_error for a step that
  /// does not exist.
  int best(int i, int step) const;
};

/// The output of one example, with the example's key.
template <class Key>
struct keyed_prediction {
  Key key;
  std::vector<float> values;
};

}  // namespace cohort
