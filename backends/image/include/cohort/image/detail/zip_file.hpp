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

/// A zip archive opened for reading. Several threads may read concurrently.
///
/// Errors    file_error if the archive cannot be opened or read; data_error naming archive and entry for an
///           entry that is damaged (its CRC-32 is compared), encrypted, or larger than allowed, and for a
///           damaged archive.
class zip_file {
 public:
  explicit zip_file(std::string path);

  std::string const& path() const { return path_; }

  /// Returns the entries in the archive's order.
  std::vector<zip_entry> const& entries() const { return directory_.entries(); }

  /// Reads and decompresses the entry with this index.
  std::vector<std::byte> read(std::uint64_t index, std::size_t max_bytes) const;

 private:
  std::string path_;
  zip_directory directory_;  // the mapping of the directory's bytes has ended
  regular_file file_;
};

/// Writes the files folder/name, for all `names`, to an archive, atomically. Entries are stored, not
/// compressed.
///
/// After     the archive's bytes and its name are on disk. The bytes depend only on names and contents.
/// Errors    file_error naming the archive, or a file that cannot be read or that changes during the call;
///           then no archive is created.
void write_zip(std::string const& path, std::string const& folder, std::span<std::string const> names);

}  // namespace cohort::detail
