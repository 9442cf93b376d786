// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/threshold_device.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <span>
#include <vector>

namespace cohort::detail {

/// Array of f32 in the memory space of its codec: the processor's or a device's.
///
/// Shapes    n elements, zero at first; arrays that are added or copied have the same size.
/// Before    `device_passes` outlives the array.
class f32_buffer {
 public:
  /// `device_passes`: passes over arrays on a device, or null for the processor's memory.
  f32_buffer(std::size_t n, threshold_device* device_passes);

  std::size_t size() const { return size_; }
  /// The elements, in the array's memory space.
  std::span<float> span() const { return {memory_.as<float>(), size_}; }

  void clear();
  void scale(float factor);
  void add(f32_buffer const& other);
  void copy(f32_buffer const& other);

  /// Returns whether all elements can be encoded (within_range).
  bool is_within_range() const;
  double square_sum() const;

  /// Copies the elements from the processor's memory.
  void assign(std::span<float const> from);
  /// Copies the elements to the processor's memory.
  void copy_to(std::span<float> to) const;
  /// Calls change(elements) with the elements in the processor's memory.
  ///
  /// Cost      if the elements are on a device, copies all elements to the processor and back.
  template <class Change>
  void on_processor(Change change) {
    if (!device_passes_) return change(span());
    processor_copy_.resize(size_);
    copy_to(processor_copy_);
    change(std::span<float>(processor_copy_));
    assign(processor_copy_);
  }

 private:
  /// Number of elements with the padding.
  std::size_t room() const { return memory_.bytes() / sizeof(float); }

  std::size_t size_;
  threshold_device* device_passes_;
  buffer memory_;
  std::vector<float> processor_copy_;
};

}  // namespace cohort::detail
