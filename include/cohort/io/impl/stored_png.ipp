// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/io/crc32.hpp>
#include <cohort/io/detail/stored_png.hpp>
#include <cohort/io/detail/zip_directory.hpp>
#include <cstddef>
#include <string_view>

namespace cohort::detail {

void append_big_endian(std::string& to, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(number >> shift & 0xff);
}

/// Appends a chunk: length, type, content, and the CRC-32 of type and content.
void append_png_chunk(std::string& to, std::string_view type, std::string_view content) {
  append_big_endian(to, static_cast<std::uint32_t>(content.size()));
  std::size_t const begin = to.size();
  to += type;
  to += content;
  append_big_endian(to, io::crc32(std::as_bytes(std::span(to).subspan(begin))));
}

std::string stored_png(int height, int width, int channels, std::span<std::uint8_t const> pixels) {
  auto const row = static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
  std::string rows;  // each after a byte for the filter, 0: none
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    rows += '\0';
    rows.append(reinterpret_cast<char const*>(pixels.data()) + y * row, row);
  }
  std::string stream("\x78\x01", 2);
  constexpr std::size_t longest = 65535;
  for (std::size_t at = 0; at < rows.size(); at += longest) {
    std::size_t const bytes = std::min(longest, rows.size() - at);
    stream += at + bytes == rows.size() ? '\1' : '\0';  // the last block
    for (std::size_t const number : {bytes, ~bytes})
      stream.append({static_cast<char>(number & 0xff), static_cast<char>(number >> 8 & 0xff)});
    stream.append(rows, at, bytes);
  }
  std::uint32_t a = 1, b = 0;  // Adler-32
  for (char const one : rows) {
    a = (a + static_cast<unsigned char>(one)) % 65521;
    b = (b + a) % 65521;
  }
  append_big_endian(stream, b << 16 | a);
  std::string head;
  append_big_endian(head, static_cast<std::uint32_t>(width));
  append_big_endian(head, static_cast<std::uint32_t>(height));
  head.append({8, static_cast<char>(channels == 3 ? 2 : 0), 0, 0, 0});
  std::string file("\x89PNG\r\n\x1a\n");
  append_png_chunk(file, "IHDR", head);
  append_png_chunk(file, "IDAT", stream);
  append_png_chunk(file, "IEND", {});
  return file;
}

}  // namespace cohort::detail
