// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/text/detail/unicode.hpp>
#include <string>
#include <vector>

namespace unicode_test {

using namespace cohort::detail;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    std::size_t const bytes = first_word(text);
    EXPECT_GT(bytes, 0U);
    words.emplace_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return words;
}

TEST(unicode, reads_characters_of_every_length_and_writes_them_back) {
  for (char32_t const code :
       {0x0U, 0x41U, 0x7fU, 0x80U, 0x7ffU, 0x800U, 0xd7ffU, 0xe000U, 0xffffU, 0x10000U, 0x10ffffU}) {
    std::string const bytes = utf8_of(code);
    utf8_character const read = utf8_at("x" + bytes + "y", 1);
    EXPECT_EQ(read.code, code);
    EXPECT_EQ(read.bytes, bytes.size());
  }
}

TEST(unicode, rejects_bytes_that_are_not_utf8) {
  for (std::string const bytes :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe2\x82", "\xe2\x28\xa1", "\xf0\x9f\x98"})
    EXPECT_EQ(utf8_at(bytes, 0).bytes, 0U) << bytes;
}

TEST(unicode, classifies_letters_numbers_and_white_space) {
  for (char32_t const code : {U'a', U'Z', U'ß', U'я', U'中', U'ª'})
    EXPECT_EQ(class_of(code), character_class::letter);
  for (char32_t const code : {U'0', U'9', U'²', U'Ⅷ', U'٣'})
    EXPECT_EQ(class_of(code), character_class::number);
  for (char32_t const code : {U' ', U'\t', U'\n', U'\u00a0', U'\u2003', U'\u3000'})
    EXPECT_EQ(class_of(code), character_class::space);
  for (char32_t const code : {U'.', U'_', U'€', U'\u0301', U'😀', U'\u001c', U'\u200b'})
    EXPECT_EQ(class_of(code), character_class::other);
}

TEST(unicode, splits_texts_into_words_as_gpt2_does) {
  using words = std::vector<std::string>;
  EXPECT_EQ(words_of("Hello world"), (words{"Hello", " world"}));
  EXPECT_EQ(words_of("we'll don't 'tis"), (words{"we", "'ll", " don", "'t", " '", "tis"}));
  EXPECT_EQ(words_of("a  b"), (words{"a", " ", " b"}));
  EXPECT_EQ(words_of("a\n\n b"), (words{"a", "\n\n", " b"}));
  EXPECT_EQ(words_of("a \n"), (words{"a", " \n"}));
  EXPECT_EQ(words_of("x12 34!? €"), (words{"x", "12", " 34", "!?", " €"}));
  EXPECT_EQ(words_of("\xff\xfe"
                     "a "),
            (words{"\xff\xfe", "a", " "}));
  EXPECT_EQ(words_of("naïve\u00a0中文"), (words{"naïve", "\u00a0", "中文"}));
}

}  // namespace unicode_test
