// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/gzip_frame.hpp>
#include <cohort/io/detail/zip_directory.hpp>
#include <utility>

namespace cohort::detail {

namespace zip_format {

inline constexpr std::uint64_t end_bytes = 22, wide_end_bytes = 56, wide_place_bytes = 20, entry_bytes = 46,
                               local_bytes = 30, longest_comment = 0xffff;

}  // namespace zip_format

zip_directory::zip_directory(std::span<std::byte const> bytes, std::string kind, std::string where)
    : bytes_(bytes), kind_(std::move(kind)), where_(std::move(where)) {
  using namespace zip_format;
  std::uint64_t const end = find_end();
  std::uint64_t part = number(end + 4, 2), first_part = number(end + 6, 2), count_here = number(end + 8, 2),
                count = number(end + 10, 2), size = number(end + 12, 4), first = number(end + 16, 4),
                last = end;
  if (end >= wide_place_bytes && number(end - wide_place_bytes, 4) == wide_place_mark) {
    last = number(end - wide_place_bytes + 8, 8);
    if (last > end - wide_place_bytes || end - wide_place_bytes - last < wide_end_bytes
        || number(last, 4) != wide_end_mark)
      refuse("its central directory is damaged", end - wide_place_bytes, "the byte of a zip64 record",
             std::to_string(last));
    part = number(last + 16, 4), first_part = number(last + 20, 4);
    count_here = number(last + 24, 8), count = number(last + 32, 8);
    size = number(last + 40, 8), first = number(last + 48, 8);
  }
  if (part != 0 || first_part != 0 || count_here != count)
    refuse("it is a part of a split archive", last, "an archive in one file");
  if (first > last || size != last - first)
    refuse("its central directory is damaged", last, "a directory that ends here",
           std::to_string(size) + " bytes from byte " + std::to_string(first));
  std::uint64_t at = first;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (last - at < entry_bytes || number(at, 4) != entry_mark)
      refuse("its central directory is damaged", at,
             "entry " + std::to_string(i + 1) + " of " + std::to_string(count), "no entry");
    at = read_entry(at, last);
  }
  if (at != last)
    refuse("its central directory is damaged", at, "the end of the directory",
           std::to_string(last - at) + " more bytes");
  find_data(first);
}

void zip_directory::refuse(std::string_view what, std::uint64_t byte, std::string expected,
                           std::string got) const {
  throw data_error({.what = {"cannot read the ", kind_, ": ", what},
                    .where = {where_, ", byte ", byte},
                    .expected = std::move(expected),
                    .got = std::move(got)});
}

void zip_directory::refuse(zip_entry const& one, std::string_view what, std::string expected,
                           std::string got) const {
  refuse("the entry " + quote_for_error(one.name) + ' ' + std::string(what), one.local, std::move(expected),
         std::move(got));
}

/// Reads a little-endian number. Throws data_error if it extends beyond the end of the archive.
std::uint64_t zip_directory::number(std::uint64_t at, int width) const {
  std::uint64_t const bytes = bytes_.size();
  if (at > bytes || bytes - at < static_cast<std::uint64_t>(width))
    refuse("it is truncated or damaged", at, std::to_string(width) + " bytes", "the end of the file");
  std::uint64_t made = 0;
  for (int i = width; i-- > 0;)
    made =
        made << 8
        | std::to_integer<std::uint64_t>(bytes_[static_cast<std::size_t>(at) + static_cast<std::size_t>(i)]);
  return made;
}

/// Returns the position of the end record, whose comment is the last part of the file.
std::uint64_t zip_directory::find_end() const {
  using namespace zip_format;
  std::uint64_t const bytes = bytes_.size();
  for (std::uint64_t back = end_bytes; back <= bytes && back <= end_bytes + longest_comment; ++back)
    if (number(bytes - back, 4) == end_mark && number(bytes - back + 20, 2) == back - end_bytes)
      return bytes - back;
  refuse("it has no end record: it is truncated or not a zip archive", bytes, "an end record",
         "none; copy or write the file again");
}

