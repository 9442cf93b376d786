// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/detail/zip_directory.hpp>
#include <cohort/io/inflater.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// A zip file of ModelSerializer in memory. Its entries are compressed by deflate.
///
/// Before    the bytes may be untrusted, and outlive this object.
/// Errors    data_error for a damaged archive or entry.
class deeplearning4j_archive {
 public:
  deeplearning4j_archive(std::span<std::byte const> bytes, std::string name, io::inflater const& inflate)
      : name_(std::move(name)), directory_(bytes, "zip archive", name_), inflate_(inflate) {}

  bool has(std::string_view name) const { return directory_.find(name) != nullptr; }
  /// Returns the decompressed bytes of an entry.
  ///
  /// Errors    data_error also if the entry does not exist, or is larger than `most` bytes: no memory is
  ///           allocated.
  std::vector<std::byte> read(std::string_view name, std::size_t most) const;

 private:
  std::string name_;
  zip_directory directory_;
  io::inflater const& inflate_;
};

}  // namespace cohort::detail
