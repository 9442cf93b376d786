// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/decode.hpp>
#include <cohort/image/detail/exif_orientation.hpp>
#include <cohort/image/detail/jpeg.hpp>
#include <cohort/image/detail/png.hpp>
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

/// Returns whether the file begins with these bytes.
template <std::size_t N>
bool begins_with(std::span<std::byte const> file, unsigned char const (&magic)[N]) {
  if (file.size() < N) return false;
  for (std::size_t i = 0; i < N; ++i)
    if (std::to_integer<unsigned char>(file[i]) != magic[i]) return false;
  return true;
}

inline constexpr unsigned char jpeg_magic[] = {0xff, 0xd8, 0xff};

inline constexpr unsigned char png_magic[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

/// A kind of file that users take for a JPEG or PNG: its name, and bytes at a position.
struct other_kind {
  std::string_view name;
  std::size_t position;
  std::string_view bytes;
};

inline constexpr other_kind other_kinds[] = {
    {"GIF", 0, "GIF8"},         {"BMP", 0, "BM"},       {"TIFF", 0, {"II*\0", 4}}, {"TIFF", 0, {"MM\0*", 4}},
    {"WebP", 8, "WEBP"},        {"AVIF", 4, "ftypavi"}, {"HEIF", 4, "ftyphei"},    {"HEIF", 4, "ftyphev"},
    {"HEIF", 4, "ftypmif"},     {"HEIF", 4, "ftypmsf"}, {"JPEG 2000", 4, "jP  "},  {"JPEG XL", 4, "JXL "},
    {"JPEG XL", 0, "\xff\x0a"}, {"SVG", 0, "<svg"},     {"PDF", 0, "%PDF"}};

/// Returns what to do with a file that is neither a JPEG nor a PNG; empty for an unknown kind.
///
/// Source    the kinds' first bytes: the Linux program file(1).
std::string advice_for(std::string_view file) {
  auto const has = [&](std::size_t position, std::string_view bytes) {
    return file.size() >= position && file.substr(position).starts_with(bytes);
  };
  if (has(0, "version https://git-lfs"))
    return "; this is a pointer of Git LFS: `git lfs pull` gets the image";
  if (has(0, "<!DOCTYPE") || has(0, "<!doctype") || has(0, "<html"))
    return "; this is a web page, such as a failed download saves: get the image again";
  for (other_kind const& kind : other_kinds)
    if (has(kind.position, kind.bytes))
      return text_of({"; the format is ", kind.name,
                      ": convert it, for example by ImageMagick's `mogrify -format png`"});
  return {};
}

[[noreturn]] void refuse_format(std::span<std::byte const> file, std::string const& where) {
  std::string got = file.empty() ? "an empty file" : "one that begins with";
  for (std::size_t i = 0; i < file.size() && i < 8; ++i) {
    constexpr char digits[] = "0123456789abcdef";
    auto const byte = std::to_integer<unsigned>(file[i]);
    got += {' ', digits[byte >> 4], digits[byte & 15]};
  }
  throw data_error({.what = "cannot decode the image",
                    .where = where,
                    .expected = "a JPEG or PNG file",
                    .got = got
                           + advice_for({reinterpret_cast<char const*>(file.data()),
                                         std::min<std::size_t>(file.size(), 64)})});
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
  if (begins_with(file, jpeg_magic)) return checked(jpeg_file(file, where, how.salvage));
  if (begins_with(file, png_magic)) return checked(png_file(file, where));
  refuse_format(file, where);
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
