// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/data/detail/text_dictionary.hpp>
#include <cohort/random/stream.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace text_dictionary_test {

using cohort::detail::text_dictionary;
using strings = std::vector<std::string>;
using codes = std::vector<std::int32_t>;

codes codes_of(text_dictionary& dictionary, strings const& texts) {
  codes all;
  for (std::string const& text : texts) all.push_back(dictionary.code_of(dictionary.key_of(text)));
  return all;
}

TEST(text_dictionary, assigns_codes_in_order_of_first_occurrence) {
  text_dictionary dictionary;
  EXPECT_EQ(codes_of(dictionary, {"b", "", "a", "b", "abcdefgh", "abcdefghi", "abcdefgh", ""}),
            (codes{0, 1, 2, 0, 3, 4, 3, 1}));
  dictionary.clear();
  EXPECT_EQ(codes_of(dictionary, {"a", "b"}), (codes{0, 1}));
}

TEST(text_dictionary, stores_copies_of_texts) {
  text_dictionary dictionary;
  std::string text = "first text";
  dictionary.code_of(dictionary.key_of(text));
  text = "another one";
  EXPECT_EQ(dictionary.code_of(dictionary.key_of("first text")), 0);
}

/// Among so many texts with equal first bytes, about ten pairs have the same hash of 32 bits.
TEST(text_dictionary, distinguishes_texts_with_equal_hashes) {
  text_dictionary dictionary;
  for (std::int32_t n = 0; n < 300'000; ++n)
    ASSERT_EQ(dictionary.code_of(dictionary.key_of("customer " + std::to_string(n))), n);
}

TEST(text_dictionary, sorts_by_bytes) {
  for (strings const& sorted :
       {strings{}, strings{""}, strings{"same"}, strings{"", "a", "ab", "b", "\x7f", "\x80", "\xff"},
        strings{"customer", "customer_", "customer_00000001", "customer_00000001x", "customer_00000002"},
        strings{"20240101", "20240102", "20250101"},
        strings{"abcdefgh1", "abcdefgh2", "abcdefgh21", "b", "bb"}}) {
    text_dictionary dictionary;
    codes all = codes_of(dictionary, {sorted.rbegin(), sorted.rend()});
    all.push_back(-1);
    EXPECT_EQ(dictionary.sort(all), sorted);
    codes expected{};
    for (std::size_t i = sorted.size(); i-- > 0;) expected.push_back(static_cast<std::int32_t>(i));
    expected.push_back(-1);
    EXPECT_EQ(all, expected);
  }
}

TEST(text_dictionary, recognises_ascii_texts) {
  text_dictionary const dictionary;
  for (std::size_t size = 1; size < 30; ++size) {
    std::string text(size, 'x');
    EXPECT_TRUE(dictionary.key_of(text).is_ascii);
    for (std::size_t at = 0; at < size; ++at) {
      text[at] = '\x80';
      EXPECT_FALSE(dictionary.key_of(text).is_ascii) << size << ", " << at;
      text[at] = 'x';
    }
  }
}

TEST(text_dictionary, agrees_with_std_map) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    cohort::random_stream const random(seed, "texts");
    std::uint64_t draws = 0;
    auto const below = [&](std::uint64_t bound) { return random.below(draws++, bound); };
    std::uint64_t const letters = 1 + below(4), longest = 1 + below(30);
    std::string const prefix(below(12), 'p');
    text_dictionary dictionary;
    std::map<std::string, std::int32_t> known;
    strings texts;
    codes all;
    for (int i = 0; i < 5000; ++i) {
      std::string text = prefix;
      for (std::uint64_t n = below(longest + 1); n > 0; --n)
        text += static_cast<char>("ab\xc3\x01"[below(letters)]);
      texts.push_back(text);
      all.push_back(dictionary.code_of(dictionary.key_of(text)));
      ASSERT_EQ(all.back(), known.emplace(text, static_cast<std::int32_t>(known.size())).first->second);
    }
    strings const sorted = dictionary.sort(all);
    ASSERT_EQ(sorted.size(), known.size());
    std::size_t at = 0;
    for (auto const& [text, code] : known) ASSERT_EQ(sorted[at++], text);
    for (std::size_t i = 0; i < texts.size(); ++i)
      ASSERT_EQ(sorted[static_cast<std::size_t>(all[i])], texts[i]);
  }
}

}  // namespace text_dictionary_test
