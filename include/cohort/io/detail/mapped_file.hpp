// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <span>
#include <string>

namespace cohort::detail {

/// A read-only mapping of a whole file. If the file is truncated later, reading beyond its new end terminates
/// the process with SIGBUS.
///
/// Errors    file_error with the path.
class mapped_file {
 public:
  explicit mapped_file(std::string const& path);
  mapped_file(mapped_file const&) = delete;
  mapped_file& operator=(mapped_file const&) = delete;
  ~mapped_file();

  std::byte const* data() const { return static_cast<std::byte const*>(address_); }
  std::size_t size() const { return size_; }
  std::span<std::byte const> bytes() const { return {data(), size_}; }

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace cohort::detail
