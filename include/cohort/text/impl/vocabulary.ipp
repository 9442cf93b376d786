// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/text/detail/unicode.hpp>
#include <cohort/text/detail/vocabulary.hpp>
#include <cstddef>
#include <functional>
#include <queue>
#include <tuple>

namespace cohort::detail {

void vocabulary::index() {
  ids.reserve(texts.size());
  for (std::size_t k = 0; k < texts.size(); ++k) {
    ids.emplace(texts[k], static_cast<std::int32_t>(k));
    if (texts[k].size() == 1) of_byte[static_cast<unsigned char>(texts[k][0])] = static_cast<std::int32_t>(k);
  }
}

void vocabulary::add_merge(std::int32_t left, std::int32_t right, std::int32_t token) {
  merges.try_emplace(key_of(left, right), merge{static_cast<std::int32_t>(pairs.size()), token});
  pairs.emplace_back(left, right);
}

void vocabulary::encode_word(std::string_view word, std::vector<std::int32_t>& tokens) const {
  struct node {
    std::int32_t token;
    std::ptrdiff_t before, after;
  };
  struct candidate {
    std::int32_t rank, token;
    std::ptrdiff_t place;
    std::int32_t left, right;
    bool operator>(candidate const& other) const {
      return std::tie(rank, place) > std::tie(other.rank, other.place);
    }
  };
  auto const length = static_cast<std::ptrdiff_t>(word.size());
  std::vector<node> nodes(word.size());
  std::priority_queue<candidate, std::vector<candidate>, std::greater<>> candidates;
  auto const at = [&](std::ptrdiff_t place) -> node& { return nodes[static_cast<std::size_t>(place)]; };
  auto const consider = [&](std::ptrdiff_t place) {
    if (place < 0 || at(place).after >= length) return;
    std::int32_t const left = at(place).token, right = at(at(place).after).token;
    if (auto const found = merges.find(key_of(left, right)); found != merges.end())
      candidates.push({found->second.rank, found->second.token, place, left, right});
  };
  for (std::ptrdiff_t k = 0; k < length; ++k)
    at(k) = {of_byte[static_cast<unsigned char>(word[static_cast<std::size_t>(k)])], k - 1, k + 1};
  for (std::ptrdiff_t k = 0; k < length; ++k) consider(k);
  while (!candidates.empty()) {
    candidate const best = candidates.top();
    candidates.pop();
    node& left = at(best.place);
    if (left.token != best.left || left.after >= length || at(left.after).token != best.right) continue;
    node& right = at(left.after);
    left.token = best.token;
    right.token = -1;
    left.after = right.after;
    if (left.after < length) at(left.after).before = best.place;
    consider(left.before);
    consider(best.place);
  }
  for (std::ptrdiff_t k = 0; k < length; k = at(k).after) tokens.push_back(at(k).token);
}

/// The distinct words of a text with their counts, and the pairs of adjacent tokens in them.
class pair_counts {
 public:
  explicit pair_counts(std::string_view text) {
    std::unordered_map<std::string_view, std::int64_t> counts;
    for (std::size_t bytes = 0; !text.empty(); text.remove_prefix(bytes)) {
      bytes = first_word(text);
      ++counts[text.substr(0, bytes)];
    }
    std::vector<std::pair<std::string_view, std::int64_t>> sorted(counts.begin(), counts.end());
    std::sort(sorted.begin(), sorted.end());
    for (auto const& [word, count] : sorted) {
      std::vector<std::int32_t> tokens;
      for (char const c : word) tokens.push_back(static_cast<unsigned char>(c));
      words_.push_back({std::move(tokens), count});
      count_pairs(words_.size() - 1, count);
    }
    offer_changed();
  }

  /// Merges the most frequent pair into `token` everywhere, and sets `pair` to the merged pair. Returns false
  /// if no pair occurs twice.
  bool merge_best(std::int32_t token, std::pair<std::int32_t, std::int32_t>& pair) {
    while (!offers_.empty()) {
      offer const best = offers_.top();
      offers_.pop();
      auto const found = pairs_.find(vocabulary::key_of(best.left, best.right));
      if (found == pairs_.end() || found->second.count != best.count) {
        if (found != pairs_.end() && found->second.count > 1 && found->second.count < best.count)
          offers_.push({found->second.count, best.left, best.right});
        continue;
      }
      pair = {best.left, best.right};
      std::vector<std::size_t> const places = std::move(found->second.words);
      for (std::size_t const word : places) merge_in(word, pair, token);
      pairs_.erase(vocabulary::key_of(best.left, best.right));
      offer_changed();
      return true;
    }
    return false;
  }

