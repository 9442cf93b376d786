// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/json_string.hpp>
#include <cohort/io/detail/zip_writer.hpp>
#include <initializer_list>
#include <string>
#include <utility>

namespace cohort::detail {

/// A little-endian number of a record.
struct zip_number {
  std::uint64_t value;
  int width;
};

void append_numbers(std::string& to, std::initializer_list<zip_number> numbers) {
  for (auto const [value, width] : numbers)
    for (int i = 0; i < width; ++i) to += static_cast<char>(value >> (8 * i) & 255);
}

/// Appends the fields that the local header and the directory share. `extra`: bytes after the name; 0: the
/// sizes are 32-bit fields.
void append_shared_fields(std::string& to, zip_entry const& entry, std::uint64_t extra) {
  constexpr std::uint64_t first_day = 33;  // 1 January 1980
  std::uint64_t const utf8_name = invalid_utf8_at(entry.name) == entry.name.size() ? 0x800 : 0;
  auto const field = [&](std::uint64_t size) { return extra > 0 ? zip_format::full : size; };
  append_numbers(to, {{extra > 0 ? 45U : 20U, 2},  // version of the format
                      {utf8_name, 2},
                      {entry.method, 2},
                      {0, 2},
                      {first_day, 2},
                      {entry.crc, 4},
                      {field(entry.packed), 4},
                      {field(entry.size), 4},
                      {entry.name.size(), 2},
                      {extra, 2}});
}

void zip_writer::begin(zip_entry entry) {
  entry.local = position_;
  bool const is_wide = std::max(entry.size, entry.packed) >= zip_format::full;
  std::string header;
  append_numbers(header, {{zip_format::local_mark, 4}});
  append_shared_fields(header, entry, is_wide ? 20 : 0);
  header += entry.name;
  if (is_wide) append_numbers(header, {{1, 2}, {16, 2}, {entry.size, 8}, {entry.packed, 8}});
  file_.write(header);
  position_ += header.size() + entry.packed;
  entries_.push_back(std::move(entry));
}

void zip_writer::finish() {
  using namespace zip_format;
  constexpr std::uint64_t unix_system = 3 << 8, readable_file = std::uint64_t{0100644} << 16;
  std::string directory;
  for (zip_entry const& entry : entries_) {
    bool const is_wide = std::max({entry.size, entry.packed, entry.local}) >= full;
    append_numbers(directory, {{entry_mark, 4}, {unix_system | 45, 2}});
    append_shared_fields(directory, entry, is_wide ? 28 : 0);
    append_numbers(directory,
                   {{0, 2}, {0, 2}, {0, 2}, {readable_file, 4}, {is_wide ? full : entry.local, 4}});
    directory += entry.name;
    if (is_wide)
      append_numbers(directory, {{1, 2}, {24, 2}, {entry.size, 8}, {entry.packed, 8}, {entry.local, 8}});
  }
  std::uint64_t const count = entries_.size(), bytes = directory.size();
  if (count >= 0xffff || std::max(bytes, position_) >= full) {
    append_numbers(directory, {{wide_end_mark, 4},
                               {44, 8},
                               {unix_system | 45, 2},
                               {45, 2},
                               {0, 8},
                               {count, 8},
                               {count, 8},
                               {bytes, 8},
                               {position_, 8},
                               {wide_place_mark, 4},
                               {0, 4},
                               {position_ + bytes, 8},
                               {1, 4}});
  }
  std::uint64_t const shown = std::min<std::uint64_t>(count, 0xffff);
  append_numbers(directory, {{end_mark, 4},
                             {0, 4},
                             {shown, 2},
                             {shown, 2},
                             {std::min(bytes, full), 4},
                             {std::min(position_, full), 4},
                             {0, 2}});
  file_.write(directory);
}

}  // namespace cohort::detail
