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

/// Array of T in GPU memory. Shrinking keeps the allocation. Growing rounds the allocation up to a power of
/// two bytes, so that repeated small growth seldom reallocates; a reallocation discards the content.
///
/// Order     operations run in the stream's order. On return, upload has read its argument and download has
///           written its argument.
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
  /// Resizes to all.size() elements and copies `all` to the GPU.
  void upload(std::span<T const> all) {
    resize(all.size());
    if (!all.empty()) on_->upload(all.data(), memory_.data(), all.size_bytes());
  }
  /// Copies the first to.size() elements to the processor.
  void download(std::span<T> to) const {
    if (!to.empty()) on_->download(memory_.data(), to.data(), to.size_bytes());
  }

 private:
  std::shared_ptr<compute_stream> on_;
  reusable_buffer memory_;
  std::size_t size_ = 0;
};

}  // namespace cohort::detail
