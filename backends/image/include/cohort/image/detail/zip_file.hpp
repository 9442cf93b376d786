// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/detail/zip_directory.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/zlib/detail/implementation.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// A zip archive open for reading. Several threads may read.
///
/// Errors    file_error if it cannot be opened or read; data_error naming archive and entry if one of them is
///           damaged (a CRC-32 is compared), encrypted, or larger than allowed.
class zip_file {
 public:
  explicit zip_file(std::string path);

  std::string const& path() const { return path_; }

  /// The entries in the archive's order.
  std::vector<zip_entry> const& entries() const { return directory_.entries(); }

  /// Reads one entry, by its index in the archive.
  std::vector<std::byte> read(std::uint64_t index, std::size_t max_bytes) const;

 private:
  std::string path_;
  zip_directory directory_;  // its bytes are no longer mapped
  regular_file file_;
};

/// Writes the files folder/name of all names as an archive, completely or not at all. Entries are stored, not
/// compressed.
///
/// After     the archive's bytes and its name are on disk. Its bytes depend only on names and contents.
/// Errors    file_error naming a file that cannot be read or changes meanwhile, or the archive; then no
///           archive is created.
void write_zip(std::string const& path, std::string const& folder, std::span<std::string const> names);

}  // namespace cohort::detail
