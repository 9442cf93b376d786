// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/detail/message_writer.hpp>
#include <cohort/codec/message.hpp>
#include <cohort/codec/threshold_policy.hpp>
#include <cohort/plan/arena_passes.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cstdint>
#include <memory>
#include <span>

namespace cohort {

/// A threshold_compressor's passes over arrays in a device's memory: the device extracts and codes elements,
/// and adds the elements of messages. The processor handles headers, tables and sums of a few numbers.
///
/// Shapes    r, x, dense: ends.back() elements, f32, in the memory of arrays(). Threshold t[k] applies to
///           elements [ends[k − 1], ends[k]).
/// Order     as arena_passes: a call runs after all earlier work of this thread on the device. When a call
///           returns, its result is complete, and so is all data that the call writes to the processor's
///           memory. One call at a time.
/// Exact     bitwise equal to threshold_compressor in the processor's memory, except sums of magnitudes and
///           of squares, which are equal up to rounding.
class threshold_device {
 public:
  virtual ~threshold_device() = default;

  /// Returns the arena passes that allocate, fill, add and copy the arrays.
  virtual arena_passes& arrays() = 0;
  /// Returns whether no element is NaN or has a magnitude above the limit.
  virtual bool within(std::span<float const> x, float limit) = 0;
  /// Clips r to ±limit. Returns the sum of the magnitudes that were cut off.
  virtual double clip(std::span<float> r, float limit) = 0;
  /// Returns Σ r².
  virtual double square_sum(std::span<float const> r) = 0;

  /// Adds the histogram of a sample of r + x, by threshold_sampler::level_of, to `counts`.
  virtual void count_levels(float const* r, float const* x, detail::element_sample const& from,
                            std::span<std::uint32_t> counts) = 0;

  /// Elements that were extracted from r to be sent: their codes, and the number of elements per threshold.
  /// Valid until the next call.
  struct extracted {
    detail::coded_elements coded{};
    std::span<std::uint64_t const> sent{};
  };
  /// r += x, then subtracts ±t from every element whose magnitude is at least t.
  ///
  /// Errors    numeric_error if the residual is not finite.
  /// Cost      reads 8 and writes 4 bytes per element on the device, and copies the codes to the processor.
  virtual extracted extract(std::span<float> r, std::span<float const> x, std::span<std::uint64_t const> ends,
                            std::span<bf16 const> t) = 0;

  /// One of the two messages of a merge.
  enum class side : std::uint8_t { lower, upper };
  /// Decodes a sparse message and keeps its elements for add and merge. Returns false if the message's codes
  /// do not match its tables.
  virtual bool read(side which, message_view const& message) = 0;
  /// dense += scale · the elements of the message that read(which) decoded last.
  virtual void add(side which, message_view const& message, std::span<std::uint64_t const> ends, float scale,
                   float* dense) = 0;
  /// r += the elements of the two messages that were read last. Then subtracts ±t from each of these elements
  /// whose magnitude is at least t.
  virtual extracted merge(message_view const& lower, message_view const& upper,
                          std::span<std::uint64_t const> ends, std::span<bf16 const> t,
                          std::span<float> r) = 0;
};

/// Implemented by the arena_passes of a backend if threshold_compressors can run on its device.
class threshold_device_source {
 public:
  virtual ~threshold_device_source() = default;
  /// Creates the passes for one threshold_compressor.
  virtual std::shared_ptr<threshold_device> thresholds() = 0;
};

}  // namespace cohort
