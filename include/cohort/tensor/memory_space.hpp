// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace cohort {

/// Allocator for a backend's device memory.
class memory_space {
 public:
  virtual ~memory_space() = default;
  /// Allocates `bytes` > 0 bytes, zero-filled and aligned to buffer::alignment.
  ///
  /// Errors    memory_error with the device's free bytes.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  /// Frees memory that allocate() of this space returned.
  virtual void deallocate(std::byte* memory) noexcept = 0;
  /// Returns the bytes free on the device plus the bytes already allocated from this space; 0 if unknown.
  virtual std::size_t available_bytes() const { return 0; }
};

}  // namespace cohort
