// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/text/detail/implementation.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cohort {

/// Settings that select the words of a vocabulary.
struct vocabulary_settings {
  std::int64_t min_count = 5;  ///< words that occur less often are omitted
  std::int64_t most = 0;       ///< only this many words, the most frequent ones; 0: all
};

/// The words of a text with their counts. Index 0 is the most frequent word; words of equal count are in the
/// order of their bytes.
///
/// Words are separated by spaces, tabs and line ends. A line is a sentence.
///
/// Errors    setting_error or data_error for an invalid setting, without words, for a word that is empty,
///           contains a separator or occurs twice, or for a count below 1.
class word_vocabulary {
 public:
  /// Counts the words of a text.
  static word_vocabulary of(std::string_view text, vocabulary_settings const& how = {});

  /// Creates a vocabulary from counted words, in any order.
  word_vocabulary(std::vector<std::string> words, std::vector<std::int64_t> counts);

  word_vocabulary(word_vocabulary const& other);
  word_vocabulary(word_vocabulary&&) noexcept = default;
  word_vocabulary& operator=(word_vocabulary other) noexcept;
  ~word_vocabulary() = default;

  /// Returns the number of words.
  std::int32_t size() const { return static_cast<std::int32_t>(words_.size()); }
  std::vector<std::string> const& words() const& { return words_; }
  std::vector<std::string> const& words() const&& = delete;  // keep the vocabulary in a variable
  std::span<std::int64_t const> counts() const& { return counts_; }
  std::span<std::int64_t const> counts() const&& = delete;  // keep the vocabulary in a variable
  /// Returns the sum of all counts.
  std::int64_t total() const { return total_; }
  /// Returns the index of a word; nullopt if the word is unknown.
  std::optional<std::int32_t> find(std::string_view word) const;

  /// Returns the token that ends a sentence: size().
  std::int32_t end_of_sentence() const { return size(); }
  /// Returns the indices of a text's words, and end_of_sentence() after each line. Unknown words are omitted.
  std::vector<std::int32_t> encode(std::string_view text) const;

 private:
  void index();

  std::vector<std::string> words_;
  std::vector<std::int64_t> counts_;
  std::int64_t total_ = 0;
  std::unordered_map<std::string_view, std::int32_t> ids_;  // of words_
};

}  // namespace cohort
