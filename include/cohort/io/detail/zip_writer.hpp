// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/detail/zip_directory.hpp>
#include <cohort/io/file_writer.hpp>
#include <cstdint>
#include <vector>

namespace cohort::detail {

/// Writes a zip archive to a file: `begin` and the data of each entry, then `finish`.
///
/// Errors    file_error.
/// Exact     the bytes depend only on entries and data: entries are dated 1 January 1980 and readable by all.
/// Source    APPNOTE.TXT 6.3.10 of PKWARE, with 64-bit fields where needed.
class zip_writer {
 public:
  explicit zip_writer(io::file_writer& file) : file_(file) {}

  /// Begins an entry. The caller then writes entry.packed bytes to the file.
  ///
  /// Before    name (at most 65,535 bytes), method, crc, packed and size are set.
  void begin(zip_entry entry);
  /// Writes the directory.
  void finish();

 private:
  io::file_writer& file_;
  std::vector<zip_entry> entries_{};
  std::uint64_t position_ = 0;  // end of the last entry
};

}  // namespace cohort::detail
