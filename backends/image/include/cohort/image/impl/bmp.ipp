// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cohort/image/detail/bmp.hpp>
#include <cohort/image/detail/planes_of.hpp>
#include <limits>

namespace cohort::detail {

enum bmp_compression : std::uint32_t {
  bmp_rgb = 0,
  bmp_rle8 = 1,
  bmp_rle4 = 2,
  bmp_masks = 3,
  bmp_alpha_masks = 6
};

bmp_file::bmp_file(std::span<std::byte const> file, std::string const& where) : file_(file, "BMP", where) {
  file_.seek(10);
  pixels_at_ = file_.u32();
  std::uint32_t const header = file_.u32();
  std::uint32_t colours = 0;
  std::int64_t width = 0, height = 0;
  if (header == 12) {
    width = file_.u16();
    height = file_.u16();
    file_.u16();  // planes
    bits_ = file_.u16();
  } else if (header == 40 || header == 52 || header == 56 || header == 64 || header == 108 || header == 124) {
    width = static_cast<std::int32_t>(file_.u32());
    height = static_cast<std::int32_t>(file_.u32());
    file_.u16();
    bits_ = file_.u16();
    compression_ = file_.u32();
    file_.bytes(12);  // size of the pixels, resolution
    colours = file_.u32();
    file_.u32();
  } else {
    file_.refuse("a header of 12, 40, 52, 56, 64, 108 or 124 bytes", std::to_string(header));
  }
  top_down_ = height < 0;
  height = std::abs(height);
  if (width < 1 || height < 1 || height > std::numeric_limits<int>::max())
    file_.refuse("extents of at least 1", std::to_string(height) + 'x' + std::to_string(width));
  width_ = static_cast<int>(width);
  height_ = static_cast<int>(height);
  bool const has_masks = compression_ == bmp_masks || compression_ == bmp_alpha_masks;
  if (header == 64 && compression_ > bmp_rle4) compression_ = ~compression_;  // OS/2's own kinds
  check_kind();
  std::size_t after_header = 14 + std::size_t{header};
  if (has_masks) {
    for (std::uint32_t& mask : masks_) mask = file_.u32();
    if (header == 40) after_header += compression_ == bmp_masks ? 12 : 16;
  }
  if (masks_ == std::array<std::uint32_t, 3>{})
    masks_ = bits_ == 16 ? std::array{0x7c00U, 0x3e0U, 0x1fU} : std::array{0xff0000U, 0xff00U, 0xffU};
  if (bits_ <= 8) read_colours(after_header, header == 12 ? 3 : 4, colours);
}

void bmp_file::check_kind() const {
  constexpr unsigned depths[] = {1, 4, 8, 16, 24, 32};
  if (std::ranges::find(depths, bits_) == std::end(depths))
    file_.refuse("1, 4, 8, 16, 24 or 32 bits per pixel", std::to_string(bits_));
  bool const is_supported =
      compression_ == bmp_rgb || (compression_ == bmp_rle8 && bits_ == 8 && !top_down_)
      || (compression_ == bmp_rle4 && bits_ == 4 && !top_down_)
      || ((compression_ == bmp_masks || compression_ == bmp_alpha_masks) && (bits_ == 16 || bits_ == 32));
  if (!is_supported)
    file_.refuse("no compression, RLE of 4 or 8 bits, or masks of 16 or 32 bits",
                 "compression " + std::to_string(compression_) + " of " + std::to_string(bits_) + " bits");
}

void bmp_file::read_colours(std::size_t position, std::size_t step, std::uint32_t count) {
  std::uint32_t const most = 1U << bits_;
  std::size_t const space = pixels_at_ > position ? (pixels_at_ - position) / step : 0;
  if (space == 0)
    file_.refuse("a colour table before the pixels", "pixels at byte " + std::to_string(pixels_at_));
  file_.seek(position);
  std::size_t const entries = std::min<std::size_t>(count == 0 || count > most ? most : count, space);
  colours_.store(file_.bytes(entries * step), step, {2, 1, 0});
}

std::size_t bmp_file::index_of(int x, int y) const {
  auto const shown = static_cast<std::size_t>(top_down_ ? y : height_ - 1 - y);
  return shown * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x);
}

