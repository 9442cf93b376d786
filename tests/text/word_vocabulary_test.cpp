// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/error/exceptions.hpp>
#include <cohort/text/word_vocabulary.hpp>
#include <string>
#include <utility>
#include <vector>
#include "../checkpoint/refusals.hpp"

namespace word_vocabulary_test {

using namespace cohort;
using texts = std::vector<std::string>;
using tokens = std::vector<std::int32_t>;

TEST(word_vocabulary, counts_words_and_sorts_them_by_count_then_bytes) {
  word_vocabulary const words = word_vocabulary::of("b a  c\tb\nb d\r\n a\n", {.min_count = 1});
  EXPECT_EQ(words.words(), (texts{"b", "a", "c", "d"}));
  EXPECT_EQ(tokens(words.counts().begin(), words.counts().end()), (tokens{3, 2, 1, 1}));
  EXPECT_EQ(words.total(), 7);
  EXPECT_EQ(words.size(), 4);
  EXPECT_EQ(words.end_of_sentence(), 4);
  EXPECT_EQ(words.find("c"), 2);
  EXPECT_EQ(words.find("e"), std::nullopt);
}

TEST(word_vocabulary, omits_rare_words) {
  word_vocabulary const frequent = word_vocabulary::of("b a c b b a", {.min_count = 2});
  EXPECT_EQ(frequent.words(), (texts{"b", "a"}));
  word_vocabulary const first = word_vocabulary::of("b a c b b a", {.min_count = 1, .most = 1});
  EXPECT_EQ(first.words(), texts{"b"});
}

TEST(word_vocabulary, encodes_lines_as_sentences_without_unknown_words) {
  word_vocabulary const words({"x", "y"}, {2, 1});
  EXPECT_EQ(words.encode("x z y\n\n y"), (tokens{0, 1, 2, 2, 1, 2}));
  EXPECT_EQ(words.encode(""), tokens{});
}

TEST(word_vocabulary, finds_words_after_copies_and_moves) {
  auto made = std::make_unique<word_vocabulary>(texts{"x", "y"}, std::vector<std::int64_t>{2, 1});
  word_vocabulary copy = *made, other({"z"}, {1});
  other = *made;
  made.reset();
  EXPECT_EQ(copy.find("y"), 1);
  EXPECT_EQ(other.find("y"), 1);
  EXPECT_EQ(other.find("z"), std::nullopt);
  word_vocabulary const moved = std::move(copy);
  EXPECT_EQ(moved.find("x"), 0);
}

TEST(word_vocabulary, refuses_invalid_settings_and_words) {
  EXPECT_EQ(refusal_of<setting_error>([] { word_vocabulary::of("a", {.min_count = 0}); }),
            "invalid setting of a vocabulary (min_count): expected at least 1, got 0");
  EXPECT_EQ(refusal_of<setting_error>([] { word_vocabulary::of("a", {.min_count = 1, .most = -1}); }),
            "invalid setting of a vocabulary (most): expected at least 0, got -1");
  EXPECT_EQ(
      refusal_of<data_error>([] { word_vocabulary::of("a b b"); }),
      "no word of the text is frequent enough for the vocabulary (5 bytes, 2 different words): expected "
      "a word that occurs at least 5 times (min_count), got none");
  EXPECT_EQ(refusal_of<setting_error>([] {
              word_vocabulary({"a", "b"}, {1});
            }),
            "the numbers of words and counts differ (word_vocabulary): expected 2 counts, got 1");
  EXPECT_EQ(
      refusal_of<data_error>([] { word_vocabulary({"a b"}, {1}); }),
      "a word of a vocabulary is empty or contains a separator (word 0): expected bytes without spaces, "
      "tabs and line ends, got \"a b\"");
  EXPECT_EQ(
      refusal_of<data_error>([] { word_vocabulary({"a"}, {0}); }),
      "the count of a word is out of range (word \"a\"): expected at least 1, and a sum below 2^63, got 0");
  EXPECT_EQ(refusal_of<data_error>([] {
              word_vocabulary({"a", "a"}, {1, 2});
            }),
            "a word occurs twice in a vocabulary (word_vocabulary): expected different words, got \"a\"");
}

}  // namespace word_vocabulary_test
