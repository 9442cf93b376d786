// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/text/detail/implementation.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohort {

/// Element type of a file of tokens, little-endian.
enum class token_type : std::uint8_t { u8, u16, i32 };

/// A long sequence of tokens, in memory or in a memory-mapped file of any size. Cheap to copy; parts share
/// the memory.
class token_stream {
 public:
  explicit token_stream(std::vector<std::int32_t> tokens);

  /// Maps a file of tokens that follow a header of `header_bytes` bytes. The operating system loads only the
  /// pages that are read.
  ///
  /// Before    the file does not shrink while it is mapped; otherwise the process receives SIGBUS.
  /// Errors    setting_error unless `header_bytes` is a multiple of the token size; file_error; data_error if
  ///           the bytes after the header do not form whole tokens.
  static token_stream map(std::string const& path, token_type type = token_type::u16,
                          std::int64_t header_bytes = 0);

  /// Returns the number of tokens.
  std::int64_t size() const { return size_; }

  /// Returns the part with tokens [first, first + count), or up to the end if there are fewer.
  ///
  /// Errors    setting_error if first or count is negative, or first exceeds size().
  token_stream part(std::int64_t first, std::int64_t count) const;

  /// Copies tokens [first, first + out.size()).
  ///
  /// Before    0 ≤ first and first + out.size() ≤ size().
  void copy(std::int64_t first, std::span<std::int32_t> out) const;

 private:
  token_stream() = default;

  std::shared_ptr<void const> memory_;
  std::byte const* first_ = nullptr;
  token_type type_ = token_type::i32;
  std::int64_t size_ = 0;
};

/// Writes tokens to a file that token_stream::map reads.
///
/// Errors    data_error for a token that `type` cannot represent; file_error.
void write_tokens(std::string const& path, std::span<std::int32_t const> tokens,
                  token_type type = token_type::u16);

}  // namespace cohort
