// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/decode.hpp>
#include <cohort/image/detail/jpeg.hpp>
#include <cohort/image/detail/png.hpp>
#include <utility>

namespace cohort::detail {

COHORT_IMAGE_INLINE void check(decoding const& how) {
  if (how.channels != 1 && how.channels != 3)
    throw setting_error({.what = "unsupported number of channels",
                         .where = "channels",
                         .expected = "3 (red, green, blue) or 1 (grey)",
                         .got = {how.channels}});
  if (how.max_pixels < 1)
    throw setting_error({.what = "max_pixels is too small",
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

[[noreturn]] COHORT_IMAGE_INLINE void refuse_format(std::span<std::byte const> file,
                                                    std::string const& where) {
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

}  // namespace cohort::detail

namespace cohort {

COHORT_IMAGE_INLINE shape image_size(std::span<std::byte const> file, std::string const& where) {
  if (detail::begins_with(file, detail::jpeg_magic)) return detail::jpeg_file(file, where, false).size();
  if (detail::begins_with(file, detail::png_magic)) return detail::png_file(file, where).size();
  detail::refuse_format(file, where);
}

COHORT_IMAGE_INLINE image decoded(std::span<std::byte const> file, std::string const& where, decoding how) {
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
