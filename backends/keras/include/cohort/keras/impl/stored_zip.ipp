// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file.hpp>
#include <cohort/keras/detail/stored_zip.hpp>
#include <span>
#include <utility>

namespace cohort::detail {

namespace zip_format {

inline constexpr std::uint32_t end_mark = 0x06054b50, wide_end_mark = 0x06064b50,
                               wide_place_mark = 0x07064b50, entry_mark = 0x02014b50,
                               header_mark = 0x04034b50;
inline constexpr std::uint64_t end_bytes = 22, wide_place_bytes = 20, entry_bytes = 46, header_bytes = 30;
inline constexpr std::uint64_t most_entries = 10'000;

/// CRC-32 of IEEE 802.3, as in zip archives.
inline std::uint32_t crc32(std::span<std::byte const> bytes) {
  static std::array<std::uint32_t, 256> const table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320U : 0U);
      made[i] = value;
    }
    return made;
  }();
  std::uint32_t crc = 0xffffffffU;
  for (std::byte const one : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<std::uint32_t>(one)) & 0xffU];
  return crc ^ 0xffffffffU;
}

}  // namespace zip_format

COHORT_KERAS_INLINE void stored_zip::refuse(std::string what, std::string expected, std::string got) const {
  throw data_error({.what = "cannot read the zip archive: " + what,
                    .where = path_,
                    .expected = std::move(expected),
                    .got = std::move(got)});
}

/// A little-endian number; refuses one behind the end.
COHORT_KERAS_INLINE std::uint64_t stored_zip::number(std::uint64_t at, int bytes) const {
  std::uint64_t const size = bytes_.size();
  if (at > size || size - at < static_cast<std::uint64_t>(bytes)) refuse("it is truncated or damaged");
  std::uint64_t made = 0;
  for (int i = bytes; i-- > 0;)
    made = (made << 8)
           | static_cast<std::uint64_t>(bytes_[static_cast<std::size_t>(at) + static_cast<std::size_t>(i)]);
  return made;
}

COHORT_KERAS_INLINE stored_zip::stored_zip(std::string path, std::size_t max_bytes)
    : path_(std::move(path)), bytes_(io::read_file(path_, max_bytes)) {
  using namespace zip_format;
  std::uint64_t const size = bytes_.size();
  // The end record is last, behind it a comment of at most 65535 bytes.
  std::uint64_t end = size;
  for (std::uint64_t back = end_bytes; back <= size && back <= end_bytes + 0xffff && end == size; ++back)
    if (number(size - back, 4) == end_mark && number(size - back + 20, 2) == back - end_bytes)
      end = size - back;
  if (end == size) refuse("it has no end record: it is truncated or no zip archive");
  std::uint64_t count = number(end + 10, 2), place = number(end + 16, 4);
  if (end >= wide_place_bytes && number(end - wide_place_bytes, 4) == wide_place_mark) {
    std::uint64_t const wide = number(end - wide_place_bytes + 8, 8);
    if (number(wide, 4) != wide_end_mark) refuse("it is damaged");
    count = number(wide + 32, 8);
    place = number(wide + 48, 8);
  }
  if (count > most_entries) refuse("it has too many entries", "at most 10000", std::to_string(count));
  for (std::uint64_t i = 0; i < count; ++i) read_entry(place);
}

COHORT_KERAS_INLINE void stored_zip::read_entry(std::uint64_t& at) {
  using namespace zip_format;
  if (number(at, 4) != entry_mark) refuse("its table of entries is damaged");
  entry made{.bytes = number(at + 24, 4),
             .packed_bytes = number(at + 20, 4),
             .header = number(at + 42, 4),
             .crc = static_cast<std::uint32_t>(number(at + 16, 4)),
             .method = static_cast<std::uint16_t>(number(at + 10, 2)),
             .flags = static_cast<std::uint16_t>(number(at + 8, 2))};
  std::uint64_t const name_bytes = number(at + 28, 2), extra_bytes = number(at + 30, 2),
                      comment_bytes = number(at + 32, 2);
  std::uint64_t const name = at + entry_bytes;
  for (std::uint64_t i = 0; i < name_bytes; ++i) made.name += static_cast<char>(number(name + i, 1));
  for (std::uint64_t extra = name + name_bytes, last = extra + extra_bytes; extra + 4 <= last;) {
    std::uint64_t const bytes = number(extra + 2, 2);
    if (number(extra, 2) == 1) {  // 64-bit sizes, only of the fields that are full
      std::uint64_t value = extra + 4;
      for (std::uint64_t* const field : {&made.bytes, &made.packed_bytes, &made.header})
        if (*field == 0xffffffffU && value + 8 <= extra + 4 + bytes) {
          *field = number(value, 8);
          value += 8;
        }
    }
    extra += 4 + bytes;
  }
  if (has(made.name)) refuse("it has the entry " + made.name + " twice");
  at = name + name_bytes + extra_bytes + comment_bytes;
  entries_.push_back(std::move(made));
}

COHORT_KERAS_INLINE bool stored_zip::has(std::string_view name) const {
  for (entry const& one : entries_)
    if (one.name == name) return true;
  return false;
}

COHORT_KERAS_INLINE std::vector<std::byte> stored_zip::read(std::string_view name) const {
  using namespace zip_format;
  for (entry const& one : entries_) {
    if (one.name != name) continue;
    if ((one.flags & 1) != 0) refuse("the entry " + one.name + " is encrypted");
    if (one.method != 0)
      refuse("the entry " + one.name + " is compressed", "stored, as Keras writes it",
             "method " + std::to_string(one.method));
    if (one.bytes != one.packed_bytes)
      refuse("the entry " + one.name + " has two sizes", std::to_string(one.packed_bytes),
             std::to_string(one.bytes));
    if (number(one.header, 4) != header_mark) refuse("the entry " + one.name + " has no header");
    std::uint64_t const first =
        one.header + header_bytes + number(one.header + 26, 2) + number(one.header + 28, 2);
    if (first > bytes_.size() || bytes_.size() - first < one.bytes)
      refuse("the entry " + one.name + " is larger than the archive", std::to_string(one.bytes) + " bytes");
    std::span<std::byte const> const content(bytes_.data() + first, static_cast<std::size_t>(one.bytes));
    if (crc32(content) != one.crc) refuse("the entry " + one.name + " is damaged: its CRC-32 differs");
    return {content.begin(), content.end()};
  }
  refuse("it has no entry " + std::string(name), "a file of Keras 3");
}

}  // namespace cohort::detail
