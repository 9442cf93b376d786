// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/detail/build_check.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cohort::detail {

enum class token_kind : std::uint8_t { bytes, characters, byte_pairs };

/// The tokens of a tokenizer and, for byte pairs, the merges in their order.
struct vocabulary {
  struct merge {
    std::int32_t rank = 0;  // merges of a lower rank are applied first
    std::int32_t token = 0;
  };

  token_kind kind = token_kind::bytes;
  std::vector<std::string> texts;                          // text of each token
  std::unordered_map<std::string_view, std::int32_t> ids;  // token of each text; see index()
  std::array<std::int32_t, 256> of_byte{};                 // token of each byte, for byte pairs
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  std::unordered_map<std::uint64_t, merge> merges;

  vocabulary() = default;
  vocabulary(vocabulary const&) = delete;
  vocabulary& operator=(vocabulary const&) = delete;

  /// Fills `ids` and `of_byte`. Call it when `texts` is complete.
  void index();

  /// Appends a merge. Merges are appended in the order of their ranks.
  void add_merge(std::int32_t left, std::int32_t right, std::int32_t token);

  /// Appends the tokens of one word to `tokens`.
  ///
  /// Cost      O(n log n) for n bytes.
  void encode_word(std::string_view word, std::vector<std::int32_t>& tokens) const;

  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32
           | static_cast<std::uint32_t>(right);
  }
};

/// Adds merges to a vocabulary of the 256 bytes: see tokenizer::byte_pairs.
void learn_byte_pairs(vocabulary& learned, std::string_view text, int size);

/// Returns the printable form of bytes in GPT-2's files: a byte that is printable in Latin-1 becomes its
/// Latin-1 character; the other bytes become the characters from 0x100 on.
std::string printable_of(std::string_view bytes);
/// Converts the printable form back to bytes. Returns false if the text contains other characters.
bool bytes_of_printable(std::string_view printable, std::string& bytes);

}  // namespace cohort::detail
