// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohort::detail {

/// States of recurrent layers between two batches: h, and for an lstm also c, for each layer and each row of
/// a batch.
///
/// Order     forward of each layer with `stateful` reads `before` and writes `after`, on any thread and any
///           number of times. After all layers, call advance().
class layer_states {
 public:
  /// `id`: hash of the layer's name, as in host_arguments. `numbers`: values per row.
  struct layer {
    std::uint64_t id = 0;
    std::size_t numbers = 0;
  };

  /// Creates the states, all zero.
  layer_states(std::vector<layer> layers, int rows, std::size_t bytes_of_number);

  int rows() const { return rows_; }
  /// The states before the next batch, as bytes.
  std::vector<std::byte>& bytes() { return memory_[present_]; }
  /// The states of a layer before and after the batch, rows × numbers; null if there is no such layer.
  std::byte const* before(std::uint64_t id) const { return of(id, present_); }
  std::byte* after(std::uint64_t id) { return of(id, 1 - present_); }

  /// Makes the states after the last batch the states before the next batch.
  void advance() { present_ = 1 - present_; }
  /// Sets all states, or the states of a row, to zero.
  void clear();
  void clear(int row);

 private:
  std::byte* of(std::uint64_t id, std::size_t which) const;

  std::vector<layer> layers_;
  int rows_;
  std::size_t bytes_of_number_;
  std::size_t present_ = 0;
  mutable std::vector<std::byte> memory_[2];
};

}  // namespace cohort::detail
