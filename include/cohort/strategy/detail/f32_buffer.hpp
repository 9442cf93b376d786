// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/codec/residual_simd.hpp>
#include <cohort/codec/threshold_device.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <span>
#include <vector>

namespace cohort::detail {

/// An array of f32 that messages are about, where their codec works: in the processor's memory, or a device's.
///
/// Shapes    n elements, zero at first; arrays that are added or copied have as many.
/// Before    on a device the codec's passes are there as long as the array is used.
class f32_buffer {
 public:
  f32_buffer(std::size_t n, threshold_device* device_passes)
      : size_(n),
        device_passes_(device_passes),
        memory_(round_to_alignment(n * sizeof(float)),
                device_passes ? device_passes->arrays().space() : nullptr) {}

  std::size_t size() const { return size_; }
  /// Where they lie.
  std::span<float> span() const { return {memory_.as<float>(), size_}; }

  void clear() {
    if (device_passes_) return device_passes_->arrays().fill(memory_.data(), 0, room(), 0);
    std::ranges::fill(span(), 0.0F);
  }
  void scale(float factor) {
    if (device_passes_) return device_passes_->arrays().scale(memory_.data(), room(), factor);
    passes_on_processor<float>()->scale(memory_.data(), size_, factor);
  }
  void add(f32_buffer const& other) {
    if (device_passes_) return device_passes_->arrays().add(other.memory_.data(), memory_.data(), room());
    for (std::size_t i = 0; i < size_; ++i) span()[i] += other.span()[i];
  }
  void copy(f32_buffer const& other) {
    if (device_passes_)
      return device_passes_->arrays().copy(other.memory_.data(), memory_.data(), memory_.bytes());
    std::ranges::copy(other.span(), span().begin());
  }

  /// Whether it can be encoded: within_range.
  bool is_within_range() const {
    return device_passes_ ? device_passes_->within(span(), largest_gradient)
                          : within_range(best_isa(), span());
  }
  double square_sum() const {
    return device_passes_ ? device_passes_->square_sum(span()) : residual_square_sum(best_isa(), span());
  }

  /// From the processor's memory, and back.
  void bring(std::span<float const> from) {
    auto const bytes = std::as_bytes(from);
    if (device_passes_) return device_passes_->arrays().bring(bytes.data(), memory_.data(), bytes.size());
    std::ranges::copy(from, span().begin());
  }
  void fetch(std::span<float> to) const {
    auto const bytes = std::as_writable_bytes(to);
    if (device_passes_) return device_passes_->arrays().fetch(memory_.data(), bytes.data(), bytes.size());
    std::ranges::copy(span(), to.begin());
  }
  /// change(elements) of them in the processor's memory.
  ///
  /// Moves     on a device all elements to the processor and back.
  template <class Change>
  void on_processor(Change change) {
    if (!device_passes_) return change(span());
    there_.resize(size_);
    fetch(there_);
    change(std::span<float>(there_));
    bring(there_);
  }

 private:
  std::size_t room() const { return memory_.bytes() / sizeof(float); }

  std::size_t size_;
  threshold_device* device_passes_;
  buffer memory_;
  std::vector<float> there_;  // on the processor, once it was
};

}  // namespace cohort::detail
