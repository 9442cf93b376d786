// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/decode.hpp>
#include <cohort/image/detail/exif_orientation.hpp>
#include <cohort/image/detail/file_format.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "../../data/refused.hpp"
#include "image_files.hpp"

namespace image_formats_test {

using cohort::decoded;
using cohort::image;

std::string const folder = COHORT_SOURCE_DIR "/tests/golden/images/";

file_bytes file_of(std::string const& name) {
  std::ifstream file(folder + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  std::string const text{std::istreambuf_iterator<char>(file), {}};
  return text_bytes(text);
}

/// Names of the files with this ending.
std::vector<std::string> files_of(std::string_view ending) {
  std::vector<std::string> names;
  for (auto const& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ending) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  EXPECT_GT(names.size(), 3U) << ending;
  return names;
}

std::string refusal_of(file_bytes const& file, cohort::decoding how = {}) {
  return refused<cohort::data_error>([&] { decoded(file, "cats/7", how); });
}

int largest_difference(image const& a, image const& b) {
  EXPECT_EQ(a.dims, b.dims);
  int most = 0;
  for (std::size_t i = 0; i < std::min(a.pixels.size(), b.pixels.size()); ++i)
    most = std::max(most, std::abs(int{a.pixels[i]} - int{b.pixels[i]}));
  return most;
}

/// Compares a file with the pixels that Pillow decodes, in colour and in grey.
void expect_as_pillow(std::string const& name) {
  file_bytes const file = file_of(name), pillow = file_of(name + ".png");
  bool const is_lossy = name == "lossy.webp" || name == "jpeg.tif";
  for (int const channels : {3, 1})
    EXPECT_LE(largest_difference(decoded(file, name, {.channels = channels}),
                                 decoded(pillow, name, {.channels = channels})),
              is_lossy ? 1 : 0)
        << name;
  cohort::shape const size = cohort::image_size(file, name), stored = cohort::image_size(pillow, name);
  EXPECT_EQ(size[1], stored[1]) << name;
  EXPECT_EQ(size[2], stored[2]) << name;
  EXPECT_TRUE(size[0] == 1 || size[0] == 3) << name;
}

TEST(image_formats, decode_bmp_files_as_pillow_does) {
  for (std::string const& name : files_of(".bmp")) expect_as_pillow(name);
}

TEST(image_formats, decode_the_first_frame_of_gif_files_as_pillow_does) {
  for (std::string const& name : files_of(".gif")) expect_as_pillow(name);
}

/// Returns whether the component is built with the library of this file's format.
bool has_library(std::string const& name) {
  try {
    decoded(file_of(name), name);
  } catch (cohort::data_error const& refused) {
    return std::string_view(refused.what()).find("built without") == std::string_view::npos;
  }
  return true;
}

TEST(image_formats, decode_tiff_files_as_pillow_does) {
  if (!has_library("raw.tif")) return expect_parts(refusal_of(file_of("raw.tif")), {"without libtiff 4.5"});
  for (std::string const& name : files_of(".tif")) expect_as_pillow(name);
}

TEST(image_formats, decode_webp_files_as_pillow_does) {
  if (!has_library("lossless.webp"))
    return expect_parts(refusal_of(file_of("lossless.webp")), {"without libwebp"});
  for (std::string const& name : files_of(".webp")) expect_as_pillow(name);
}

TEST(image_formats, apply_the_orientation_of_tiff_and_webp_files) {
  for (auto const& [name, orientation] : {std::pair<char const*, int>{"orientation_6.webp", 6},
                                          {"orientation_3.tif", 3},
                                          {"orientation_6.tif", 6},
                                          {"big_orientation_8.tif", 8}}) {
    file_bytes const file = file_of(name);
    EXPECT_EQ(cohort::detail::exif_orientation(file), orientation) << name;
    if (!has_library(name)) continue;
    image const shown = decoded(file, name, {.apply_exif_orientation = true});
    EXPECT_EQ(shown, decoded(file_of(std::string(name) + ".shown.png"), name)) << name;
    EXPECT_EQ(cohort::image_size(file, name, true), shown.dims) << name;
  }
  EXPECT_EQ(cohort::detail::exif_orientation(file_of("raw.tif")), 1);
  EXPECT_EQ(cohort::detail::exif_orientation(file_of("lossless.webp")), 1);
  file_bytes webp = file_of("orientation_6.webp");
  auto const chunk = std::search(webp.begin(), webp.end(), reinterpret_cast<std::byte const*>("EXIF"),
                                 reinterpret_cast<std::byte const*>("EXIF") + 4);
  ASSERT_NE(chunk, webp.end());
  std::size_t const place = static_cast<std::size_t>(chunk - webp.begin()) + 4;
  auto const length = std::to_integer<std::uint64_t>(webp[place]);
  webp[place] = static_cast<std::byte>(length + 6);
  file_bytes const with_prefix =  // "Exif" and two zeros, as in a JPEG
      inserted(webp, place + 4, text_bytes(std::string_view("Exif\0\0", 6)));
  EXPECT_EQ(cohort::detail::exif_orientation(with_prefix), 6);
}

TEST(image_formats, refuse_truncated_and_changed_files_by_name) {
  for (char const* ending : {".bmp", ".gif", ".tif", ".webp"})
    for (std::string const& name : files_of(ending)) {
      file_bytes const whole = file_of(name);
      if (!has_library(name)) continue;
      int refusals = 0;
      auto const try_to_decode = [&](file_bytes const& file) {
        try {
          image const made = decoded(file, "cats/7", {.max_pixels = 1 << 16});
          EXPECT_EQ(static_cast<std::int64_t>(made.pixels.size()), made.dims.elements());
        } catch (cohort::data_error const& why) {
          EXPECT_EQ(why.why().where, "cats/7") << name;
          ++refusals;
        }
      };
      std::size_t const step = 1 + whole.size() / 300;
      for (std::size_t n = 6; n < whole.size(); n += step)
        try_to_decode({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)});
      EXPECT_GT(refusals, 5) << name;
      for (std::size_t n = 6; n < whole.size(); n += n < 200 ? 1 : step)
        for (unsigned const change : {0x01U, 0x80U, 0xffU}) {
          file_bytes changed = whole;
          changed[n] ^= static_cast<std::byte>(change);
          try_to_decode(changed);
        }
    }
}

/// A file with another little-endian number at a position.
file_bytes with_number(file_bytes file, std::size_t position, std::uint64_t number, int width) {
  file_bytes const bytes = number_bytes(number, width, true);
  std::copy(bytes.begin(), bytes.end(), file.begin() + static_cast<std::ptrdiff_t>(position));
  return file;
}

TEST(image_formats, refuse_too_many_pixels_before_memory_is_allocated) {
  file_bytes const bmp = file_of("rle8.bmp"), gif = file_of("plain.gif");
  expect_parts(refusal_of(with_number(with_number(bmp, 18, 40'000, 4), 22, 40'000, 4)),
               {"cats/7", "too large", "got 40000x40000"});
  expect_parts(refusal_of(with_number(gif, 6, 0xffffffff, 4)), {"too large", "got 65535x65535"});
  // A long row of a BMP without compression, whose file is too short.
  expect_parts(refusal_of(with_number(file_of("24.bmp"), 18, 3'000'000, 4)),
               {"BMP", "expected an undamaged file", "ends after"});
  for (char const* name : {"raw.tif", "lossless.webp"})
    if (has_library(name))
      expect_parts(refusal_of(file_of(name), {.max_pixels = 10}),
                   {"too large", "at most 10 pixels, got 21x19"});
}

TEST(image_formats, refuse_unsupported_kinds_by_name) {
  file_bytes const bmp = file_of("24.bmp"), gif = file_of("plain.gif");
  expect_parts(refusal_of(with_number(bmp, 14, 41, 4)), {"BMP", "a header of 12, 40", "got 41"});
  expect_parts(refusal_of(with_number(bmp, 28, 2, 2)), {"1, 4, 8, 16, 24 or 32 bits", "got 2"});
  expect_parts(refusal_of(with_number(bmp, 30, 4, 4)), {"no compression", "compression 4 of 24 bits"});
  expect_parts(refusal_of(with_number(bmp, 18, 0, 4)), {"extents of at least 1", "got 21x0"});
  expect_parts(refusal_of(with_number(bmp, 22, 0x80000000U, 4)), {"extents of at least 1"});
  expect_parts(refusal_of(with_number(file_of("8.bmp"), 10, 54, 4)),
               {"a colour table before the pixels", "byte 54"});
  file_bytes without_image(gif.begin(), gif.begin() + 13 + 768);
  without_image.push_back(std::byte{0x3b});
  expect_parts(refusal_of(without_image), {"GIF", "expected an image", "contains none"});
  if (has_library("raw.tif")) {
    file_bytes const tiff = file_of("deep_grey.tif");
    auto const with_tag = [&](int tag, int value) {  // changes a field of type SHORT
      for (std::size_t n = 8; n + 12 <= tiff.size(); n += 2)
        if (std::equal(
                tiff.begin() + static_cast<std::ptrdiff_t>(n),
                tiff.begin() + static_cast<std::ptrdiff_t>(n) + 4,
                joined({number_bytes(static_cast<std::uint64_t>(tag), 2, true), number_bytes(3, 2, true)})
                    .begin()))
          return refusal_of(with_number(tiff, n + 8, static_cast<std::uint64_t>(value), 2));
      return std::string("no such field");
    };
    expect_parts(with_tag(258, 12), {"TIFF (cats/7", "8 or 16 bits per sample", "got 12"});
    expect_parts(with_tag(259, 6), {"a compression that libtiff supports", "compression 6"});
    expect_parts(with_tag(262, 8), {"grey, RGB, CMYK", "photometric interpretation 8"});
    expect_parts(with_tag(262, 2), {"enough samples per pixel", "1 of 3"});
    expect_parts(with_tag(277, 17), {"at most 16 samples per pixel", "got 17"});
    expect_parts(refusal_of(file_of("tiles.tif"), {.max_pixels = 500}),
                 {"twice as many pixels", "tiles of 16x16"});
  }
}

TEST(image_formats, name_the_missing_library) {
  using namespace std::string_view_literals;
  for (std::string_view const first : {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv})
    expect_parts(cohort::detail::advice_for(first),
                 {"format is TIFF", "without libtiff 4.5", "libtiff-dev", "build again"});
  expect_parts(cohort::detail::advice_for("RIFF\x24\0\0\0WEBPVP8 "sv),
               {"format is WebP", "without libwebp", "libwebp-dev"});
}

}  // namespace image_formats_test
