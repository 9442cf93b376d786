// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/image/image.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cohort {

/// How a file becomes an image.
struct decoding {
  int channels = 3;  ///< of the image, whatever the file has: 3 (red, green, blue) or 1 (grey)
  std::int64_t max_pixels = std::int64_t{1}
                            << 26;  ///< height · width; more is refused before memory is taken
  bool salvage = false;             ///< takes what can be had of a cut or damaged JPEG, the rest grey
};

namespace detail {

void check(decoding const& how);

}  // namespace detail

/// What a JPEG or PNG file's header says, at the cost of reading that: channels (1 or 3) × height × width.
///
/// Errors    data_error naming `where` if it is neither, is damaged, or what decoded would refuse by its header.
shape image_size(std::span<std::byte const> file, std::string const& where);

/// The picture in the bytes of a JPEG or PNG file; which of them it is, the bytes say, not the name.
///
/// Shapes    how.channels × height × width, of any size up to how.max_pixels. Grey becomes colour by repetition, colour
///           becomes grey as ITU-R BT.601's luma (a JPEG's own brightness). A PNG's palette is looked up, its transparency
///           ignored; the orientation that a camera has noted is, too.
/// Errors    data_error naming `where`: neither JPEG nor PNG; cut or damaged anywhere (unless salvaged); too many pixels;
///           CMYK; 12 or 16 bits a channel. setting_error for settings that make no sense.
/// Exact     the same bytes on every processor (libjpeg-turbo's accurate inverse DCT).
image decoded(std::span<std::byte const> file, std::string const& where, decoding how = {});

}  // namespace cohort

#ifndef COHORT_IMAGE_COMPILED
#include <cohort/image/impl/decode.ipp>
#endif
