// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/image/image.hpp>
#include <cstddef>
#include <span>

namespace cohort::detail {

/// Returns the orientation in the EXIF data of a JPEG (segment APP1), PNG (chunk eXIf) or WebP (chunk EXIF),
/// or in the first directory of a TIFF, 1 to 8: 1 as stored, 2 mirrored, 3 rotated by 180 degrees, 4 upside
/// down, 5 transposed, 6 rotated by 90 degrees clockwise, 7 transposed along the other diagonal, 8 rotated by
/// 90 degrees counter-clockwise. Returns 1 if there is none, and for damaged EXIF data. Reads only within the
/// file, and only its header if it is a JPEG.
///
/// Source    Exif 2.32 (CIPA DC-008), 4.5.4 and 4.6.4; PNG, third edition, 11.3.4.5; WebP Container
///           Specification (RFC 9649, section 2.7).
int exif_orientation(std::span<std::byte const> file);

/// Returns whether an orientation exchanges height and width.
constexpr bool exchanges_extents(int orientation) { return orientation >= 5; }

/// Returns the image as its orientation states, 1 to 8.
image oriented(image from, int orientation);

}  // namespace cohort::detail
