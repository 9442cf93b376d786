// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/order.hpp>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort::detail {

/// Parameters of the order of an epoch; see epoch_order. `lengths`: one per example if `bucket` > 0.
struct epoch_settings {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::int64_t size = 0;
  int rank = 0;
  bool shuffle = true;
  block_shuffle blocks{};
  std::int64_t bucket = 0;
  std::span<int const> lengths{};
};

/// The order of the examples in an epoch. Any range of positions can be read.
///
/// Before    with `blocks`, bucket is 0.
/// Cost      memory, which is reused: none without `shuffle`; with `blocks`, one number for each block and
///           for each example of a window; otherwise one number for each example. copy() shuffles each window
///           that it reads, except the window that was shuffled last.
class epoch_sequence {
 public:
  void start(epoch_settings const& settings);

  /// Writes the examples at these positions of the epoch to `to`.
  void copy(index_slice positions, std::vector<std::int64_t>& to);

 private:
  std::int64_t window_blocks() const;
  /// Returns the position at which a window begins; `size` for the window after the last one.
  std::int64_t window_begin(std::int64_t window) const;
  void shuffle_window(std::int64_t window);

  epoch_settings settings_;
  std::vector<std::int64_t> blocks_;    // the blocks in their order; empty: one window
  std::int64_t short_block_place_ = 0;  // index in blocks_ of the data set's last block, which may be shorter
  std::int64_t window_ = -1;            // the window in order_
  std::vector<std::int64_t> order_;
};

}  // namespace cohort::detail
