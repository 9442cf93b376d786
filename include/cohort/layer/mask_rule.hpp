// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace cohort {

/// Effect of a layer on the mask of its inputs.
///
/// refuses   a masked input is an error
/// passes    the output has the input's mask: step t of the output belongs to step t of the input
/// ends      the output has no mask: the layer uses the unmasked steps and removes the axis of the steps
/// begins    the output has a mask that begins at this layer
enum class mask_use : std::uint8_t { refuses, passes, ends, begins };

/// Value of a layer's member `masks`: the layer's effect on masks, and its requirement on padding.
///
/// Parameters  `needs_zeros`: the layer reads padding, which must be 0. `builder` inserts `zero_masked`
///             before the layer. `state_rows`: number of rows with a recurrent state in the layer's output,
///             after the rows of the steps; negative: in the layer's input. `queries`: number of leading
///             inputs that may have a separate mask, which is then the output's mask; the kernels get the
///             mask of the other inputs. 0: all inputs have the same mask, or none.
/// Before      `sentence` is a string literal: the error message if `use` is `refuses`.
struct mask_rule {
  mask_use use = mask_use::refuses;
  bool needs_zeros = false;
  int state_rows = 0;
  int queries = 0;
  char const* sentence = "this layer does not accept a masked sequence";

  constexpr mask_rule() = default;
  constexpr mask_rule(mask_use effect, bool zeros = false) : use(effect), needs_zeros(zeros) {}
  constexpr mask_rule(char const* mistake) : sentence(mistake) {}
};

}  // namespace cohort
