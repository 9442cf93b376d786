// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

static_assert(std::endian::native == std::endian::little, "cohort: reports are sent as little-endian bytes");

/// Writes the numbers of a report. Small numbers need few bytes.
class report_writer {
 public:
  /// Writes seven bits per byte, the lowest first. The highest bit is set if more bytes follow (LEB128).
  report_writer& natural(std::uint64_t number);
  report_writer& real(double number);
  /// Writes the size, then the bytes.
  report_writer& block(std::span<std::byte const> bytes);
  std::vector<std::byte> release() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads the bytes of a report_writer.
///
/// Before    the bytes are untrusted: nothing is read beyond them.
/// Errors    data_error naming the byte.
class report_reader {
 public:
  explicit report_reader(std::span<std::byte const> bytes) : bytes_(bytes) {}

  std::uint64_t natural(std::string_view what, std::uint64_t lowest, std::uint64_t highest);
  std::int64_t count(std::string_view what, std::int64_t lowest, std::int64_t highest);
  double real(std::string_view what, double lowest, double highest);
  std::span<std::byte const> block(std::string_view what);
  void end() const;
  [[noreturn]] void refuse(std::string_view what, std::string expected, std::string got) const;

 private:
  std::span<std::byte const> bytes_;
  std::size_t at_ = 0;
};

}  // namespace cohort::detail