std::uint64_t zip_directory::read_entry(std::uint64_t at, std::uint64_t end) {
  using namespace zip_format;
  std::uint64_t const name = number(at + 28, 2), extra = number(at + 30, 2), comment = number(at + 32, 2);
  std::uint64_t const bytes = entry_bytes + name + extra + comment;
  if (end - at < bytes)
    refuse("its central directory is damaged", at,
           "an entry of at most " + std::to_string(end - at) + " bytes", std::to_string(bytes));
  auto const* const text = reinterpret_cast<char const*>(bytes_.data()) + at + entry_bytes;
  zip_entry made{.name = std::string(text, static_cast<std::size_t>(name)),
                 .flags = static_cast<unsigned>(number(at + 8, 2)),
                 .method = static_cast<unsigned>(number(at + 10, 2)),
                 .crc = static_cast<std::uint32_t>(number(at + 16, 4)),
                 .packed = number(at + 20, 4),
                 .size = number(at + 24, 4),
                 .local = number(at + 42, 4)};
  std::uint64_t field = at + entry_bytes + name;
  for (std::uint64_t const last = field + extra; last - field >= 4;) {
    std::uint64_t const size = std::min(number(field + 2, 2), last - field - 4);
    if (number(field, 2) == 1) {  // 64-bit values of those fields that are `full`
      std::uint64_t value = field + 4;
      for (std::uint64_t* const one : {&made.size, &made.packed, &made.local})
        if (*one == full && field + 4 + size - value >= 8) {
          *one = number(value, 8);
          value += 8;
        }
    }
    field += 4 + size;
  }
  if ((made.flags & 1) != 0)
    refuse(made, "is encrypted", "no encryption", "a password; write the archive without it");
  if (!index_.try_emplace(made.name, entries_.size()).second)
    refuse(made, "exists twice", "different names", "equal names; write the archive again");
  entries_.push_back(std::move(made));
  return at + bytes;
}

/// Finds the data of all entries. `directory`: position of the central directory, which follows the data.
void zip_directory::find_data(std::uint64_t directory) {
  using namespace zip_format;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (zip_entry& one : entries_) {
    if (one.local > directory || directory - one.local < local_bytes || number(one.local, 4) != local_mark)
      refuse(one, "has no local header", "a header", "other bytes; copy or write the file again");
    one.data = one.local + local_bytes + number(one.local + 26, 2) + number(one.local + 28, 2);
    std::uint64_t const room = one.data > directory ? 0 : directory - one.data;
    if (one.packed > room || one.data > directory)
      refuse(one, "ends after the end of the archive", "at most " + std::to_string(room) + " bytes",
             std::to_string(one.packed));
    if (one.method == 0 && one.size != one.packed)
      refuse(one, "is stored with different compressed and uncompressed sizes", std::to_string(one.packed),
             std::to_string(one.size));
    if (one.method == 8 && one.size > one.packed * largest_deflate_ratio)
      refuse(one, "has a size that deflate cannot produce",
             "at most " + std::to_string(one.packed * largest_deflate_ratio) + " bytes from "
                 + std::to_string(one.packed),
             std::to_string(one.size));
    ranges.emplace_back(one.local, one.data + one.packed);
  }
  std::ranges::sort(ranges);
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second)
      refuse("two entries overlap", ranges[i].first, "separate entries",
             "common bytes; write the archive again");
}

zip_entry const* zip_directory::find(std::string_view name) const {
  auto const found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

void zip_directory::expect_crc(zip_entry const& one, std::uint32_t crc) const {
  if (crc != one.crc)
    refuse(one, "is damaged", "CRC-32 " + std::to_string(one.crc), "CRC-32 " + std::to_string(crc));
}

}  // namespace cohort::detail
