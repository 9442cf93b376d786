// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace cohort {

/// Steps that exist in each sequence of a batch; the others are padding.
///
/// Shapes    `steps` batch × length: 0 is padding, any other number a step. `lengths` and `counts`: one per
///           example.
/// Units     `lengths`: number of the last step plus 1; 0 if no step exists. `counts`: number of steps.
/// Exact     has_gaps is false if the steps of every sequence are its first ones: lengths and counts are
///           equal then.
struct step_mask {
  int length = 0;
  std::uint8_t const* steps = nullptr;
  std::int32_t const* lengths = nullptr;
  std::int32_t const* counts = nullptr;
  bool has_gaps = false;

  /// Returns whether a step of an example exists.
  bool has(int example, int step) const {
    return steps[static_cast<std::size_t>(example) * static_cast<std::size_t>(length)
                 + static_cast<std::size_t>(step)]
           != 0;
  }
};

}  // namespace cohort
