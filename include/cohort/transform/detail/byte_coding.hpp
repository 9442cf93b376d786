// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Writes numbers and texts as little-endian bytes, to be sent to other ranks.
class byte_writer {
 public:
  byte_writer& word(std::uint64_t number);
  byte_writer& real(double number);
  /// Writes the size, then the bytes.
  byte_writer& text(std::string_view content);
  std::vector<std::byte> release() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads the bytes of a byte_writer.
///
/// Before    the bytes may be untrusted: nothing is read beyond them.
/// Errors    data_error naming `where` and the byte.
class byte_reader {
 public:
  byte_reader(std::span<std::byte const> bytes, std::string where)
      : bytes_(bytes), where_(std::move(where)) {}

  std::uint64_t word();
  double real();
  std::string_view text();
  /// Reads the number of items that follow. Each item has at least `item_bytes` bytes.
  std::size_t count(std::size_t item_bytes);
  bool at_end() const { return at_ == bytes_.size(); }
  void end() const;
  [[noreturn]] void refuse(std::string expected, std::string got) const;

 private:
  std::span<std::byte const> next(std::size_t size);

  std::span<std::byte const> bytes_;
  std::size_t at_ = 0;
  std::string where_;
};

}  // namespace cohort::detail
