// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Entries of a zip archive that are stored, not compressed, as Keras writes .keras files. So an entry is
/// never larger than the archive, and libzip, which another component uses, is not needed.
///
/// Errors    file_error if the file cannot be read; data_error if the archive is damaged or truncated, has
///           an entry twice, or if an entry is compressed, encrypted, or has another CRC-32.
/// Source    APPNOTE.TXT 6.3.10 of PKWARE; with the 64-bit sizes that Python's zipfile writes.
class stored_zip {
 public:
  stored_zip(std::string path, std::size_t max_bytes);

  std::string const& path() const { return path_; }
  bool has(std::string_view name) const;
  /// Reads one entry.  Errors: data_error if it does not exist.
  std::vector<std::byte> read(std::string_view name) const;

 private:
  struct entry {
    std::string name{};
    std::uint64_t bytes = 0;
    std::uint64_t packed_bytes = 0;
    std::uint64_t header = 0;  // offset of its local header
    std::uint32_t crc = 0;
    std::uint16_t method = 0;
    std::uint16_t flags = 0;
  };

  std::uint64_t number(std::uint64_t at, int bytes) const;
  void read_entry(std::uint64_t& at);
  [[noreturn]] void refuse(std::string what, std::string expected = {}, std::string got = {}) const;

  std::string path_;
  std::vector<std::byte> bytes_;
  std::vector<entry> entries_{};
};

}  // namespace cohort::detail

#ifndef COHORT_KERAS_COMPILED
#include <cohort/keras/impl/stored_zip.ipp>
#endif
