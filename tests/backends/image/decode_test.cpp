// SPDX-License-Identifier: Apache-2.0
// covers: image/image
#include <algorithm>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/decode.hpp>
#include <cohort/image/detail/planes_of.hpp>
#include <cstring>

#include "../../data/refused.hpp"
#include "image_files.hpp"

namespace decode_test {

using cohort::decoded;
using cohort::image;

std::string refusal_of(file_bytes const& file, cohort::decoding how = {}) {
  return refused<cohort::data_error>([&] { decoded(file, "cats/7.jpg", how); });
}

file_bytes cut(file_bytes const& whole, std::size_t bytes) {
  return {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes)};
}

double mean_distance(image const& a, image const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) sum += std::abs(int{a.pixels[i]} - int{b.pixels[i]});
  return sum / static_cast<double>(a.pixels.size());
}

TEST(decode, round_trips_a_png_in_colour_and_grey) {
  for (int width : {1, 7, 64}) {
    image const colour = picture(3, 5, width);
    image const grey = picture(1, 5, width);
    EXPECT_EQ(decoded(png_of(colour), "x"), colour);
    EXPECT_EQ(decoded(png_of(grey), "x", {.channels = 1}), grey);
  }
}

TEST(decode, converts_grey_to_colour_by_repetition_and_colour_to_grey_by_luma) {
  image const grey = picture(1, 4, 6);
  image const three = decoded(png_of(grey), "x");
  for (int c = 0; c < 3; ++c)
    EXPECT_EQ(std::vector<std::uint8_t>(three.plane(c), three.plane(c) + 24), grey.pixels);
  EXPECT_EQ(decoded(jpeg_of(grey), "x").plane(2)[5],
            decoded(jpeg_of(grey), "x", {.channels = 1}).plane(0)[5]);

  image const colour = picture(3, 4, 6);
  image const one = decoded(png_of(colour), "x", {.channels = 1});
  ASSERT_EQ(one.dims, cohort::shape(1, 4, 6));
  for (std::size_t i = 0; i < 24; ++i)
    EXPECT_NEAR(one.pixels[i],
                0.299 * colour.plane(0)[i] + 0.587 * colour.plane(1)[i] + 0.114 * colour.plane(2)[i], 0.51);
}

TEST(decode, looks_up_palettes_and_ignores_transparency) {
  std::vector<std::uint8_t> const indices = {0, 1, 2, 1};
  image const looked_up = decoded(
      png_bytes(indices.data(), 2, 2, PNG_FORMAT_RGB_COLORMAP, {9, 8, 7, 6, 5, 4, 250, 251, 252}), "x");
  EXPECT_EQ(looked_up.pixels, (std::vector<std::uint8_t>{9, 6, 250, 6, 8, 5, 251, 5, 7, 4, 252, 4}));
  std::vector<std::uint8_t> const transparent = {10, 20, 30, 0, 40, 50, 60, 128};
  EXPECT_EQ(decoded(png_bytes(transparent.data(), 1, 2, PNG_FORMAT_RGBA), "x").pixels,
            (std::vector<std::uint8_t>{10, 40, 20, 50, 30, 60}));
  std::vector<std::uint8_t> const grey = {10, 0, 40, 128};
  EXPECT_EQ(decoded(png_bytes(grey.data(), 1, 2, PNG_FORMAT_GA), "x", {.channels = 1}).pixels,
            (std::vector<std::uint8_t>{10, 40}));
}

TEST(decode, converts_the_gamma_of_a_png) {
  image linear(1, 1, 256);
  for (std::size_t i = 0; i < 256; ++i) linear.pixels[i] = static_cast<std::uint8_t>(i);
  file_bytes file = png_of(linear);
  std::size_t const after_header = 8 + 25;
  file.erase(file.begin() + after_header, file.begin() + after_header + 13);  // the chunk sRGB
  unsigned char const gamma_of_1[] = {0, 0, 0,    4,    'g',  'A',  'M',  'A',
                                      0, 1, 0x86, 0xa0, 0x31, 0xe8, 0x96, 0x5f};
  auto const* const chunk = reinterpret_cast<std::byte const*>(gamma_of_1);
  file.insert(file.begin() + after_header, chunk, chunk + sizeof gamma_of_1);
  image const made = decoded(file, "x", {.channels = 1});
  for (std::size_t i = 0; i < 256; ++i)
    EXPECT_NEAR(made.pixels[i], 255 * std::pow(static_cast<double>(i) / 255, 1 / 2.2), 1);
}

