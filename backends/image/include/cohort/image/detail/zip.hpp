// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <zip.h>
#include <cohort/detail/build_check.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

/// Zip archives by libzip.
namespace cohort::detail {

struct zip_discarder {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using zip_handle = std::unique_ptr<zip_t, zip_discarder>;

zip_handle open_zip(std::string const& path, int flags);

/// An archive open for reading. A mutex serialises the calls of libzip.
///
/// Errors    file_error if it cannot be opened; data_error naming archive and entry if an entry is damaged
///           (libzip checks a CRC-32), encrypted, or larger than allowed.
class zip_reader {
 public:
  struct entry {
    std::string name;
    std::uint64_t bytes = 0;
  };

  explicit zip_reader(std::string path);

  std::string const& path() const { return path_; }

  /// Lists all entries in the archive's order.
  std::vector<entry> entries() const;

  /// Reads one entry, by its index in the archive.
  std::vector<std::byte> read(std::uint64_t which, std::size_t max_bytes) const;

 private:
  [[noreturn]] void refuse(std::uint64_t which, char const* reason) const;

  std::string path_;
  zip_handle archive_;
  mutable std::mutex mutex_;
};

/// Writes the files folder/name of all names as an archive, completely or not at all. Entries are stored, not
/// compressed.
///
/// After     the archive's bytes and its name are on disk. Its bytes depend only on names and contents.
/// Errors    file_error naming a file that cannot be read, or the archive; then no archive is created.
void write_zip(std::string const& path, std::string const& folder, std::span<std::string const> names);

}  // namespace cohort::detail
