// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <cohort/image/detail/jpeg.hpp>
#include <cohort/image/detail/png.hpp>
#include <cohort/image/image.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace cohort {

/// How a file becomes an image.
struct decoding {
  int channels = 3;  ///< of the image, whatever the file has: 3 (red, green, blue) or 1 (grey)
  std::int64_t max_pixels = std::int64_t{1}
                            << 26;  ///< height · width; more is refused before memory is taken
  bool salvage = false;             ///< takes what can be had of a cut or damaged JPEG, the rest grey
};

namespace detail {

inline void check(decoding const& how) {
  if (how.channels != 1 && how.channels != 3)
    throw setting_error({.what = "images cannot have so many channels",
                         .where = "channels",
                         .expected = "3 (red, green, blue) or 1 (grey)",
                         .got = {how.channels}});
  if (how.max_pixels < 1)
    throw setting_error({.what = "images must be allowed to have pixels",
                         .where = "max_pixels",
                         .expected = "at least 1",
                         .got = {how.max_pixels}});
}

/// Whether the file begins with these bytes.
template <std::size_t N>
bool begins_with(std::span<std::byte const> file, unsigned char const (&magic)[N]) {
  if (file.size() < N) return false;
  for (std::size_t i = 0; i < N; ++i)
    if (std::to_integer<unsigned char>(file[i]) != magic[i]) return false;
  return true;
}
inline constexpr unsigned char jpeg_magic[] = {0xff, 0xd8, 0xff};
inline constexpr unsigned char png_magic[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

[[noreturn]] inline void refuse_format(std::span<std::byte const> file, std::string const& where) {
  std::string got = file.empty() ? "an empty file" : "one that begins with";
  for (std::size_t i = 0; i < file.size() && i < 8; ++i) {
    constexpr char digits[] = "0123456789abcdef";
    auto const byte = std::to_integer<unsigned>(file[i]);
    got += {' ', digits[byte >> 4], digits[byte & 15]};
  }
  throw data_error({.what = "cannot decode the image",
                    .where = where,
                    .expected = "a JPEG or PNG file",
                    .got = std::move(got)});
}

}  // namespace detail

/// What a JPEG or PNG file's header says, at the cost of reading that: channels (1 or 3) × height × width.
///
/// Errors    data_error naming `where` if it is neither, is damaged, or what decoded would refuse by its header.
inline shape image_size(std::span<std::byte const> file, std::string const& where) {
  if (detail::begins_with(file, detail::jpeg_magic)) return detail::jpeg_file(file, where, false).size();
  if (detail::begins_with(file, detail::png_magic)) return detail::png_file(file, where).size();
  detail::refuse_format(file, where);
}

/// The picture in the bytes of a JPEG or PNG file; which of them it is, the bytes say, not the name.
///
/// Shapes    how.channels × height × width, of any size up to how.max_pixels. Grey becomes colour by repetition, colour
///           becomes grey as ITU-R BT.601's luma (a JPEG's own brightness). A PNG's palette is looked up, its transparency
///           ignored; the orientation that a camera has noted is, too.
/// Errors    data_error naming `where`: neither JPEG nor PNG; cut or damaged anywhere (unless salvaged); too many pixels;
///           CMYK; 12 or 16 bits a channel. setting_error for settings that make no sense.
/// Exact     the same bytes on every processor (libjpeg-turbo's accurate inverse DCT).
inline image decoded(std::span<std::byte const> file, std::string const& where, decoding how = {}) {
  detail::check(how);
  bool const jpeg = detail::begins_with(file, detail::jpeg_magic);
  if (!jpeg && !detail::begins_with(file, detail::png_magic)) detail::refuse_format(file, where);
  auto const read = [&](auto const& opened) {
    shape const size = opened.size();
    if (std::int64_t const pixels = std::int64_t{size[1]} * size[2]; pixels > how.max_pixels)
      throw data_error({.what = "the image is too large",
                        .where = where,
                        .expected = {"at most ", how.max_pixels, " pixels"},
                        .got = {size[1], 'x', size[2]}});
    return opened.read(how.channels);
  };
  return jpeg ? read(detail::jpeg_file(file, where, how.salvage)) : read(detail::png_file(file, where));
}

}  // namespace cohort
