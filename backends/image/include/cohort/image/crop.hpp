// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/image/image.hpp>
#include <cohort/image/image_window.hpp>

namespace cohort {

/// Returns the part of the image in a window, mirrored left to right if `flip`. Pixels beyond the image's
/// edges are 0.
///
/// Shapes    channels × window.height × window.width.
/// Errors    shape_error for a window without area.
image cropped(image const& from, image_window const& window, bool flip = false);

/// Returns the image mirrored left to right.
image flipped(image const& from);

}  // namespace cohort
