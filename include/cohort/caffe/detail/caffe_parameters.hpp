// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/caffe/detail/implementation.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// How the elements of a parameter blob of Caffe are stored in a parameter of a network.
///
/// Shapes    the parameter is a matrix of `rows` × `total`; the blob has the columns from `first` on,
///           `columns` of them. With `transposed` the blob is `groups` × A × B × `inner`, and its part of the
///           parameter is `groups` × B × A × `inner`, with A = `columns` and B = `rows` / `groups`. With
///           `gates` the four blocks of rows have the order i f o g in the blob, and i f g o in the
///           parameter.
/// Units     `divided`: the values in the blob are a multiple; the factor is in the layer's last blob.
struct caffe_parameter_blob {
  std::string layer{};
  std::string type{};
  std::size_t index = 0;  ///< of the blob in the layer
  std::vector<std::int64_t> dims{};
  int node = -1;  ///< of the network that is being built
  std::string parameter{};
  shape parameter_dims{};
  std::int64_t rows = 1, columns = 1, first = 0, total = 1;
  std::int64_t groups = 1, inner = 1;
  bool transposed = false, gates = false, divided = false;

  /// Copies the values of the blob, times `factor`, to their places in the parameter.
  void store(std::span<float const> blob, float factor, std::span<float> into) const;
  /// Returns the blob's values in the parameter.
  std::vector<float> values_in(std::span<float const> from) const;

 private:
  template <class Visit>
  void each(Visit visit) const;
};

}  // namespace cohort::detail
