// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/image/image.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstdint>

namespace cohort {

/// Ranges of random changes of colour, as in torchvision's ColorJitter.
///
/// Units     for a brightness, contrast or saturation of b, the factor is uniform in [max(0, 1 − b), 1 + b].
///           For a hue of h, at most 1/2, the shift is uniform in [−h, h] turns. 0: no change. The changes
///           are applied in random order.
struct colour_jitter {
  double brightness = 0;
  double contrast = 0;
  double saturation = 0;
  double hue = 0;
  bool operator==(colour_jitter const&) const = default;
};

/// Changes of colour: factors for brightness, contrast and saturation, and a shift of the hue in turns.
///
/// Order     `order` lists the changes, first to last: 0 is brightness, 1 contrast, 2 saturation, 3 hue.
struct colour_change {
  double brightness = 1;
  double contrast = 1;
  double saturation = 1;
  double hue = 0;
  std::array<int, 4> order{0, 1, 2, 3};
  bool operator==(colour_change const&) const = default;
};

namespace detail {

/// Throws setting_error for an invalid change.
void check(colour_change const& how);

/// Changes the colours of channels × height × width bytes.
///
/// Before    1 or 3 channels; a valid change.
void recolour(std::uint8_t* pixels, shape const& dims, colour_change const& how);

/// Draws a random change from the elements first … first + 4 of a stream.
colour_change drawn(colour_jitter const& how, random_stream const& chance, std::uint64_t first);

}  // namespace detail

/// Returns a copy with changed colours: torchvision's adjust_brightness, adjust_contrast, adjust_saturation
/// and adjust_hue for bytes.
///
/// brightness   mixes the image with black.
/// contrast     mixes the image with the mean of the grey image.
/// saturation   mixes the image with the grey image. A grey image does not change.
/// hue          shifts the hue in HSV. A grey image does not change.
///
/// Shapes    1 or 3 channels.
/// Errors    shape_error for another number of channels. setting_error for a factor outside 0 … 1e6, a shift
///           outside −1 … 1, or an order that is not a permutation of 0, 1, 2, 3.
/// Exact     mixing an image a with b: factor · a + (1 − factor) · b in f32, clamped to 0 … 255 and
///           truncated.
///           A factor of 1 and a shift of 0 change nothing.
image recoloured(image const& from, colour_change const& how);

}  // namespace cohort