TEST(decode, approximates_the_image_encoded_as_a_jpeg) {
  image const colour = picture(3, 33, 50);
  for (int flags : {0, TJFLAG_PROGRESSIVE})
    EXPECT_LT(mean_distance(decoded(jpeg_of(colour, 98, flags), "x"), colour), 1.5);
  for (int subsampling : {TJSAMP_422, TJSAMP_420, TJSAMP_440, TJSAMP_411})
    EXPECT_LT(mean_distance(decoded(jpeg_bytes(interleaved(colour), 33, 50, TJPF_RGB, subsampling, 98), "x"),
                            colour),
              14);
  image const grey = picture(1, 33, 50);
  EXPECT_LT(mean_distance(decoded(jpeg_of(grey, 98), "x", {.channels = 1}), grey), 1.5);
}

TEST(decode, uses_a_jpegs_luma_for_grey) {
  image const colour = picture(3, 16, 16);
  file_bytes const file = jpeg_of(colour, 98);
  image const grey = decoded(file, "x", {.channels = 1});
  image const three = decoded(file, "x");
  for (std::size_t i = 0; i < 256; ++i)
    EXPECT_NEAR(grey.pixels[i], cohort::detail::luma(three.plane(0)[i], three.plane(1)[i], three.plane(2)[i]),
                2);
}

TEST(decode, reads_the_size_before_decoding) {
  EXPECT_EQ(cohort::image_size(jpeg_of(picture(3, 4, 9)), "x"), cohort::shape(3, 4, 9));
  EXPECT_EQ(cohort::image_size(jpeg_of(picture(1, 9, 4)), "x"), cohort::shape(1, 9, 4));
  EXPECT_EQ(cohort::image_size(png_of(picture(3, 1, 2)), "x"), cohort::shape(3, 1, 2));
  expect_parts(refused<cohort::data_error>([] { cohort::image_size({}, "a.png"); }),
               {"a.png", "an empty file"});
}

TEST(decode, refuses_unknown_formats) {
  expect_parts(refusal_of({}), {"cats/7.jpg", "an empty file"});
  expect_parts(refusal_of(file_bytes(2, std::byte{0xff})), {"begins with ff ff"});
  file_bytes const unknown(20, std::byte{7});
  EXPECT_TRUE(refusal_of(unknown).ends_with("begins with 07 07 07 07 07 07 07 07")) << refusal_of(unknown);
}

/// Returns a file that begins with these bytes.
file_bytes file_of(std::string_view first) {
  file_bytes file(40);
  std::memcpy(file.data(), first.data(), first.size());
  return file;
}

TEST(decode, reports_the_format_of_other_files_and_how_to_convert_them) {
  using namespace std::string_view_literals;
  expect_parts(
      refusal_of(file_of("GIF90a")),
      {"cats/7.jpg", "expected a JPEG, PNG, BMP, GIF, TIFF or WebP file", "47 49 46 39 30 61 00 00"});
  std::pair<std::string, std::string_view> const kinds[] = {
      {"AVIF", "\0\0\0 ftypavif"sv}, {"HEIF", "\0\0\0 ftypheic"sv}, {"HEIF", "\0\0\0 ftyphevc"sv},
      {"HEIF", "\0\0\0 ftypmif1"sv}, {"HEIF", "\0\0\0 ftypmsf1"sv}, {"JPEG 2000", "\0\0\0 jP  "sv},
      {"JPEG XL", "\0\0\0 JXL "sv},  {"JPEG XL", "\xff\x0a"sv},     {"SVG", "<svg xmlns"sv},
      {"PDF", "%PDF-1.7"sv}};
  for (auto const& [kind, first] : kinds)
    expect_parts(refusal_of(file_of(first)),
                 {("format is " + kind + ": convert it").c_str(), "mogrify -format png"});
  std::string const video = refusal_of(file_of("\0\0\0 ftypisom"sv));
  EXPECT_EQ(video.find("convert it"), std::string::npos) << video;
  for (auto first : {"<!DOCTYPE html>"sv, "<!doctype html>"sv, "<html>"sv})
    expect_parts(refusal_of(file_of(first)), {"a web page", "get the image again"});
  expect_parts(refusal_of(file_of("version https://git-lfs.github.com")), {"`git lfs pull`"});
}

