// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace cohort {

/// Mask of a batch of sequences: which steps of each sequence are unmasked. The others are padding.
///
/// Shapes    `steps` batch × length: 0 for a masked step, any other value for an unmasked one. `lengths` and
///           `counts`: one per example.
/// Units     `lengths`: index of the last unmasked step plus 1; 0 if all steps are masked. `counts`: number
///           of unmasked steps.
/// `has_gaps`  false if no unmasked step of a sequence follows a masked one; lengths and counts are then
///             equal.
/// `on_device` the same as `steps` in device memory; null if arenas are in host memory.
struct step_mask {
  int length = 0;
  std::uint8_t const* steps = nullptr;
  std::int32_t const* lengths = nullptr;
  std::int32_t const* counts = nullptr;
  bool has_gaps = false;
  std::uint8_t const* on_device = nullptr;

  /// Returns whether a step of an example is unmasked.
  bool has(int example, int step) const {
    return steps[static_cast<std::size_t>(example) * static_cast<std::size_t>(length)
                 + static_cast<std::size_t>(step)]
           != 0;
  }
};

}  // namespace cohort
