// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <png.h>
#include <turbojpeg.h>

#include <cohort/image/image.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

using file_bytes = std::vector<std::byte>;

/// An image without repetition that is smooth enough for a JPEG.
inline cohort::image picture(int channels, int height, int width, int variant = 0) {
  cohort::image made(channels, height, width);
  for (int c = 0; c < channels; ++c)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        made.plane(c)[y * width + x] =
            static_cast<std::uint8_t>(20 + (3 * x + (2 + c) * y + 40 * c + 17 * variant) % 200);
  return made;
}

/// Interleaved pixels, as in files.
inline std::vector<std::uint8_t> interleaved(cohort::image const& from) {
  std::vector<std::uint8_t> pixels;
  for (std::size_t i = 0; i < from.plane_bytes(); ++i)
    for (int c = 0; c < from.channels(); ++c) pixels.push_back(from.plane(c)[i]);
  return pixels;
}

/// `pixel_format` and `subsampling` are TurboJPEG's.
inline file_bytes jpeg_bytes(std::vector<std::uint8_t> const& pixels, int height, int width, int pixel_format,
                             int subsampling, int quality = 90, int flags = 0) {
  tjhandle const codec = tjInitCompress();
  unsigned char* made = nullptr;
  unsigned long size = 0;
  EXPECT_EQ(tjCompress2(codec, pixels.data(), width, 0, height, pixel_format, &made, &size, subsampling,
                        quality, flags),
            0)
      << tjGetErrorStr2(codec);
  auto const* const first = reinterpret_cast<std::byte const*>(made);
  file_bytes bytes(first, first + size);
  tjFree(made);
  tjDestroy(codec);
  return bytes;
}

inline file_bytes jpeg_of(cohort::image const& from, int quality = 90, int flags = 0) {
  bool const grey = from.channels() == 1;
  return jpeg_bytes(interleaved(from), from.height(), from.width(), grey ? TJPF_GRAY : TJPF_RGB,
                    grey ? TJSAMP_GRAY : TJSAMP_444, quality, flags);
}

/// `format` is libpng's; 16-bit pixels are given as their bytes.
inline file_bytes png_bytes(void const* pixels, int height, int width, png_uint_32 format,
                            std::vector<std::uint8_t> const& palette = {}) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(width);
  png.height = static_cast<png_uint_32>(height);
  png.format = format;
  png.colormap_entries = static_cast<png_uint_32>(palette.size() / 3);
  void const* const colours = palette.empty() ? nullptr : palette.data();
  png_alloc_size_t size = 0;
  EXPECT_NE(png_image_write_to_memory(&png, nullptr, &size, 0, pixels, 0, colours), 0) << png.message;
  file_bytes bytes(size);
  EXPECT_NE(png_image_write_to_memory(&png, bytes.data(), &size, 0, pixels, 0, colours), 0) << png.message;
  bytes.resize(size);
  return bytes;
}

inline file_bytes png_of(cohort::image const& from) {
  return png_bytes(interleaved(from).data(), from.height(), from.width(),
                   from.channels() == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB);
}

/// The bytes of a number, most significant first unless `little`.
inline file_bytes number_bytes(std::uint64_t number, int width, bool little = false) {
  file_bytes bytes;
  for (int k = 0; k < width; ++k)
    bytes.push_back(static_cast<std::byte>(number >> (8 * (little ? k : width - 1 - k))));
  return bytes;
}

inline file_bytes text_bytes(std::string_view text) {
  auto const* const first = reinterpret_cast<std::byte const*>(text.data());
  return {first, first + text.size()};
}

inline file_bytes joined(std::initializer_list<file_bytes> parts) {
  file_bytes all;
  for (file_bytes const& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// EXIF data: a TIFF file whose directory has a text (the maker of the camera) and the orientation.
inline file_bytes exif_of(int orientation, bool little, int type = 3, int count = 1) {
  auto const number = [&](std::uint64_t value, int width) { return number_bytes(value, width, little); };
  std::uint64_t const value = static_cast<std::uint64_t>(orientation);
  return joined({text_bytes(little ? "II" : "MM"), number(42, 2), number(8, 4), number(2, 2),
                 number(0x010f, 2), number(2, 2), number(4, 4), text_bytes(std::string_view("abc\0", 4)),
                 number(0x0112, 2), number(static_cast<std::uint64_t>(type), 2),
                 number(static_cast<std::uint64_t>(count), 4),
                 type == 3 ? joined({number(value, 2), number(0, 2)}) : number(value, 4), number(0, 4)});
}

/// A segment APP1 of a JPEG with EXIF data.
inline file_bytes exif_segment(file_bytes const& exif) {
  return joined({number_bytes(0xffe1, 2), number_bytes(8 + exif.size(), 2),
                 text_bytes(std::string_view("Exif\0\0", 6)), exif});
}

inline file_bytes inserted(file_bytes file, std::size_t place, file_bytes const& part) {
  file.insert(file.begin() + static_cast<std::ptrdiff_t>(place), part.begin(), part.end());
  return file;
}

/// A JPEG with EXIF data after its start mark.
inline file_bytes with_exif(file_bytes const& jpeg, file_bytes const& exif) {
  return inserted(jpeg, 2, exif_segment(exif));
}

/// Writes a file, and creates its folders.
inline void put(std::string const& path, file_bytes const& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<char const*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(file.good()) << path;
}