TEST(decode, converts_cmyk_to_rgb_as_pillow_does) {
  // JPEG stores constant colours without loss. Stored values: 200, 100, 50 and 180, as by Adobe's programs.
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < 8 * 8; ++i) pixels.insert(pixels.end(), {200, 100, 50, 180});
  file_bytes const file = jpeg_bytes(pixels, 8, 8, TJPF_CMYK, TJSAMP_444, 100);
  image const colours = decoded(file, "x");
  ASSERT_EQ(colours.dims, (cohort::shape{3, 8, 8}));
  // 180 − (255 − 200)·180/255 = 141, and so on: PIL.Image.open(file).convert("RGB")
  EXPECT_NEAR(colours.plane(0)[9], 141, 1);
  EXPECT_NEAR(colours.plane(1)[9], 71, 1);
  EXPECT_NEAR(colours.plane(2)[9], 35, 1);
  EXPECT_EQ(decoded(file, "x", {.channels = 1}).dims, (cohort::shape{1, 8, 8}));
}

TEST(decode, accepts_damaged_jpegs_whose_pixels_are_complete) {
  for (int const channels : {1, 3}) {
    file_bytes const whole = jpeg_of(picture(channels, 20, 20));
    auto const with = [&](file_bytes file, std::size_t place, int count) {
      file.insert(file.begin() + static_cast<std::ptrdiff_t>(place), static_cast<std::size_t>(count),
                  std::byte{7});
      return file;
    };
    image const expected = decoded(whole, "x");
    EXPECT_EQ(decoded(cut(whole, whole.size() - 2), "x").pixels, expected.pixels);  // no end mark
    EXPECT_EQ(decoded(cut(whole, whole.size() - 1), "x").pixels, expected.pixels);
    EXPECT_EQ(decoded(with(whole, whole.size() - 2, 5), "x").pixels, expected.pixels);  // before the end mark
    EXPECT_EQ(decoded(with(whole, 20, 5), "x").pixels, expected.pixels);                // between segments
  }
}

TEST(decode, refuses_jpegs_if_scans_or_restart_intervals_are_skipped) {
  file_bytes const progressive = jpeg_of(picture(3, 20, 20), 90, TJFLAG_PROGRESSIVE);
  std::size_t scan = progressive.size();  // the start mark of the last scan
  while (progressive[--scan] != std::byte{0xff} || progressive[scan + 1] != std::byte{0xda})
    ;
  file_bytes damaged = progressive;
  damaged[scan] = {};
  expect_parts(refusal_of(damaged), {"extraneous bytes before marker 0xd9"});
  EXPECT_EQ(decoded(damaged, "x", {.salvage = true}).dims, (cohort::shape{3, 20, 20}));
  // A file whose header declares restart marks.
  file_bytes intervals = jpeg_of(picture(3, 20, 20));
  intervals.insert(intervals.end() - 2, 5, std::byte{7});
  EXPECT_EQ(decoded(intervals, "x").dims, (cohort::shape{3, 20, 20}));
  for (int const byte : {0x00, 0x01, 0x00, 0x04, 0x00, 0xdd, 0xff})
    intervals.insert(intervals.begin() + 2, static_cast<std::byte>(byte));
  EXPECT_NE(refusal_of(intervals), "");
}

TEST(decode, refuses_16_bits_per_channel) {
  std::vector<std::uint16_t> const deep(3 * 4 * 4, 1000);
  expect_parts(refusal_of(png_bytes(deep.data(), 4, 4, PNG_FORMAT_LINEAR_RGB)),
               {"cats/7.jpg", "PNG", "expected 8 bits per channel, got 16"});
  expect_parts(refusal_of(png_bytes(deep.data(), 4, 4, PNG_FORMAT_LINEAR_Y)), {"8 bits per channel, got 16"});
}

TEST(decode, refuses_files_truncated_anywhere) {
  for (file_bytes const& whole : {jpeg_of(picture(3, 20, 20)), jpeg_of(picture(1, 20, 20)),
                                  jpeg_of(picture(3, 20, 20), 90, TJFLAG_PROGRESSIVE)})
    for (std::size_t n = 3; n < whole.size(); ++n) {
      try {
        ASSERT_EQ(decoded(cut(whole, n), "cats/7.jpg"), decoded(whole, "x")) << n;
        EXPECT_LE(whole.size(), n + 4);  // only bytes after the last pixel are missing
      } catch (cohort::data_error const& why) {
        expect_parts(why.what(), {"the JPEG (cats/7.jpg", "expected an undamaged file"});
      }
    }
  file_bytes const png = png_of(picture(3, 20, 20));
  std::size_t const end_chunk = 12;  // libpng does not read this chunk, which is not part of the image
  for (std::size_t n = 8; n < png.size() - end_chunk - 4; ++n)
    expect_parts(refusal_of(cut(png, n)), {"the PNG (cats/7.jpg", "expected an undamaged file, got "});
}

