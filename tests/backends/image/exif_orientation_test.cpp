// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/image/decode.hpp>
#include <cohort/image/detail/exif_orientation.hpp>
#include <cohort/io/crc32.hpp>

#include "../../data/refused.hpp"
#include "image_files.hpp"

namespace exif_orientation_test {

using cohort::decoded;
using cohort::image;
using cohort::detail::exif_orientation;

/// The chunk eXIf of a PNG.
file_bytes exif_chunk(file_bytes const& exif) {
  file_bytes const checked = joined({text_bytes("eXIf"), exif});
  return joined({number_bytes(exif.size(), 4), checked, number_bytes(cohort::io::crc32(checked), 4)});
}

constexpr std::size_t after_header = 8 + 25;  // of a PNG: the signature and IHDR

file_bytes png_with(file_bytes const& chunk) {
  return inserted(png_of(picture(3, 2, 3)), after_header, chunk);
}

image image_of(int height, int width, std::vector<std::uint8_t> pixels) {
  image made(1, height, width);
  made.pixels = std::move(pixels);
  return made;
}

TEST(exif_orientation, rotates_and_mirrors_in_all_8_ways) {
  image const stored = image_of(2, 3,
                                {1, 2, 3,  //
                                 4, 5, 6});
  // As PIL.ImageOps.exif_transpose.
  image const shown[] = {stored,
                         image_of(2, 3, {3, 2, 1, 6, 5, 4}),
                         image_of(2, 3, {6, 5, 4, 3, 2, 1}),
                         image_of(2, 3, {4, 5, 6, 1, 2, 3}),
                         image_of(3, 2, {1, 4, 2, 5, 3, 6}),
                         image_of(3, 2, {4, 1, 5, 2, 6, 3}),
                         image_of(3, 2, {6, 3, 5, 2, 4, 1}),
                         image_of(3, 2, {3, 6, 2, 5, 1, 4})};
  for (int orientation = 1; orientation <= 8; ++orientation)
    for (bool const little : {false, true}) {
      file_bytes const file =
          inserted(png_of(stored), after_header, exif_chunk(exif_of(orientation, little)));
      image const& expected = shown[orientation - 1];
      EXPECT_EQ(decoded(file, "x", {.channels = 1, .apply_exif_orientation = true}), expected) << orientation;
      EXPECT_EQ(decoded(file, "x", {.channels = 1}), stored);
      EXPECT_EQ(cohort::image_size(file, "x", true), expected.dims);
      EXPECT_EQ(cohort::image_size(file, "x"), stored.dims);
    }
}

TEST(exif_orientation, is_read_from_jpegs_with_either_byte_order) {
  for (int const channels : {1, 3})
    for (int orientation = 1; orientation <= 8; ++orientation)
      for (bool const little : {false, true})
        for (int const type : {3, 4}) {  // SHORT, LONG
          file_bytes const plain = jpeg_of(picture(channels, 16, 24)),
                           file = with_exif(plain, exif_of(orientation, little, type));
          EXPECT_EQ(exif_orientation(file), orientation);
          image const made = decoded(file, "x", {.channels = channels, .apply_exif_orientation = true});
          EXPECT_EQ(made, cohort::detail::oriented(decoded(plain, "x", {.channels = channels}), orientation));
          EXPECT_EQ(cohort::image_size(file, "x", true), made.dims);
          EXPECT_EQ(made.height(), orientation < 5 ? 16 : 24);
        }
}

TEST(exif_orientation, is_that_of_the_first_exif_data) {
  file_bytes const plain = jpeg_of(picture(3, 8, 8)), xmp = text_bytes("http://ns.adobe.com/xap/1.0/");
  EXPECT_EQ(exif_orientation(plain), 1);
  EXPECT_EQ(exif_orientation({}), 1);
  // Behind another segment APP1, and behind bytes between segments.
  file_bytes const other = joined({number_bytes(0xffe1, 2), number_bytes(2 + xmp.size(), 2), xmp});
  EXPECT_EQ(exif_orientation(inserted(with_exif(plain, exif_of(6, true)), 2, other)), 6);
  EXPECT_EQ(exif_orientation(inserted(with_exif(plain, exif_of(6, true)), 2, text_bytes("abc"))), 6);
  EXPECT_EQ(exif_orientation(with_exif(with_exif(plain, exif_of(8, true)), exif_of(3, false))), 3);
  // Behind the pixels.
  EXPECT_EQ(exif_orientation(inserted(plain, plain.size() - 2, exif_segment(exif_of(6, true)))), 1);
  file_bytes const png = png_of(picture(3, 2, 3));
  EXPECT_EQ(exif_orientation(inserted(png, png.size() - 12, exif_chunk(exif_of(5, false)))),
            5);  // before IEND
  EXPECT_EQ(exif_orientation(inserted(png, png.size(), exif_chunk(exif_of(5, false)))), 1);
}

TEST(exif_orientation, is_1_if_the_data_are_damaged) {
  file_bytes const plain = jpeg_of(picture(3, 8, 8));
  auto const of_jpeg = [&](file_bytes const& exif) { return exif_orientation(with_exif(plain, exif)); };
  for (int const outside : {0, 9, 256, 65535}) EXPECT_EQ(of_jpeg(exif_of(outside, true)), 1) << outside;
  EXPECT_EQ(of_jpeg(exif_of(6, false, 2)), 1);    // another type
  EXPECT_EQ(of_jpeg(exif_of(6, true, 3, 2)), 1);  // two numbers
  EXPECT_EQ(of_jpeg(exif_of(65536 + 6, true, 4)), 1);
  auto const changed = [&](std::size_t place, std::uint8_t value) {
    file_bytes exif = exif_of(6, true);
    exif[place] = static_cast<std::byte>(value);
    return of_jpeg(exif);
  };
  EXPECT_EQ(changed(0, 'X'), 1);    // no byte order
  EXPECT_EQ(changed(2, 43), 1);     // no TIFF file
  EXPECT_EQ(changed(7, 0xff), 1);   // the directory begins outside
  EXPECT_EQ(changed(8, 1), 1);      // only the first entry is in the directory
  EXPECT_EQ(changed(9, 0xff), 6);   // more entries than bytes
  EXPECT_EQ(changed(22, 0x13), 1);  // another tag
  // The segment ends before the orientation.
  file_bytes file = with_exif(plain, exif_of(6, true));
  file[5] = std::byte{8 + 30};
  EXPECT_EQ(exif_orientation(file), 1);

  file_bytes const chunk = exif_chunk(exif_of(6, true));
  EXPECT_EQ(exif_orientation(png_with(chunk)), 6);
  for (std::size_t n = 8; n < chunk.size(); ++n) {  // the checksum finds each changed byte
    file_bytes damaged = chunk;
    damaged[n] ^= std::byte{1};
    EXPECT_EQ(exif_orientation(png_with(damaged)), 1) << n;
  }
  file_bytes longer = chunk;
  longer[0] = std::byte{0xff};
  EXPECT_EQ(exif_orientation(png_with(longer)), 1);
}

TEST(exif_orientation, never_reads_outside_the_file) {
  file_bytes const jpeg = with_exif(jpeg_of(picture(3, 8, 8)), exif_of(6, true)),
                   png = png_with(exif_chunk(exif_of(6, false)));
  for (file_bytes const& whole : {jpeg, png}) {
    EXPECT_EQ(exif_orientation(whole), 6);
    std::size_t const most = std::min<std::size_t>(whole.size(), 120);
    for (std::size_t n = 0; n < most; ++n) {
      // Memory of exactly this size, so that the address sanitizer detects reads past the end.
      file_bytes const cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
      int const found = exif_orientation(cut);
      EXPECT_TRUE(found == 1 || found == 6) << n;
      for (int const byte : {0x00, 0x7f, 0xff}) {
        file_bytes changed = whole;
        changed[n] = static_cast<std::byte>(byte);
        int const orientation = exif_orientation(changed);
        EXPECT_TRUE(orientation >= 1 && orientation <= 8) << n;
      }
    }
  }
}

}  // namespace exif_orientation_test
