// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

namespace zip_format {

inline constexpr std::uint32_t end_mark = 0x06054b50, wide_end_mark = 0x06064b50,
                               wide_place_mark = 0x07064b50, entry_mark = 0x02014b50, local_mark = 0x04034b50;
inline constexpr std::uint64_t full = 0xffffffff;  // means that the value is in a 64-bit field

}  // namespace zip_format

/// An entry of a zip archive, as described in the archive's central directory.
struct zip_entry {
  std::string name{};
  unsigned flags = 0;
  unsigned method = 0;  // 0: stored, 8: deflate
  std::uint32_t crc = 0;
  std::uint64_t packed = 0;  // bytes in the archive
  std::uint64_t size = 0;    // bytes when decompressed
  std::uint64_t local = 0;   // position of the local header
  std::uint64_t data = 0;    // position of the data
};

/// The central directory of a zip archive in memory. 64-bit fields (zip64) are supported.
///
/// Before    the bytes may be untrusted. The bytes must be valid in the constructor and for packed(). The
///           caller must check the CRC-32 of each entry that the caller reads.
/// After     no entry is encrypted. All names differ. The data of all entries are inside the archive and do
///           not overlap. A stored entry has equal sizes (`packed` and `size`). A deflated entry claims no
///           more bytes than deflate can produce.
/// Errors    data_error: "cannot read the <kind>: …" with `where` and the position of the error.
/// Source    APPNOTE.TXT 6.3.10 of PKWARE.
class zip_directory {
 public:
  zip_directory(std::span<std::byte const> bytes, std::string kind, std::string where);

  std::vector<zip_entry> const& entries() const { return entries_; }
  /// The entry of this name; null if there is none.
  zip_entry const* find(std::string_view name) const;
  /// The bytes of an entry in the archive, compressed or not.
  std::span<std::byte const> packed(zip_entry const& one) const {
    return bytes_.subspan(static_cast<std::size_t>(one.data), static_cast<std::size_t>(one.packed));
  }
  /// Throws data_error unless `crc` is the CRC-32 that the directory lists for the entry.
  void expect_crc(zip_entry const& one, std::uint32_t crc) const;

  /// Throws data_error: "cannot read the <kind>: the entry "name" <what>".
  [[noreturn]] void refuse(zip_entry const& one, std::string_view what, std::string expected = {},
                           std::string got = {}) const;
  [[noreturn]] void refuse(std::string_view what, std::uint64_t byte, std::string expected = {},
                           std::string got = {}) const;

 private:
  std::uint64_t number(std::uint64_t at, int width) const;
  std::uint64_t find_end() const;
  /// Reads the entry at a position. Returns the position after it.
  std::uint64_t read_entry(std::uint64_t at, std::uint64_t end);
  void find_data(std::uint64_t directory);

  std::span<std::byte const> bytes_;
  std::string kind_, where_;
  std::vector<zip_entry> entries_{};
  std::map<std::string, std::size_t, std::less<>> index_{};
};

}  // namespace cohort::detail
