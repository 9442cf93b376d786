// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/buffer.hpp>
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohort {

namespace detail {

/// Returns the sum of the weights of `count` examples; `count` if there are no weights.
double total_weight(std::span<float const> weights, int count);

}  // namespace detail

/// One tensor of a batch. Its memory is reused for later batches.
struct named_tensor {
  std::string name{};
  shape example{};
  element_type type = element_type::f32;
  reusable_buffer memory{};

  /// Returns the size of one example in bytes.
  std::size_t example_bytes() const { return static_cast<std::size_t>(example.elements()) * bytes_of(type); }
  /// Allocates memory for at least `count` examples. The contents may be lost.
  void reserve(int count) { memory.resize(static_cast<std::size_t>(count) * example_bytes()); }
  /// Returns the first `count` examples.
  tensor_view view(int count) const { return {memory.data(), type, example.batched(count)}; }
};

/// A mini-batch: this rank's part of one global batch.
///
/// Shapes    every tensor is count × example of type u8, f32, f64 or i32, packed and aligned to 64 bytes.
///           `weights` and `keys` have `count` elements, or none if the data set has none. `count` may be 0
///           if the last global batch has fewer examples than there are ranks, or, with sharding::local, if
///           this rank has no more examples in the epoch.
/// Units     `first_index`, `next_position` and `global_count` count examples. `indices` are the examples'
///           indices in the data set, which determine random masks (dropout). In a stream they are global
///           positions. With sharding::local, the sizes of all lower ranks' data sets are added.
/// Order     a batch is valid until the next call of the loader that filled it.
struct batch {
  std::vector<named_tensor> inputs;
  std::vector<named_tensor> targets;
  std::vector<named_tensor> masks;
  std::vector<float> weights;
  std::vector<std::string> keys;
  std::vector<std::int64_t> indices;

  int count = 0;
  std::int64_t epoch = 0;
  std::int64_t first_index = 0;    ///< position of the first example in the epoch's order
  std::int64_t next_position = 0;  ///< loader::position() after this global batch
  std::int64_t global_count = 0;   ///< examples in the whole global batch; −1 in a stream shared by ranks
  int ranks = 1;                   ///< number of ranks that share the global batch
  bool even = true;                ///< the ranks' numbers of examples differ by at most 1; false: unknown

  /// Returns the sum of the weights; the number of examples if there are no weights.
  double weight() const;

  /// Return the input, target or mask with index `which`.  Errors: shape_error if it does not exist.
  tensor_view input(std::size_t which = 0) const& { return tensor_at(inputs, which, "input").view(count); }
  tensor_view input(std::size_t which = 0) const&& = delete;  // keep the batch in a variable
  tensor_view target(std::size_t which = 0) const& { return tensor_at(targets, which, "target").view(count); }
  tensor_view target(std::size_t which = 0) const&& = delete;  // keep the batch in a variable
  tensor_view mask(std::size_t which = 0) const& { return tensor_at(masks, which, "mask").view(count); }
  tensor_view mask(std::size_t which = 0) const&& = delete;  // keep the batch in a variable

 private:
  static named_tensor const& tensor_at(std::vector<named_tensor> const& tensors, std::size_t which,
                                       char const* kind);
};

}  // namespace cohort
