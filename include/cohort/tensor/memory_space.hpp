// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace cohort {

/// Where memory is had that is not the processor's own: of a backend's device.
///
/// Shapes    take gives as many bytes as asked for (> 0), zero, on buffer::alignment; give_back gets what take gave.
/// Errors    take: memory_error, with what the device has left.
class memory_space {
 public:
  virtual ~memory_space() = default;
  virtual std::byte* take(std::size_t bytes) = 0;
  virtual void give_back(std::byte* memory) noexcept = 0;
  /// Bytes that are free, and those that were taken from here; 0: unknown.
  virtual std::size_t room() const { return 0; }
};

}  // namespace cohort
