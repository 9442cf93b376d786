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

/// A layer's member `masks`: the effect on masks, and the layer's requirement on padding.
///
/// Parameters  `needs_zeros`: the layer reads padding, which must be 0. `builder` inserts `zero_masked`
///             before the layer. `state_rows`: number of rows with a recurrent state that follow the masked
///             steps in the layer's output; negative: in its input. `queries`: number of first inputs whose
///             separate mask is the output's mask; the kernels get the mask of the other inputs. 0: all
///             inputs have the same mask, or none.
/// Before      `sentence`, the error message if `use` is refuses, is a string literal.
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
