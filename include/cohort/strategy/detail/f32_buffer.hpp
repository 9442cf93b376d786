// SPDX-License-Identifier: Apache-2.0
#pragma once
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
  f32_buffer(std::size_t n, threshold_device* device_passes);

  std::size_t size() const { return size_; }
  /// Where they lie.
  std::span<float> span() const { return {memory_.as<float>(), size_}; }

  void clear();
  void scale(float factor);
  void add(f32_buffer const& other);
  void copy(f32_buffer const& other);

  /// Whether it can be encoded: within_range.
  bool is_within_range() const;
  double square_sum() const;

  /// From the processor's memory, and back.
  void bring(std::span<float const> from);
  void fetch(std::span<float> to) const;
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

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/f32_buffer.ipp>
#endif
