// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/text/detail/implementation.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

namespace detail {
struct vocabulary;
}

/// Converts text to tokens and back. A token is a number from 0 to size() − 1 that represents a piece of
/// text. Cheap to copy; several threads may use one tokenizer.
///
/// bytes        every byte is a token. Accepts any text.
/// characters   every character that occurs in a given text is a token, in the order of Unicode.
/// byte_pairs   byte pair encoding, trained on a given text: the 256 bytes, then the pairs of tokens that
///              were merged, in that order. Texts are split into words as in GPT-2. Accepts any text.
/// gpt2         byte pair encoding with the vocabulary of two files as published with GPT-2.
///
/// Source    byte pair encoding: Sennrich, Haddow and Birch, ACL 2016; of bytes: Radford et al., "Language
///           Models are Unsupervised Multitask Learners", 2019.
class tokenizer {
 public:
  static tokenizer bytes();

  /// Errors    data_error if the text is not UTF-8 or is empty.
  static tokenizer characters(std::string_view text);

  /// Merges the most frequent pair of adjacent tokens until there are `size` tokens, or no pair occurs twice.
  /// Of several equally frequent pairs, the one whose tokens have the smallest numbers is merged.
  ///
  /// Errors    setting_error if `size` is below 256.
  /// Cost      about 100 bytes of memory for each byte of the distinct words.
  static tokenizer byte_pairs(std::string_view text, int size);

  /// Reads vocab.json (or encoder.json) and merges.txt (or vocab.bpe).
  ///
  /// Errors    file_error, data_error with file and line.
  static tokenizer gpt2(std::string const& vocabulary_file, std::string const& merges_file);

  /// Reads the file that `save` has written.  Errors: file_error, data_error.
  static tokenizer load(std::string const& path);

  /// Writes one JSON file.  Errors: file_error.
  void save(std::string const& path) const;

  /// Returns the number of tokens.
  int size() const;

  /// Returns the tokens of a text.
  ///
  /// Errors    characters: data_error with the byte position of a character that is not a token. Other
  ///           tokenizers: none.
  std::vector<std::int32_t> encode(std::string_view text) const;

  /// Returns the text of tokens, which may be invalid UTF-8, because a character may consist of several
  /// tokens.
  ///
  /// Errors    data_error for a number outside 0 … size() − 1.
  std::string decode(std::span<std::int32_t const> tokens) const;

  /// Returns the text of one token.  Errors: as decode.
  std::string_view text_of(std::int32_t token) const&;
  std::string_view text_of(std::int32_t token) const&& = delete;  // keep the tokenizer in a variable

  /// Returns the token of exactly this text, such as "<|endoftext|>" in GPT-2's vocabulary; nullopt if no
  /// token has this text.
  std::optional<std::int32_t> find(std::string_view text) const;

 private:
  explicit tokenizer(std::shared_ptr<detail::vocabulary const> vocabulary)
      : vocabulary_(std::move(vocabulary)) {}

  std::shared_ptr<detail::vocabulary const> vocabulary_;
};

}  // namespace cohort
