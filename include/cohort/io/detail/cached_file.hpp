// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace cohort::detail {

/// A cached file, whose content can be computed again. The file consists of a header, the key and the
/// content. The file's name is the hash of the key. Reading compares the whole key, so a hash collision only
/// causes a cache miss.
///
/// Shapes    `format`: first words of the header, with a format version: "cohort kernels 1". `extension`:
///           extension of the cached file's name. `key`: describes everything that the content depends on.
///           `max_bytes`: a larger file is neither written nor read.
/// Errors    none: if a file is damaged or a folder is not accessible, the caller computes the content again.
class cached_file {
 public:
  cached_file(std::string folder, std::string format, char const* extension, std::string key,
              std::uint64_t max_bytes = std::uint64_t{64} << 20);

  std::string const& path() const { return path_; }

  /// Returns the content; "" if the file does not exist, is damaged, or contains another key.
  std::string read() const;

  /// Writes the file atomically. Does nothing if the folder is "" or not writable, or the file would be
  /// larger than max_bytes.
  void write(std::string_view content) const;

 private:
  std::string header_for(std::string_view content) const;

  std::string folder_;
  std::string format_;
  std::string key_;
  std::string path_;
  std::uint64_t max_bytes_;
};

}  // namespace cohort::detail
