// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace cohort::detail {

/// What can be made again, as a file in a cache: a head, the description of all that the content depends on, the content. The
/// description's hash names the file and need not be trusted: what is read is compared.
///
/// Shapes    `what`: the head's first words, as "cohort kernels 1", with a version of the content's form; `ending` of the name.
/// Errors    none: what is wrong with a file or its folder costs making the content again.
class cached_file {
 public:
  cached_file(std::string folder, std::string what, char const* ending, std::string description);

  std::string const& path() const { return path_; }

  /// The content; "" if there is no such file, or it is damaged, or of another description whose hash is the same.
  std::string read() const;

  /// As a whole or not at all. Where the folder is "" or cannot be written, nothing is.
  void write(std::string_view content) const;

 private:
  static constexpr std::size_t largest = std::size_t{64} << 20;

  std::string head_of(std::string_view content) const;

  std::string folder_;
  std::string what_;
  std::string description_;
  std::string path_;
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/io/impl/cached_file.ipp>
#endif
