// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Copies of a run's state, which a thread writes while training continues. The next snapshot reuses the
/// memory.
class snapshot_memory {
 public:
  /// Allocates a block for a later copy.
  void reserve(std::size_t bytes) { blocks_.emplace_back(bytes); }
  /// Begins the next snapshot.  Before: no thread reads the last one.
  void restart() { used_ = 0; }
  /// Returns a copy that is valid until restart, in the smallest free block that is large enough.
  std::span<std::byte const> copy(std::span<std::byte const> values) {
    if (values.empty()) return {};
    std::size_t best = blocks_.size();
    for (std::size_t k = used_; k < blocks_.size(); ++k)
      if (blocks_[k].bytes() >= values.size()
          && (best == blocks_.size() || blocks_[k].bytes() < blocks_[best].bytes()))
        best = k;
    if (best == blocks_.size()) reserve(values.size());
    std::swap(blocks_[used_], blocks_[best]);
    std::byte* const to = blocks_[used_++].data();
    std::memcpy(to, values.data(), values.size());
    copied_ += values.size();
    return {to, values.size()};
  }
  /// Bytes of all blocks.
  std::size_t bytes() const {
    std::size_t all = 0;
    for (buffer const& block : blocks_) all += block.bytes();
    return all;
  }
  /// Bytes that all calls of copy have copied.
  std::size_t copied_bytes() const { return copied_; }

  /// Counts the operations of the writing thread: tensors that it has read or read back, and files that it
  /// has written. A wait for this thread lasts while it makes progress.
  void count_progress() { progress_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t progress() const { return progress_.load(std::memory_order_relaxed); }

 private:
  std::vector<buffer> blocks_{};  // those in use first
  std::size_t used_ = 0, copied_ = 0;
  std::atomic<std::uint64_t> progress_{0};
};

}  // namespace cohort::detail
