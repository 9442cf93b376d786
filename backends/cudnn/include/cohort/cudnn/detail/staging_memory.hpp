// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/gpu.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace cohort::detail {

/// What is on its way to or from a GPU: pieces of page-locked memory, given out one behind the other, and all free again at once.
/// The memory is taken when the first piece is.
///
/// Order     one thread at a time.
class staging_memory {
 public:
  static constexpr std::size_t room = std::size_t{16} << 20, boundary = 64;

  explicit staging_memory(std::shared_ptr<gpu const> on) : on_(std::move(on)) {}
  staging_memory(staging_memory const&) = delete;
  staging_memory& operator=(staging_memory const&) = delete;
  ~staging_memory();

  /// A piece of so many bytes, or of all the room where they are more; empty where pieces that are out leave too little.
  std::span<std::byte> take(std::size_t wanted);
  /// Pieces that were ever given out.
  std::uint64_t given() const { return given_; }
  /// All are free again.  Before: the GPU is done with them.
  void clear() { used_ = 0; }
  /// The memory is never given back: a GPU that does not finish may still write to it.
  void abandon() noexcept { memory_ = nullptr; }

 private:
  static_assert(room % boundary == 0);

  std::shared_ptr<gpu const> on_;
  std::byte* memory_ = nullptr;
  std::size_t used_ = 0;
  std::uint64_t given_ = 0;
};

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/staging_memory.ipp>
#endif
