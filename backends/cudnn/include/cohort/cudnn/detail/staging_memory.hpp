// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/gpu.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace cohort::detail {

/// Page-locked staging memory for transfers to and from a GPU: a bump allocator, whose pieces are freed all
/// at once. The memory is allocated with the first piece.
///
/// Order     only one thread may call at a time.
class staging_memory {
 public:
  static constexpr std::size_t capacity = std::size_t{16} << 20, boundary = 64;

  explicit staging_memory(std::shared_ptr<gpu const> on) : on_(std::move(on)) {}
  staging_memory(staging_memory const&) = delete;
  staging_memory& operator=(staging_memory const&) = delete;
  ~staging_memory();

  /// Returns a piece of min(wanted, capacity) bytes; empty if the reserved pieces leave too little space.
  std::span<std::byte> reserve(std::size_t wanted);
  /// Returns the number of pieces reserved since construction.
  std::uint64_t given() const { return given_; }
  /// Frees all pieces.  Before: the GPU no longer uses the pieces.
  void clear() { used_ = 0; }
  /// Leaks the memory, because a GPU that did not finish may still write to it.
  void abandon() noexcept { memory_ = nullptr; }

 private:
  static_assert(capacity % boundary == 0);

  std::shared_ptr<gpu const> on_;
  std::byte* memory_ = nullptr;
  std::size_t used_ = 0;
  std::uint64_t given_ = 0;
};

}  // namespace cohort::detail
