// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/kind.hpp>

namespace cohort::detail {

/// Sliding window over height and width, for convolution and pooling.
struct sliding_window {
  extent2 size;
  extent2 stride{1};
  extent2 dilation{1};
  cohort::padding padding{};
};

/// Padding of one axis, in elements.
struct border {
  int before = 0;
  int after = 0;
};

/// Limit on the extents of outputs that are larger than the inputs by a factor.
inline constexpr std::int64_t largest_extent = std::int64_t{1} << 30;
/// Limit on dilated kernels. Its sum with the largest extent of an input, 2³⁰, fits into 31 bits.
inline constexpr int largest_dilated = 1 << 29;

/// Returns the extent of a dilated kernel, k' = (k − 1)·d + 1, at most largest_dilated.
constexpr int dilated(int kernel, int dilation) {
  std::int64_t const extent = (std::int64_t{kernel} - 1) * dilation + 1;
  return extent > largest_dilated ? largest_dilated : static_cast<int>(extent);
}

/// Padding of one axis of an input with extent `in`.
constexpr border border_of(sliding_window const& w, bool vertical, int in) {
  if (w.padding.mode == padding_mode::sides)
    return vertical ? border{w.padding.top, w.padding.bottom} : border{w.padding.left, w.padding.right};
  if (w.padding.mode != padding_mode::same) return {};
  int const stride = vertical ? w.stride.height : w.stride.width;
  int const kernel =
      vertical ? dilated(w.size.height, w.dilation.height) : dilated(w.size.width, w.dilation.width);
  int const out = (in + stride - 1) / stride;
  int const total = (out - 1) * stride - in + kernel;  // in this order: without overflow
  return total > 0 ? border{total / 2, total - total / 2} : border{};
}

/// Returns the padding at the top and bottom of an input of the given height. `same` follows TensorFlow's
/// rule.
constexpr border vertical_border(sliding_window const& w, int height) { return border_of(w, true, height); }
/// Returns the padding at the left and right of an input of the given width.
constexpr border horizontal_border(sliding_window const& w, int width) { return border_of(w, false, width); }

/// Shape inference of a sliding window.
///
/// Shapes    input C×H×W → output channels×H'×W', with H' = floor((H + before + after − k')/s) + 1, and W' by
///           the same formula.
constexpr inference slide(sliding_window const& w, shape const& input, int channels) {
  if (input.rank != 3) return {"this layer needs an input of channels x height x width", {"input", input}};
  if (w.size.height < 1 || w.size.width < 1)
    return {"the window must be at least 1", {"window", {w.size.height, w.size.width}}};
  if (w.stride.height < 1 || w.stride.width < 1)
    return {"the stride must be at least 1", {"stride", {w.stride.height, w.stride.width}}};
  if (w.dilation.height < 1 || w.dilation.width < 1)
    return {"the dilation must be at least 1", {"dilation", {w.dilation.height, w.dilation.width}}};
  if (w.padding.top < 0 || w.padding.bottom < 0 || w.padding.left < 0 || w.padding.right < 0)
    return {"padding must not be negative",
            {"padding", {w.padding.top, w.padding.bottom, w.padding.left, w.padding.right}}};

  shape const kernel{dilated(w.size.height, w.dilation.height), dilated(w.size.width, w.dilation.width)};
  if (kernel[0] == largest_dilated || kernel[1] == largest_dilated)
    return {"the dilated kernel is too large",
            {"kernel", {w.size.height, w.size.width}},
            {"dilation", {w.dilation.height, w.dilation.width}}};
  shape const stride{w.stride.height, w.stride.width};
  shape output{channels, 0, 0};
  for (int axis = 0; axis < 2; ++axis) {
    border const pad = border_of(w, axis == 0, input[axis + 1]);
    int const room = input[axis + 1] + pad.before + pad.after - kernel[axis];
    if (room < 0) return {"the kernel is larger than its input", {"input", input}, {"kernel", kernel}};
    if (w.padding.mode == padding_mode::strict && room % stride[axis] != 0)
      return {"strict padding: the stride leaves a remainder", {"input", input}, {"stride", stride}};
    if (pad.before >= kernel[axis] || pad.after >= kernel[axis])
      return {"the padding must be smaller than the kernel", {"input", input}, {"kernel", kernel}};
    output[axis + 1] = room / stride[axis] + 1;
  }
  return output;
}

}  // namespace cohort::detail
