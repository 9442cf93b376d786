// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/text/word_vocabulary.hpp>
#include <limits>
#include <numeric>
#include <utility>

namespace cohort {

namespace detail {

inline constexpr std::string_view word_separators = " \t\r\n";

/// Calls word(text) for each word, and end() after each line. A line end at the end of the text begins
/// no further line.
template <class Word, class End>
void each_word(std::string_view text, Word word, End end) {
  while (!text.empty()) {
    std::size_t const stop = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, stop);
    for (;;) {
      std::size_t const first = line.find_first_not_of(word_separators);
      if (first == std::string_view::npos) break;
      line.remove_prefix(first);
      std::size_t const size = std::min(line.find_first_of(word_separators), line.size());
      word(line.substr(0, size));
      line.remove_prefix(size);
    }
    end();
    text.remove_prefix(std::min(stop + 1, text.size()));
  }
}

}  // namespace detail

word_vocabulary word_vocabulary::of(std::string_view text, vocabulary_settings const& how) {
  auto const require = [](char const* field, std::int64_t value, std::int64_t least) {
    if (value < least)
      throw setting_error({.what = "invalid setting of a vocabulary",
                           .where = field,
                           .expected = {"at least ", least},
                           .got = {value}});
  };
  require("min_count", how.min_count, 1);
  require("most", how.most, 0);
  std::unordered_map<std::string_view, std::int64_t> counted;
  detail::each_word(
      text, [&](std::string_view word) { ++counted[word]; }, [] {});
  std::vector<std::pair<std::string_view, std::int64_t>> kept;
  for (auto const& one : counted)
    if (one.second >= how.min_count) kept.push_back(one);
  std::ranges::sort(kept, [](auto const& a, auto const& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  if (how.most > 0 && std::ssize(kept) > how.most) kept.resize(static_cast<std::size_t>(how.most));
  if (kept.empty())
    throw data_error({.what = "no word of the text is frequent enough for the vocabulary",
                      .where = {text.size(), " bytes, ", counted.size(), " different words"},
                      .expected = {"a word that occurs at least ", how.min_count, " times (min_count)"},
                      .got = "none"});
  std::vector<std::string> words;
  std::vector<std::int64_t> counts;
  for (auto const& [word, count] : kept) {
    words.emplace_back(word);
    counts.push_back(count);
  }
  return {std::move(words), std::move(counts)};
}

word_vocabulary::word_vocabulary(std::vector<std::string> words, std::vector<std::int64_t> counts) {
  if (words.empty() || words.size() >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw setting_error({.what = "the number of words is out of range",
                         .where = "word_vocabulary",
                         .expected = "1 to 2^31 - 2 words",
                         .got = {words.size()}});
  if (words.size() != counts.size())
    throw setting_error({.what = "the numbers of words and counts differ",
                         .where = "word_vocabulary",
                         .expected = {words.size(), " counts"},
                         .got = {counts.size()}});
  std::vector<std::size_t> order(words.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return counts[a] != counts[b] ? counts[a] > counts[b] : words[a] < words[b];
  });
  for (std::size_t const from : order) {
    std::string& word = words[from];
    if (word.empty() || word.find_first_of(detail::word_separators) != std::string::npos)
      throw data_error({.what = "a word of a vocabulary is empty or contains a separator",
                        .where = {"word ", from},
                        .expected = "bytes without spaces, tabs and line ends",
                        .got = detail::quote_for_error(word)});
    if (counts[from] < 1 || __builtin_add_overflow(total_, counts[from], &total_))
      throw data_error({.what = "the count of a word is out of range",
                        .where = {"word ", detail::quote_for_error(word)},
                        .expected = "at least 1, and a sum below 2^63",
                        .got = {counts[from]}});
    words_.push_back(std::move(word));
    counts_.push_back(counts[from]);
  }
  index();
}

word_vocabulary::word_vocabulary(word_vocabulary const& other)
    : words_(other.words_), counts_(other.counts_), total_(other.total_) {
  index();
}

word_vocabulary& word_vocabulary::operator=(word_vocabulary other) noexcept {
  words_.swap(other.words_);
  counts_.swap(other.counts_);
  ids_.swap(other.ids_);
  std::swap(total_, other.total_);
  return *this;
}

void word_vocabulary::index() {
  ids_.reserve(words_.size());
  for (std::size_t i = 0; i < words_.size(); ++i)
    if (!ids_.emplace(words_[i], static_cast<std::int32_t>(i)).second)
      throw data_error({.what = "a word occurs twice in a vocabulary",
                        .where = "word_vocabulary",
                        .expected = "different words",
                        .got = detail::quote_for_error(words_[i])});
}

std::optional<std::int32_t> word_vocabulary::find(std::string_view word) const {
  auto const found = ids_.find(word);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::int32_t> word_vocabulary::encode(std::string_view text) const {
  std::vector<std::int32_t> tokens;
  detail::each_word(
      text,
      [&](std::string_view word) {
        if (auto const found = ids_.find(word); found != ids_.end()) tokens.push_back(found->second);
      },
      [&] { tokens.push_back(end_of_sentence()); });
  return tokens;
}

}  // namespace cohort
