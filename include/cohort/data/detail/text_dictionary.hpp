// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/byte_words.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Dictionary encoding: distinct texts get codes from 0, in the order in which they are added.
///
/// Before    texts contain no NUL byte.
class text_dictionary {
 public:
  /// A text, prepared for a lookup.
  struct key {
    std::string_view text{};
    std::uint64_t first = 0;  // the first 8 bytes, padded with zeros
    std::uint32_t hash = 0;
    bool is_ascii = true;
  };

  /// Prepares a lookup, and prefetches the slot at which it begins.
  key key_of(std::string_view text) const {
    key made{.text = text, .first = load_word(text.data(), std::min<std::size_t>(text.size(), 8))};
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15U;
    std::uint64_t hash = mix(made.first ^ 0x2d358dccaa6c78a5U, odd), bytes = made.first;
    if (text.size() > 8) {
      char const *p = text.data() + 8, *const last = text.data() + text.size() - 8;
      for (; p < last; p += 8) {
        std::uint64_t const word = load_word(p);
        bytes |= word;
        hash = mix(hash ^ word, odd);
      }
      bytes |= load_word(last);
      hash = mix(hash ^ load_word(last), odd + 2 * text.size());
    }
    made.hash = static_cast<std::uint32_t>(hash);
    made.is_ascii = (bytes & marks_of_all) == 0;
    __builtin_prefetch(&slots_[made.hash & mask_]);
    return made;
  }

  /// Returns the code of a text; adds the text if it is new.
  std::int32_t code_of(key const& wanted) {
    for (std::size_t at = wanted.hash & mask_;; at = (at + 1) & mask_) {
      slot const& found = slots_[at];
      if (found.code < 0) return add(wanted);
      // Texts have no NUL bytes, so `first` alone determines a text of less than 8 bytes.
      if (found.first == wanted.first && found.hash == wanted.hash
          && (wanted.text.size() < 8 || text(found.code) == wanted.text))
        return found.code;
    }
  }

  void clear() { *this = {}; }

  /// Returns the texts sorted by bytes. Replaces each of `codes`, except −1, with its text's index in the
  /// result.
  std::vector<std::string> sort(std::vector<std::int32_t>& codes) const;

 private:
  struct slot {
    std::uint64_t first = 0;
    std::uint32_t hash = 0;
    std::int32_t code = -1;  // −1: empty
  };

  /// Multiplies two words and XORs the halves of the product.
  ///
  /// Source    wyhash, Wang Yi.
  static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    __extension__ using wide = unsigned __int128;
    wide const product = wide{a} * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  int size() const { return static_cast<int>(ends_.size()) - 1; }
  std::string_view text(std::int32_t code) const {
    std::size_t const *const end = &ends_[static_cast<std::size_t>(code) + 1], begin = end[-1];
    return {bytes_.data() + begin, *end - begin};
  }

  std::int32_t add(key const& one);
  void insert(slot const& one);

  std::vector<slot> slots_ = std::vector<slot>(1);  // a power of two, at most half full
  std::size_t mask_ = 0;
  std::string bytes_;                    // bytes of all texts
  std::vector<std::size_t> ends_ = {0};  // 0, then the end of each text in bytes_
};

}  // namespace cohort::detail
