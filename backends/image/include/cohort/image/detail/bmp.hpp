// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/image/detail/image_bytes.hpp>
#include <cohort/image/image.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// A BMP file in memory whose header has been read.
///
/// Source    Microsoft, Bitmap Storage (BITMAPCOREHEADER to BITMAPV5HEADER); the scaling of 5 and 6 bits to
///           8 as in Pillow: v·255 / (2^bits − 1), rounded down.
class bmp_file {
 public:
  bmp_file(std::span<std::byte const> file, std::string const& where);

  shape size() const { return {3, height_, width_}; }

  image read(int channels) const;

 private:
  void check_kind() const;
  void read_colours(std::size_t position, std::size_t step, std::uint32_t count);

  std::size_t index_of(int x, int y) const;  // of a pixel; y in the order of the file's rows
  std::vector<std::uint8_t> stored_indices() const;
  std::vector<std::uint8_t> run_length_indices() const;
  image true_colours(int channels) const;
  std::span<std::byte const> row(int y) const;

  mutable image_bytes file_;
  std::size_t pixels_at_ = 0;
  colour_table colours_;
  std::array<std::uint32_t, 3> masks_{};  // bits of red, green and blue in a pixel of 16 or 32 bits
  std::uint32_t compression_ = 0;
  unsigned bits_ = 0;  // of a pixel
  int width_ = 0, height_ = 0;
  bool top_down_ = false;
};

}  // namespace cohort::detail
