// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cohort/io/detail/zip_directory.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// A zip archive whose entries are stored, not compressed, as in .keras files. An entry is never larger than
/// the archive, and no compression library is needed.
///
/// Errors    file_error if the file cannot be read or is too large; as zip_directory.
class stored_zip {
 public:
  stored_zip(std::string const& path, std::size_t max_bytes);
  /// Reads an archive in memory. `name`: for errors.
  stored_zip(std::vector<std::byte> bytes, std::string const& name);

  stored_zip(stored_zip const&) = delete;
  stored_zip& operator=(stored_zip const&) = delete;

  bool has(std::string_view name) const { return directory_.find(name) != nullptr; }
  /// Returns the bytes of one entry. They are valid as long as this object.
  ///
  /// Errors    data_error if the entry does not exist or is compressed, or if its bytes do not match the
  ///           archive's CRC-32.
  std::span<std::byte const> read(std::string_view name) const;

 private:
  std::vector<std::byte> bytes_;
  std::string name_;
  zip_directory directory_;
};

}  // namespace cohort::detail
