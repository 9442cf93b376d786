// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cohort/cudnn/detail/compute_stream.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace cohort::detail {

/// So many T in a GPU's memory, which it keeps when it shrinks. What it holds is lost where it grows, to a power of two of bytes:
/// lists that grow a little in each step seldom ask for memory.
///
/// Order     as the stream's; what bring and fetch are given has been read, or written, on return.
template <class T>
class gpu_list {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  explicit gpu_list(std::shared_ptr<compute_stream> on) : on_(std::move(on)) {}

  T* resize(std::size_t size) {
    size_ = size;
    memory_.resize(size == 0 ? 0 : std::bit_ceil(size * sizeof(T)), on_);
    return data();
  }
  T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  std::size_t size() const { return size_; }

  void clear() const {
    if (size_ > 0) on_->clear(memory_.data(), size_ * sizeof(T));
  }
  /// Has these.
  void bring(std::span<T const> all) {
    resize(all.size());
    if (!all.empty()) on_->bring(all.data(), memory_.data(), all.size_bytes());
  }
  /// The first of them, as many as there is room for.
  void fetch(std::span<T> to) const {
    if (!to.empty()) on_->fetch(memory_.data(), to.data(), to.size_bytes());
  }

 private:
  std::shared_ptr<compute_stream> on_;
  reusable_buffer memory_;
  std::size_t size_ = 0;
};

}  // namespace cohort::detail
