// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/decode.hpp>
#include <cohort/image/detail/bmp.hpp>
#include <cohort/image/detail/exif_orientation.hpp>
#include <cohort/image/detail/file_format.hpp>
#include <cohort/image/detail/gif.hpp>
#include <cohort/image/detail/jpeg.hpp>
#include <cohort/image/detail/png.hpp>
#include <cohort/image/detail/tiff.hpp>
#include <cohort/image/detail/webp.hpp>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace cohort::detail {

void check(decoding const& how) {
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

/// Returns the format of a file; file_format::unknown if it is none of those that can be decoded.
///
/// Source    the formats' first bytes: the Linux program file(1).
file_format format_of(std::string_view file) {
  struct signature {
    file_format format;
    std::size_t position;
    std::string_view bytes;
  };
  static constexpr signature signatures[] = {{file_format::jpeg, 0, "\xff\xd8\xff"},
                                             {file_format::png, 0, "\x89PNG\r\n\x1a\n"},
                                             {file_format::gif, 0, "GIF87a"},
                                             {file_format::gif, 0, "GIF89a"},
                                             {file_format::bmp, 0, "BM"},
                                             {file_format::tiff, 0, {"II*\0", 4}},
                                             {file_format::tiff, 0, {"MM\0*", 4}},
                                             {file_format::tiff, 0, {"II+\0", 4}},  // BigTIFF
                                             {file_format::tiff, 0, {"MM\0+", 4}},
                                             {file_format::webp, 8, "WEBP"}};
  for (auto const& [format, position, bytes] : signatures)
    if (file.size() >= position && file.substr(position).starts_with(bytes)) return format;
  return file_format::unknown;
}

std::string_view text_of_file(std::span<std::byte const> file) {
  return {reinterpret_cast<char const*>(file.data()), file.size()};
}

std::string advice_for(std::string_view file) {
  auto const has = [&](std::size_t position, std::string_view bytes) {
    return file.size() >= position && file.substr(position).starts_with(bytes);
  };
  if (has(0, "version https://git-lfs"))
    return "; this is a pointer of Git LFS: `git lfs pull` gets the image";
  if (has(0, "<!DOCTYPE") || has(0, "<!doctype") || has(0, "<html"))
    return "; this is a web page, such as a failed download saves: get the image again";
  auto const without = [](char const* format, char const* library) {
    return text_of({"; the format is ", format, ", but this program was built without ", library,
                    ": install it and build again, or convert the file to PNG"});
  };
  file_format const format = format_of(file);
  if (format == file_format::tiff)
    return without("TIFF", "libtiff 4.5 or newer (libtiff-dev on Debian and Ubuntu)");
  if (format == file_format::webp) return without("WebP", "libwebp (libwebp-dev on Debian and Ubuntu)");
  struct other_format {
    std::string_view name;
    std::size_t position;
    std::string_view bytes;
  };
  static constexpr other_format others[] = {
      {"AVIF", 4, "ftypavi"}, {"HEIF", 4, "ftyphei"},   {"HEIF", 4, "ftyphev"}, {"HEIF", 4, "ftypmif"},
      {"HEIF", 4, "ftypmsf"}, {"JPEG 2000", 4, "jP  "}, {"JPEG XL", 4, "JXL "}, {"JPEG XL", 0, "\xff\x0a"},
      {"SVG", 0, "<svg"},     {"PDF", 0, "%PDF"}};
  for (auto const& [name, position, bytes] : others)
    if (has(position, bytes))
      return text_of(
          {"; the format is ", name, ": convert it, for example by ImageMagick's `mogrify -format png`"});
  return {};
}

[[noreturn]] void refuse_format(std::span<std::byte const> file, std::string const& where) {
  std::string got = file.empty() ? "an empty file" : "one that begins with";
  for (std::size_t i = 0; i < file.size() && i < 8; ++i) {
    constexpr char digits[] = "0123456789abcdef";
    auto const byte = std::to_integer<unsigned>(file[i]);
    got += {' ', digits[byte >> 4], digits[byte & 15]};
  }
  throw data_error(
      {.what = "cannot decode the image",
       .where = where,
       .expected = "a JPEG, PNG, BMP, GIF, TIFF or WebP file",
       .got = got + advice_for(text_of_file(file.first(std::min<std::size_t>(file.size(), 64))))});
}

/// Reads the file's header and calls `use` with the opened file.
///
/// Errors    data_error if the file is not an image, or has too many pixels.
template <class Use>
auto with_opened(std::span<std::byte const> file, std::string const& where, decoding const& how,
                 Use const& use) {
  auto const checked = [&](auto const& opened) {
    shape const size = opened.size();
    if (std::int64_t const pixels = std::int64_t{size[1]} * size[2]; pixels > how.max_pixels)
      throw data_error({.what = "the image is too large",
                        .where = where,
                        .expected = {"at most ", how.max_pixels, " pixels"},
                        .got = {size[1], 'x', size[2]}});
    return use(opened);
  };
  switch (format_of(text_of_file(file))) {
    case file_format::jpeg:
      return checked(jpeg_file(file, where, how.salvage));
    case file_format::png:
      return checked(png_file(file, where));
    case file_format::bmp:
      return checked(bmp_file(file, where));
    case file_format::gif:
      return checked(gif_file(file, where));
#ifdef COHORT_IMAGE_TIFF
    case file_format::tiff:
      return checked(tiff_file(file, where, how.max_pixels));
#endif
#ifdef COHORT_IMAGE_WEBP
    case file_format::webp:
      return checked(webp_file(file, where));
#endif
    default:
      refuse_format(file, where);
  }
}

shape size_to_decode(std::span<std::byte const> file, std::string const& where, decoding const& how) {
  shape const stored = with_opened(file, where, how, [](auto const& opened) { return opened.size(); });
  bool const exchanges = how.apply_exif_orientation && exchanges_extents(exif_orientation(file));
  return exchanges ? shape(stored[0], stored[2], stored[1]) : stored;
}

}  // namespace cohort::detail

namespace cohort {

shape image_size(std::span<std::byte const> file, std::string const& where, bool apply_exif_orientation) {
  return detail::size_to_decode(file, where,
                                {.max_pixels = std::numeric_limits<std::int64_t>::max(),
                                 .apply_exif_orientation = apply_exif_orientation});
}

image decoded(std::span<std::byte const> file, std::string const& where, decoding how) {
  detail::check(how);
  image stored =
      detail::with_opened(file, where, how, [&](auto const& opened) { return opened.read(how.channels); });
  if (!how.apply_exif_orientation) return stored;
  return detail::oriented(std::move(stored), detail::exif_orientation(file));
}

}  // namespace cohort
