// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/image/decode.hpp>
#include <cohort/image/detail/jpeg.hpp>
#include <cohort/image/detail/png.hpp>
#include <limits>
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
                    .got = std::move(got)});
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
  return with_opened(file, where, how, [](auto const& opened) { return opened.size(); });
}

}  // namespace cohort::detail

namespace cohort {

shape image_size(std::span<std::byte const> file, std::string const& where) {
  return detail::size_to_decode(file, where, {.max_pixels = std::numeric_limits<std::int64_t>::max()});
}

image decoded(std::span<std::byte const> file, std::string const& where, decoding how) {
  detail::check(how);
  return detail::with_opened(file, where, how, [&](auto const& opened) { return opened.read(how.channels); });
}

}  // namespace cohort
