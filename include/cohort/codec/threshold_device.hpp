// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/detail/message_writer.hpp>
#include <cohort/codec/message.hpp>
#include <cohort/codec/threshold_policy.hpp>
#include <cohort/plan/arena_passes.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cohort {

/// What a threshold_compressor does to arrays that lie on a device: there it takes elements out, codes them, and adds what messages
/// bring. Headers, tables and sums of a few numbers are the processor's.
///
/// Shapes    r, x, dense: as many f32 as the last of `ends` says, in the memory of arrays(). `ends`: where the elements of each
///           threshold end; as many as of t.
/// Order     as arena_passes: what a call does comes after all that this thread had done before; what it returns, or writes on the
///           processor, is there on return. One call at a time.
/// Exact     the bits that threshold_compressor gives for the same numbers in the processor's memory; sums of magnitudes and
///           squares are to rounding.
class threshold_device {
 public:
  virtual ~threshold_device() = default;

  /// Where the arrays lie, and who fills, adds and copies them.
  virtual arena_passes& arrays() = 0;
  /// Whether no magnitude is above the limit, or no number.
  virtual bool within(std::span<float const> x, float limit) = 0;
  /// Clips to ±limit; Σ |what was cut off|.
  virtual double clip(std::span<float> r, float limit) = 0;
  /// Σ r²
  virtual double square_sum(std::span<float const> r) = 0;

  /// Adds up the sample of r + x by threshold_sampler::level_of.
  virtual void count_levels(float const* r, float const* x, detail::element_sample const& from,
                            std::span<std::uint32_t> counts) = 0;

  /// What was taken out of r and is to be sent, until the next call: `coded`, and how many elements of each threshold.
  struct taken {
    detail::coded_elements coded{};
    std::span<std::uint64_t const> sent{};
  };
  /// r += x, and ±t out of every element of at least t.
  ///
  /// Moves     8 bytes an element in, 4 out, on the device; what was coded comes to the processor.
  /// Errors    numeric_error if the residual is not finite.
  virtual taken take(std::span<float> r, std::span<float const> x, std::span<std::uint64_t const> ends,
                     std::span<bf16 const> t) = 0;

  /// Which of two messages that are merged.
  enum class side : std::uint8_t { lower, upper };
  /// Looks at all codes of a sparse message, and keeps its elements for add and merge. False: they are not what its tables say.
  virtual bool read(side which, message_view const& message) = 0;
  /// dense += scale · what the message brings that was read last.
  virtual void add(side which, message_view const& message, std::span<std::uint64_t const> ends, float scale,
                   float* dense) = 0;
  /// r += what both messages bring that were read last, and ±t out of every element of at least t to which either brings
  /// something.
  virtual taken merge(message_view const& lower, message_view const& upper,
                      std::span<std::uint64_t const> ends, std::span<bf16 const> t, std::span<float> r) = 0;
};

/// The passes of a backend's arenas are one of these too where threshold_compressors can work on its device.
class threshold_device_source {
 public:
  virtual ~threshold_device_source() = default;
  virtual std::shared_ptr<threshold_device> thresholds() = 0;
};

}  // namespace cohort
