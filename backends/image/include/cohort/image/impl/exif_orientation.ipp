// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/image/detail/exif_orientation.hpp>
#include <cohort/image/detail/file_format.hpp>
#include <cohort/io/crc32.hpp>
#include <cstdint>
#include <string_view>
#include <utility>

namespace cohort::detail {

/// Reads numbers and texts from untrusted bytes. Bytes past the end are 0.
struct exif_bytes {
  std::span<std::byte const> bytes;
  bool little_endian = false;

  std::uint64_t number(std::uint64_t at, int width) const {
    std::uint64_t value = 0;
    for (int k = 0; k < width; ++k) {
      std::uint64_t const place = at + static_cast<std::uint64_t>(little_endian ? width - 1 - k : k);
      value = 256 * value + (place < bytes.size() ? std::to_integer<std::uint64_t>(bytes[place]) : 0);
    }
    return value;
  }
  bool has(std::uint64_t at, std::string_view text) const {
    return at + text.size() <= bytes.size()
           && std::equal(text.begin(), text.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
                         [](char wanted, std::byte byte) { return static_cast<std::byte>(wanted) == byte; });
  }
  /// Returns the bytes from `at` to `end`, as far as they exist.
  std::span<std::byte const> part(std::uint64_t at, std::uint64_t end) const {
    std::uint64_t const last = std::min<std::uint64_t>(end, bytes.size()), first = std::min(at, last);
    return bytes.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
  }
};

/// Returns the orientation in EXIF data, which are a TIFF file: the tag 0x0112 of its first directory, a
/// number of type SHORT or LONG. In a BigTIFF (version 43), offsets and counts have 8 bytes.
int orientation_in(std::span<std::byte const> tiff) {
  exif_bytes const from{tiff, exif_bytes{tiff}.has(0, "II")};
  std::uint64_t const version = from.number(2, 2);
  if ((!from.little_endian && !from.has(0, "MM")) || (version != 42 && version != 43)) return 1;
  bool const is_big = version == 43;
  std::uint64_t const directory = is_big ? from.number(8, 8) : from.number(4, 4);
  if (directory > tiff.size()) return 1;
  std::uint64_t const entries = from.number(directory, is_big ? 8 : 2), size = is_big ? 20 : 12;
  std::uint64_t entry = directory + (is_big ? 8 : 2);
  for (std::uint64_t k = 0; k < entries && entry + size <= tiff.size(); ++k, entry += size) {
    if (from.number(entry, 2) != 0x0112) continue;
    std::uint64_t const type = from.number(entry + 2, 2), count = from.number(entry + 4, is_big ? 8 : 4);
    std::uint64_t const place = entry + (is_big ? 12 : 8);
    std::uint64_t const value = type == 3 ? from.number(place, 2) : type == 4 ? from.number(place, 4) : 0;
    return count == 1 && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

int orientation_of_jpeg(exif_bytes const& file) {
  using namespace std::string_view_literals;
  for (std::uint64_t at = 2; at + 4 <= file.bytes.size();) {
    std::uint64_t const mark = file.number(at + 1, 1);
    if (file.number(at, 1) != 0xff || mark == 0xff || mark == 0) {  // bytes between segments
      ++at;
      continue;
    }
    if (mark == 0xda || mark == 0xd9) break;  // a scan or the end
    std::uint64_t const end = at + 2 + file.number(at + 2, 2);
    constexpr std::string_view begin = "Exif\0\0"sv;
    if (mark == 0xe1 && file.has(at + 4, begin)) return orientation_in(file.part(at + 4 + begin.size(), end));
    at = end;
  }
  return 1;
}

int orientation_of_png(exif_bytes const& file) {
  for (std::uint64_t at = 8, length = 0; at + 12 <= file.bytes.size(); at += 12 + length) {
    length = file.number(at, 4);
    std::uint64_t const end = at + 8 + length;
    if (file.has(at + 4, "IEND") || end + 4 > file.bytes.size()) break;
    if (!file.has(at + 4, "eXIf")) continue;
    bool const is_intact = io::crc32(file.part(at + 4, end)) == file.number(end, 4);
    return is_intact ? orientation_in(file.part(at + 8, end)) : 1;
  }
  return 1;
}

int orientation_of_webp(std::span<std::byte const> file) {
  exif_bytes const from{file, true};
  for (std::uint64_t chunk = 12; chunk + 8 <= file.size();) {
    std::uint64_t const length = from.number(chunk + 4, 4), begin = chunk + 8;
    if (!from.has(chunk, "EXIF")) {
      chunk = begin + length + length % 2;
      continue;
    }
    constexpr std::uint64_t prefix = 6;  // "Exif" and two zeros, which some programs write as in a JPEG
    return orientation_in(from.part(begin + (from.has(begin, "Exif") ? prefix : 0), begin + length));
  }
  return 1;
}

int exif_orientation(std::span<std::byte const> file) {
  switch (format_of({reinterpret_cast<char const*>(file.data()), file.size()})) {
    case file_format::png:
      return orientation_of_png({file});
    case file_format::tiff:
      return orientation_in(file);
    case file_format::webp:
      return orientation_of_webp(file);
    case file_format::bmp:
    case file_format::gif:
      return 1;
    default:
      return orientation_of_jpeg({file});
  }
}

image oriented(image from, int orientation) {
  if (orientation == 1) return from;
  bool const exchanges = exchanges_extents(orientation);
  bool const has_last_row_first =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  bool const has_last_column_first = orientation == 2 || orientation == 3 || orientation >= 7;
  std::ptrdiff_t const height = from.height(), width = from.width();
  // Steps in `from` between neighbours in a row and in a column of the result.
  std::ptrdiff_t across = has_last_column_first ? -1 : 1, down = has_last_row_first ? -width : width;
  std::ptrdiff_t const first =
      (has_last_row_first ? (height - 1) * width : 0) + (has_last_column_first ? width - 1 : 0);
  if (exchanges) std::swap(across, down);
  image turned(from.channels(), static_cast<int>(exchanges ? width : height),
               static_cast<int>(exchanges ? height : width));
  std::uint8_t* to = turned.pixels.data();
  for (int channel = 0; channel < turned.channels(); ++channel) {
    std::uint8_t const* const plane = from.plane(channel) + first;
    for (std::ptrdiff_t y = 0; y < turned.height(); ++y)
      for (std::ptrdiff_t x = 0; x < turned.width(); ++x) *to++ = plane[y * down + x * across];
  }
  return turned;
}

}  // namespace cohort::detail
