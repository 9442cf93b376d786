// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/image/image.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// Reads the little-endian numbers of an untrusted file in order.
///
/// Errors    data_error naming `where` and the format if the file ends before the bytes that are requested.
class image_bytes {
 public:
  image_bytes(std::span<std::byte const> file, char const* format, std::string const& where)
      : file_(file), format_(format), where_(where) {}

  std::size_t position() const { return position_; }
  void seek(std::size_t position) { position_ = position; }

  std::span<std::byte const> bytes(std::size_t count);
  std::uint8_t u8() { return std::to_integer<std::uint8_t>(bytes(1)[0]); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() { return number(4); }

  [[noreturn]] void refuse(char const* expected, std::string const& got) const;

 private:
  std::uint32_t number(std::size_t width);

  std::span<std::byte const> file_;
  char const* format_;
  std::string const& where_;
  std::size_t position_ = 0;
};

/// Red, green and blue of up to 256 colours. Entries that a file does not have are grey: entry i is i, as in
/// Pillow.
class colour_table {
 public:
  colour_table();

  /// Stores the colours of a file, `step` bytes apart. `order`: the places of red, green and blue.
  void store(std::span<std::byte const> entries, std::size_t step, std::array<std::size_t, 3> order);

  /// Returns the image of these indices, which are height × width.
  image applied_to(std::vector<std::uint8_t> const& indices, int channels, int height, int width) const;

 private:
  std::array<std::array<std::uint8_t, 3>, 256> colours_;
};

}  // namespace cohort::detail
