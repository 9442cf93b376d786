// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/image/image.hpp>
#include <cohort/tensor/shape.hpp>
#include <cstdint>

namespace cohort {

/// Returns the image rotated about its centre, with unchanged height and width: torchvision's rotate with
/// bilinear interpolation.
///
/// Units     `degrees`: counter-clockwise. `fill`: the value of pixels outside the image, 0 to 255.
/// Errors    setting_error for an angle that is not finite, or a fill outside 0 … 255.
/// Exact     each pixel is a weighted mean of four pixels, computed in f64 and rounded to nearest. Rotating a
///           square image by a multiple of 90 degrees only moves pixels.
image rotated(image const& from, double degrees, int fill = 0);

namespace detail {

/// Writes a rotated image of channels × height × width bytes.
///
/// Before    `to` does not overlap `from`.
void rotate(std::uint8_t const* from, shape const& dims, double degrees, int fill, std::uint8_t* to);

}  // namespace detail
}  // namespace cohort