 private:
  struct counted_word {
    std::vector<std::int32_t> tokens;
    std::int64_t count;
  };
  struct counted_pair {
    std::int64_t count = 0;
    std::vector<std::size_t> words;  // words that contain or contained the pair, in order of insertion
  };
  struct offer {
    std::int64_t count;
    std::int32_t left, right;
    bool operator<(offer const& other) const {
      return std::tie(count, other.left, other.right) < std::tie(other.count, left, right);
    }
  };

  void count_pairs(std::size_t word, std::int64_t change) {
    std::vector<std::int32_t> const& tokens = words_[word].tokens;
    for (std::size_t k = 0; k + 1 < tokens.size(); ++k) {
      std::uint64_t const key = vocabulary::key_of(tokens[k], tokens[k + 1]);
      counted_pair& pair = pairs_[key];
      pair.count += change;
      if (change < 0) continue;
      if (pair.words.empty() || pair.words.back() != word) pair.words.push_back(word);
      changed_.push_back(key);
    }
  }

  void merge_in(std::size_t word, std::pair<std::int32_t, std::int32_t> pair, std::int32_t token) {
    std::vector<std::int32_t>& tokens = words_[word].tokens;
    std::vector<std::int32_t> merged;
    for (std::size_t k = 0; k < tokens.size(); ++k) {
      bool const here = k + 1 < tokens.size() && tokens[k] == pair.first && tokens[k + 1] == pair.second;
      merged.push_back(here ? token : tokens[k]);
      k += here ? 1 : 0;
    }
    if (merged.size() == tokens.size()) return;
    count_pairs(word, -words_[word].count);
    tokens = std::move(merged);
    count_pairs(word, words_[word].count);
  }

  void offer_changed() {
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (std::uint64_t const key : changed_)
      if (std::int64_t const count = pairs_[key].count; count > 1)
        offers_.push({count, static_cast<std::int32_t>(key >> 32), static_cast<std::int32_t>(key)});
    changed_.clear();
  }

  std::vector<counted_word> words_;
  std::unordered_map<std::uint64_t, counted_pair> pairs_;
  std::vector<std::uint64_t> changed_;
  std::priority_queue<offer> offers_;
};

void learn_byte_pairs(vocabulary& learned, std::string_view text, int size) {
  pair_counts counts(text);
  std::pair<std::int32_t, std::int32_t> pair;
  while (learned.texts.size() < static_cast<std::size_t>(size)) {
    auto const token = static_cast<std::int32_t>(learned.texts.size());
    if (!counts.merge_best(token, pair)) return;
    learned.add_merge(pair.first, pair.second, token);
    learned.texts.push_back(learned.texts[static_cast<std::size_t>(pair.first)]
                            + learned.texts[static_cast<std::size_t>(pair.second)]);
  }
}

/// Returns the character for each byte in GPT-2's files.
std::array<char32_t, 256> printable_characters() {
  std::array<char32_t, 256> made{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    bool const printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    made[byte] = printable ? char32_t{byte} : next++;
  }
  return made;
}

std::string printable_of(std::string_view bytes) {
  static std::array<char32_t, 256> const characters = printable_characters();
  std::string made;
  for (char const byte : bytes) made += utf8_of(characters[static_cast<unsigned char>(byte)]);
  return made;
}

bool bytes_of_printable(std::string_view printable, std::string& bytes) {
  static std::unordered_map<char32_t, char> const byte_of = [] {
    std::unordered_map<char32_t, char> made;
    std::array<char32_t, 256> const characters = printable_characters();
    for (unsigned byte = 0; byte < 256; ++byte) made.emplace(characters[byte], static_cast<char>(byte));
    return made;
  }();
  bytes.clear();
  for (std::size_t at = 0; at < printable.size();) {
    utf8_character const one = utf8_at(printable, at);
    auto const found = byte_of.find(one.code);
    if (one.bytes == 0 || found == byte_of.end()) return false;
    bytes += found->second;
    at += one.bytes;
  }
  return true;
}

}  // namespace cohort::detail