std::span<std::byte const> bmp_file::row(int y) const {
  std::size_t const bits = static_cast<std::size_t>(width_) * bits_;
  std::size_t const step = (bits + 31) / 32 * 4;
  file_.seek(pixels_at_ + static_cast<std::size_t>(y) * step);
  return file_.bytes((bits + 7) / 8);
}

std::vector<std::uint8_t> bmp_file::stored_indices() const {
  row(height_ - 1);  // refuses a file that is too short before memory is allocated
  std::vector<std::uint8_t> indices(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_));
  unsigned const per_byte = 8 / bits_;
  for (int y = 0; y < height_; ++y) {
    std::span<std::byte const> const from = row(y);
    for (int x = 0; x < width_; ++x) {
      unsigned const i = static_cast<unsigned>(x);
      unsigned const byte = std::to_integer<unsigned>(from[i / per_byte]);
      unsigned const shift = 8 - bits_ * (i % per_byte + 1);
      indices[index_of(x, y)] = static_cast<std::uint8_t>((byte >> shift) & ((1U << bits_) - 1));
    }
  }
  return indices;
}

std::vector<std::uint8_t> bmp_file::run_length_indices() const {
  std::vector<std::uint8_t> indices(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_));
  file_.seek(pixels_at_);
  int x = 0, y = 0;
  auto const store = [&](unsigned index) {  // pixels after the end of a row are ignored
    if (x < width_) indices[index_of(x++, y)] = static_cast<std::uint8_t>(index);
  };
  auto const nibble = [](unsigned byte, unsigned i) { return i % 2 == 0 ? byte >> 4 : byte & 15; };
  while (y < height_) {
    unsigned const count = file_.u8(), value = file_.u8();
    if (count > 0) {
      for (unsigned i = 0; i < count; ++i) store(compression_ == bmp_rle4 ? nibble(value, i) : value);
    } else if (value == 0) {  // end of the row
      x = 0;
      ++y;
    } else if (value == 1) {  // end of the image
      break;
    } else if (value == 2) {  // to the right and up
      x = std::min(width_, x + file_.u8());
      y = std::min(height_, y + file_.u8());
    } else {
      std::size_t const size = compression_ == bmp_rle4 ? (value + 1) / 2 : value;
      std::span<std::byte const> const from = file_.bytes(size + size % 2);
      for (unsigned i = 0; i < value; ++i)
        store(compression_ == bmp_rle4 ? nibble(std::to_integer<unsigned>(from[i / 2]), i)
                                       : std::to_integer<unsigned>(from[i]));
    }
  }
  return indices;
}

image bmp_file::true_colours(int channels) const {
  row(height_ - 1);
  image to(channels, height_, width_);
  auto const scaled = [](std::uint32_t pixel, std::uint32_t mask) -> unsigned {
    if (mask == 0) return 0;
    int const shift = std::countr_zero(mask);
    return static_cast<unsigned>(std::uint64_t{(pixel & mask) >> shift} * 255 / (mask >> shift));
  };
  std::size_t const bytes = bits_ / 8;
  for (int y = 0; y < height_; ++y) {
    std::span<std::byte const> const from = row(y);
    for (int x = 0; x < width_; ++x) {
      std::uint32_t pixel = 0;
      for (std::size_t k = 0; k < bytes; ++k)
        pixel |= std::to_integer<std::uint32_t>(from[static_cast<std::size_t>(x) * bytes + k]) << (8 * k);
      unsigned const red = scaled(pixel, masks_[0]), green = scaled(pixel, masks_[1]),
                     blue = scaled(pixel, masks_[2]);
      std::size_t const i = index_of(x, y);
      if (channels == 1) {
        to.plane(0)[i] = luma(red, green, blue);
      } else {
        to.plane(0)[i] = static_cast<std::uint8_t>(red);
        to.plane(1)[i] = static_cast<std::uint8_t>(green);
        to.plane(2)[i] = static_cast<std::uint8_t>(blue);
      }
    }
  }
  return to;
}

image bmp_file::read(int channels) const {
  if (bits_ > 8) return true_colours(channels);
  bool const is_run_length = compression_ == bmp_rle8 || compression_ == bmp_rle4;
  return colours_.applied_to(is_run_length ? run_length_indices() : stored_indices(), channels, height_,
                             width_);
}

}  // namespace cohort::detail
