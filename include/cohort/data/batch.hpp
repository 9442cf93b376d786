// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/buffer.hpp>
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cohort {

/// One tensor of a batch: its memory, reused from batch to batch.
struct named_tensor {
  std::string name{};
  shape example{};
  element_type type = element_type::f32;
  reusable_buffer memory{};

  std::size_t example_bytes() const { return static_cast<std::size_t>(example.elements()) * bytes_of(type); }
  /// Makes room for `count` examples; what was there is lost.
  void reserve(int count) { memory.resize(static_cast<std::size_t>(count) * example_bytes()); }
  tensor_view view(int count) const { return {memory.data(), type, example.batched(count)}; }
};

/// Examples that go through the network together: this rank's part of one global batch.
///
/// Shapes    every tensor is count × example; u8, f32, f64 or i32, on a 64-byte boundary, packed.
///           `weights` and `keys` have `count` elements, or none where the data set has none.
/// Units     `first_index`, `next_position`, `global_count` count examples; `indices` are the data set's own
///           (in a stream: global positions; with sharding::local behind those of the ranks before), so that random masks
///           can be keyed by them.
/// Order     the loader that made it refills it: it is valid until that loader's next call.
/// Exact     count may be 0 on some ranks when the last global batch has fewer examples than ranks.
struct batch {
  std::vector<named_tensor> inputs;
  std::vector<named_tensor> targets;
  std::vector<named_tensor> masks;
  std::vector<float> weights;
  std::vector<std::string> keys;
  std::vector<std::int64_t> indices;

  int count = 0;
  std::int64_t epoch = 0;
  std::int64_t first_index = 0;    ///< where in the epoch's order its first example stands
  std::int64_t next_position = 0;  ///< examples of the epoch consumed by all ranks after this global batch
  std::int64_t global_count = 0;   ///< examples in the whole global batch; −1 in a stream shared by ranks

  /// Σ of the weights; the number of examples where they have none.
  double weight() const;

  tensor_view input(std::size_t which = 0) const { return checked(inputs, which, "input").view(count); }
  tensor_view target(std::size_t which = 0) const { return checked(targets, which, "target").view(count); }
  tensor_view mask(std::size_t which = 0) const { return checked(masks, which, "mask").view(count); }

 private:
  static named_tensor const& checked(std::vector<named_tensor> const& tensors, std::size_t which,
                                     char const* kind);
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/batch.ipp>
#endif
