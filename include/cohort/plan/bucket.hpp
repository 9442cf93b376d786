// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/parameter.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// One parameter tensor of a network.
///
/// Units     `first` counts elements in the canonical flat view: dense tensors in the order of the layers.
///           `offset` and `room` count elements in the master arena, with padding, in multiples of 16.
struct parameter {
  std::string name;
  int node = 0;
  int index = 0;
  parameter_spec spec{};
  std::int64_t first = 0;
  std::size_t offset = 0;
  std::size_t room = 0;
  int bucket = 0;  ///< −1: frozen
  bool frozen = false;

  /// Name of the layer: `name` up to the last '.'.
  std::string_view layer() const;
  /// Returns whether the optimizer updates this tensor.
  bool trains() const { return is_trained(spec.role) && !frozen; }
};

/// Range of parameter indices: [first, last).
struct parameter_range {
  int first = 0;
  int last = std::numeric_limits<int>::max();

  bool has(int p) const { return p >= first && p < last; }
};

/// Adjacent layers whose gradients are exchanged together. Buckets are in the order in which backward
/// completes them.
///
/// Shapes    elements [first, first + elements) of the canonical flat view; no padding.
struct bucket {
  int index = 0;
  int first_parameter = 0;
  int parameters = 0;
  std::int64_t first = 0;
  std::int64_t elements = 0;
};

/// Splits the parameters into buckets, from the last layer to the first. A layer is never split; frozen
/// layers do not belong to a bucket.
///
/// Units     the first bucket is closed at `first_bytes`, so that communication starts early. A later bucket
///           is closed at half of the remaining bytes, limited to the range from `last_bytes` to `bytes`,
///           so that little remains to be sent when backward ends.
/// After     every parameter's `bucket` is set.
std::vector<bucket> make_buckets(std::span<parameter> table, std::size_t element_bytes,
                                 std::size_t first_bytes = std::size_t{64} << 10,
                                 std::size_t bytes = std::size_t{4} << 20,
                                 std::size_t last_bytes = std::size_t{256} << 10);

}  // namespace cohort
