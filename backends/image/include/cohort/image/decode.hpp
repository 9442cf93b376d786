// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/image/image.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cohort {

/// Settings for decoding an image file.
struct decoding {
  int channels = 3;  ///< channels of the result, whatever the file has: 3 (red, green, blue) or 1 (grey)
  std::int64_t max_pixels = std::int64_t{1} << 26;  ///< height · width; checked before memory is allocated
  bool salvage = false;  ///< decodes the readable part of a truncated or damaged JPEG; the rest is grey
  bool apply_exif_orientation = false;  ///< rotates and mirrors the image as its EXIF data state
};

namespace detail {

/// Throws setting_error for invalid settings.
void check(decoding const& how);

/// Returns the channels in the file × the height and width of the result of `decoded`. Reads only the header.
///
/// Errors    as `decoded`, if the error can be detected from the header.
shape size_to_decode(std::span<std::byte const> file, std::string const& where, decoding const& how);

}  // namespace detail

/// Returns the size stored in the header of an image file: channels (1 or 3) × height × width. Reads
/// only the header. `apply_exif_orientation`: as in decoding.
///
/// Errors    data_error naming `where` if the file has another format, is damaged, or has a header that
///           `decoded` would reject.
shape image_size(std::span<std::byte const> file, std::string const& where,
                 bool apply_exif_orientation = false);

/// Decodes a JPEG, PNG, BMP, GIF, TIFF or WebP file in memory. The first bytes determine the format. TIFF
/// needs a build with libtiff, WebP one with libwebp.
///
/// Shapes    how.channels × height × width, of any size up to how.max_pixels. Grey images are repeated to
///           three channels; colour is converted to grey by ITU-R BT.601's luma (the Y channel of a JPEG). A
///           CMYK JPEG or TIFF is converted to RGB without its colour profile, as by Pillow. Palettes are
///           applied and transparency is ignored; colours that a TIFF stores multiplied by alpha are divided
///           by it. A gamma of a PNG other than sRGB's (chunk gAMA) is converted to 1/2.2. Colour profiles
///           are ignored. apply_exif_orientation works as Pillow's ImageOps.exif_transpose: orientations 5
///           to 8 exchange height and width. Damaged EXIF data count as none.
/// Frames    the first frame of a GIF, on the whole screen: pixels outside the frame have the transparent
///           colour if there is one, otherwise colour 0. The first image of a TIFF. An animated WebP is
///           refused.
/// Bits      a TIFF's 16 bits per channel are cut to the high byte; a PNG with 16 bits is refused.
/// Errors    data_error naming `where`: another format; truncated or damaged (unless salvaged); too many
///           pixels; an unsupported kind of a format. setting_error for invalid settings. A JPEG that
///           contains all its pixels does not count as damaged: a missing end mark and extraneous bytes are
///           accepted if one scan without restart marks contains all components.
/// Exact     returns the same bytes on every processor (libjpeg-turbo's accurate inverse DCT).
image decoded(std::span<std::byte const> file, std::string const& where, decoding how = {});

}  // namespace cohort