TEST(decode, returns_a_consistent_image_or_an_error_for_a_changed_byte) {
  for (file_bytes const& whole :
       {jpeg_of(picture(3, 24, 24)), jpeg_of(picture(3, 24, 24), 90, TJFLAG_PROGRESSIVE),
        png_of(picture(3, 24, 24)), png_of(picture(1, 24, 24))}) {
    int refusals = 0;
    for (std::size_t n = 0; n < whole.size(); ++n)
      for (unsigned const change : {0x01U, 0x80U, 0xffU}) {
        file_bytes changed = whole;
        changed[n] ^= static_cast<std::byte>(change);
        try {
          image const made = decoded(changed, "x", {.max_pixels = 1 << 20, .salvage = n % 2 == 0});
          EXPECT_EQ(static_cast<std::int64_t>(made.pixels.size()), made.dims.elements());
        } catch (cohort::data_error const&) {
          ++refusals;
        }
      }
    EXPECT_GT(refusals, 100);
  }
}

TEST(decode, detects_every_changed_byte_of_a_pngs_pixels) {
  file_bytes const whole = png_of(picture(3, 24, 24));
  auto const data = std::search(whole.begin(), whole.end(), reinterpret_cast<std::byte const*>("IDAT"),
                                reinterpret_cast<std::byte const*>("IDAT") + 4)
                    - whole.begin();
  for (auto n = static_cast<std::size_t>(data) + 4; n < whole.size() - 16; ++n) {
    file_bytes changed = whole;
    changed[n] ^= std::byte{4};
    expect_parts(refusal_of(changed), {"the PNG (", "expected an undamaged file, got "});
  }
}

TEST(decode, refuses_too_many_pixels_before_decoding) {
  file_bytes jpeg = jpeg_of(picture(3, 8, 8));
  for (std::size_t n = 0; n + 9 < jpeg.size(); ++n)
    if (jpeg[n] == std::byte{0xff} && jpeg[n + 1] == std::byte{0xc0})  // start of frame: height, width
      for (std::size_t i = 5; i < 9; ++i) jpeg[n + i] = std::byte{0xf0};
  expect_parts(refusal_of(jpeg), {"cats/7.jpg", "too large", "at most 67108864 pixels, got 61680x61680"});
  file_bytes const png = png_of(image(1, 3000, 3000));
  EXPECT_LT(png.size(), 20'000U);
  expect_parts(refusal_of(png, {.max_pixels = 8'999'999}), {"too large", "3000x3000"});
  EXPECT_EQ(decoded(png, "x", {.channels = 1, .max_pixels = 9'000'000}).pixels.size(), 9'000'000U);
}

TEST(decode, decodes_the_upper_part_of_a_truncated_jpeg_if_salvage_is_set) {
  image const whole = decoded(jpeg_of(picture(3, 64, 64)), "x");
  file_bytes const file = jpeg_of(picture(3, 64, 64));
  image const half = decoded(cut(file, file.size() - (file.size() - 620) / 2), "x", {.salvage = true});
  ASSERT_EQ(half.dims, whole.dims);
  EXPECT_EQ(std::memcmp(half.plane(0), whole.plane(0), 64 * 16), 0);
  EXPECT_NE(half, whole);
  expect_parts(refused<cohort::data_error>([&] { decoded(cut(file, 30), "x", {.salvage = true}); }),
               {"the JPEG (", "expected an undamaged file, got "});
}

TEST(decode, refuses_invalid_settings) {
  file_bytes const file = png_of(picture(3, 2, 2));
  expect_parts(refused<cohort::setting_error>([&] { decoded(file, "x", {.channels = 4}); }),
               {"channels", "got 4"});
  expect_parts(refused<cohort::setting_error>([&] { decoded(file, "x", {.max_pixels = 0}); }),
               {"max_pixels"});
}

}  // namespace decode_test
