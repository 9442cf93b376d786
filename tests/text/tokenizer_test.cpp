// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/json.hpp>
#include <cohort/text/tokenizer.hpp>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "../checkpoint/scratch_folder.hpp"

namespace tokenizer_test {

using namespace cohort;

using tokens = std::vector<std::int32_t>;

template <class Error, class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (Error const& problem) {
    return problem.what();
  }
  return "nothing thrown";
}

std::string every_byte() {
  std::string all(256, '\0');
  std::iota(all.begin(), all.end(), '\0');
  return all;
}

/// A vocabulary file like GPT-2's: a token for every byte, then these tokens.
std::string vocabulary_json(std::vector<std::string> const& more) {
  std::string text = "{";
  int next = 0;
  auto const add = [&](std::string const& token) {
    text += (next == 0 ? "\"" : ", \"") + token + "\": " + std::to_string(next);
    ++next;
  };
  for (int code = 0x21; code <= 0x7e; ++code)
    add(code == '"' ? "\\\"" : code == '\\' ? "\\\\" : std::string(1, static_cast<char>(code)));
  for (int code = 0xa1; code < 0x144; ++code)
    if (code != 0xad) add({static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))});
  for (std::string const& token : more) add(token);
  return text + "}";
}

TEST(tokenizer, of_bytes_round_trips_any_text) {
  tokenizer const t = tokenizer::bytes();
  EXPECT_EQ(t.size(), 256);
  EXPECT_EQ(t.encode("a\xff"), (tokens{97, 255}));
  EXPECT_EQ(t.decode(t.encode(every_byte())), every_byte());
  EXPECT_EQ(t.encode(""), tokens{});
}

TEST(tokenizer, of_characters_assigns_tokens_in_the_order_of_code_points) {
  tokenizer const t = tokenizer::characters("beä a\n");
  EXPECT_EQ(t.size(), 6);  // newline, space, a, b, e, ä
  EXPECT_EQ(t.encode("äb\n"), (tokens{5, 3, 0}));
  EXPECT_EQ(t.decode(tokens{2, 1, 4}), "a e");
  EXPECT_EQ(t.text_of(5), "ä");
  EXPECT_EQ(t.find("b"), 3);
  EXPECT_EQ(t.find("be"), std::nullopt);
}

TEST(tokenizer, of_characters_reports_unknown_characters) {
  tokenizer const t = tokenizer::characters("abc");
  EXPECT_EQ(message_of<data_error>([&] { t.encode("abxc"); }),
            "the text contains a character that is not a token (byte 2): expected characters of the text "
            "from which the tokenizer was created, got 'x'");
  EXPECT_EQ(message_of<data_error>([&] { t.encode("a\xff"); }),
            "the text contains a character that is not a token (byte 1): expected characters of the text "
            "from which the tokenizer was created, got a byte that is not UTF-8");
  EXPECT_EQ(message_of<data_error>([&] { tokenizer::characters("ab\xff"); }),
            "cannot divide a text into characters (byte 2): expected UTF-8, got the byte 255");
  EXPECT_EQ(
      message_of<data_error>([&] { tokenizer::characters(""); }),
      "the text for a tokenizer is empty (tokenizer::characters): expected at least 1 character, got 0");
}

TEST(tokenizer, refuses_tokens_that_do_not_exist) {
  tokenizer const t = tokenizer::characters("abc");
  EXPECT_EQ(message_of<data_error>([&] {
              t.decode(tokens{0, 3});
            }),
            "a token does not exist (tokenizer): expected 0 to 2, got 3");
  EXPECT_EQ(message_of<data_error>([&] { t.text_of(-1); }),
            "a token does not exist (tokenizer): expected 0 to 2, got -1");
}

TEST(tokenizer, of_byte_pairs_merges_the_most_frequent_pairs) {
  // Words: low x5, lower x2, newest x6, widest x3.
  std::string text;
  auto const repeat = [&](char const* word, int count) {
    for (int k = 0; k < count; ++k) text += std::string(word) + "\n";
  };
  repeat("low", 5), repeat("lower", 2), repeat("newest", 6), repeat("widest", 3);
  tokenizer const t = tokenizer::byte_pairs(text, 256 + 4);
  EXPECT_EQ(t.size(), 260);
  EXPECT_EQ(t.text_of(256), "es");  // 9 times, as "st" ('e' < 's')
  EXPECT_EQ(t.text_of(257), "est");
  EXPECT_EQ(t.text_of(258), "lo");  // 7 times, as "ow"
  EXPECT_EQ(t.text_of(259), "low");
  EXPECT_EQ(t.encode("lowest wester"), (tokens{259, 257, ' ', 'w', 257, 'e', 'r'}));
  EXPECT_EQ(t.decode(t.encode("lowest in \xff the wild")), "lowest in \xff the wild");
}

TEST(tokenizer, of_byte_pairs_stops_when_no_pair_occurs_twice) {
  EXPECT_EQ(tokenizer::byte_pairs("ab ab", 1000).size(), 257);  // "ab" and " ab" share one pair
  EXPECT_EQ(tokenizer::byte_pairs("", 300).size(), 256);
  EXPECT_EQ(message_of<setting_error>([] { tokenizer::byte_pairs("ab", 255); }),
            "invalid vocabulary of a byte pair encoding (size): expected at least 256, the number of bytes, "
            "got 255");
}

TEST(tokenizer, of_byte_pairs_learns_overlapping_pairs) {
  tokenizer const t = tokenizer::byte_pairs("aaaa aaaa aaaaa", 259);
  EXPECT_EQ(t.text_of(256), "aa");
  EXPECT_EQ(t.decode(t.encode("aaaaaaa aaa")), "aaaaaaa aaa");
}

TEST(tokenizer, encodes_long_words_in_bounded_time) {  // a quadratic algorithm needs hours
  tokenizer const t = tokenizer::byte_pairs("aaaaaaaaaaaaaaaaaaaaaaaa", 262);
  std::string const word(2'000'000, 'a');
  EXPECT_EQ(t.decode(t.encode(word)), word);
}

TEST(tokenizer, merges_in_the_order_of_training) {
  // With the merges "b c" before "a b", the word abc is a, bc.
  scratch_folder const folder;
  io::write_file(folder / "vocab.json", vocabulary_json({"bc", "ab"}));
  io::write_file(folder / "merges.txt", "#version: 0.2\nb c\na b\n");
  tokenizer const t = tokenizer::gpt2(folder / "vocab.json", folder / "merges.txt");
  EXPECT_EQ(t.encode("abc"), (tokens{'a' - 0x21, 256}));
  EXPECT_EQ(t.encode("abab"), (tokens{257, 257}));
  EXPECT_EQ(t.decode(t.encode(every_byte())), every_byte());
}

TEST(tokenizer, agrees_with_an_independent_implementation) {  // tests/golden/byte_pairs.py
  scratch_folder const folder;
  std::string const path = std::string(COHORT_SOURCE_DIR) + "/tests/golden/byte_pairs.json";
  std::string const text = io::read_text(path);
  io::json_document const golden = io::parse_json(text, path);
  io::write_file(folder / "vocab.json", golden.root().at("vocabulary").string());
  io::write_file(folder / "merges.txt", golden.root().at("merges").string());
  tokenizer const t = tokenizer::gpt2(folder / "vocab.json", folder / "merges.txt");
  EXPECT_GT(t.size(), 256);
  EXPECT_EQ(golden.root().at("cases").size(), 49U);
  for (io::json_value const one : golden.root().at("cases").items()) {
    tokens expected;
    for (io::json_value const token : one.at("tokens").items())
      expected.push_back(static_cast<std::int32_t>(token.integer()));
    EXPECT_EQ(t.encode(one.at("text").string()), expected) << one.at("text").string();
    EXPECT_EQ(t.decode(expected), one.at("text").string());
  }
}

TEST(tokenizer, reports_the_position_of_an_error_in_gpt2_files) {
  scratch_folder const folder;
  std::string const vocabulary = folder / "vocab.json", merges = folder / "merges.txt";
  io::write_file(vocabulary, vocabulary_json({"ab", "<|endoftext|>"}));
  auto const refused = [&](std::string const& text) {
    io::write_file(merges, text);
    return message_of<data_error>([&] { tokenizer::gpt2(vocabulary, merges); });
  };
  EXPECT_EQ(refused("a b\nbc\n"), "cannot read the merges (" + merges
                                      + ", line 2): expected two tokens with a space between them, got 'bc'");
  EXPECT_EQ(refused("a b\nb c\n"), "a merge contains a token that is not in the vocabulary (" + merges
                                       + ", line 2): expected a token of the vocabulary, got 'bc'");
  EXPECT_EQ(refused("a b\r\n"), "nothing thrown");

  io::write_file(vocabulary, R"({"a": 0, "b": 1, "ab": 2})");
  EXPECT_EQ(refused("a b\n"), "the vocabulary is incomplete (" + vocabulary
                                  + "): expected a token for each of the 256 bytes, got none for the byte 0");
  io::write_file(vocabulary, R"({"a": 0, "b": 0})");
  EXPECT_EQ(refused(""), "cannot read JSON (" + vocabulary
                             + ":1:15, $.b): expected a number that no other token has, got 0");
}

TEST(tokenizer, round_trips_through_a_file) {
  scratch_folder const folder;
  std::string const path = folder / "tokens.json";
  for (tokenizer const& t : {tokenizer::bytes(), tokenizer::characters("aä€😀\n"),
                             tokenizer::byte_pairs("low lower low lower", 300)}) {
    t.save(path);
    tokenizer const loaded = tokenizer::load(path);
    ASSERT_EQ(loaded.size(), t.size());
    for (int k = 0; k < t.size(); ++k) EXPECT_EQ(loaded.text_of(k), t.text_of(k));
    std::string const text = t.size() == 5 ? "€a\n" : "lower \xff low";
    EXPECT_EQ(loaded.encode(text), t.encode(text));
  }
}

TEST(tokenizer, refuses_damaged_files) {
  scratch_folder const folder;
  std::string const path = folder / "tokens.json";
  auto const refused = [&](std::string const& text) {
    io::write_file(path, text);
    return message_of<data_error>([&] { tokenizer::load(path); });
  };
  EXPECT_EQ(refused(R"({"format":"other","version":1,"kind":"bytes","tokens":[],"merges":[]})"),
            "cannot read JSON (" + path
                + ":1:11, $.format): expected 'cohort tokenizer', got the string \"other\"");
  EXPECT_EQ(
      refused(
          R"({"format":"cohort tokenizer","version":1,"kind":"characters","tokens":["a","a"],"merges":[]})"),
      "two tokens have the same text (" + path + "): expected distinct tokens, got tokens 0 and 1");
  EXPECT_EQ(
      refused(R"({"format":"cohort tokenizer","version":1,"kind":"characters","tokens":["ab"],"merges":[]})"),
      "cannot read JSON (" + path + ":1:72, $.tokens[0]): expected one character, got the string \"ab\"");
  EXPECT_EQ(refused(R"({"format":"cohort tokenizer","version":1,"kind":"bytes","tokens":[],"merges":[]})"),
            "the vocabulary is incomplete (" + path
                + "): expected a token for each of the 256 bytes, got none for the byte 0");
  EXPECT_EQ(
      refused(R"({"format":"cohort tokenizer","version":1,"kind":"characters","tokens":[],"merges":[]})"),
      "cannot read JSON (" + path + ":1:71, $.tokens): expected at least one token, got an array of 0");
}

TEST(tokenizer, refuses_files_with_byte_tokens_in_another_order) {
  scratch_folder const folder;
  std::string const path = folder / "tokens.json";
  tokenizer::bytes().save(path);
  std::string text = io::read_text(path);
  std::size_t const place = text.find("\"a\",\"b\"");
  ASSERT_NE(place, std::string::npos);
  io::write_file(path, text.replace(place, 7, "\"b\",\"a\""));
  EXPECT_TRUE(message_of<data_error>([&] {
                tokenizer::load(path);
              }).ends_with("$.tokens[97]): expected the byte 97, got the string \"b\""));
}

TEST(tokenizer, reads_or_refuses_randomly_truncated_or_changed_files) {
  scratch_folder const folder;
  std::string const path = folder / "tokens.json";
  tokenizer::byte_pairs("low lower low lower", 260).save(path);
  std::string const whole = io::read_text(path);
  std::mt19937 random(1);
  int refused = 0;
  for (int k = 0; k < 1000; ++k) {
    std::string text = whole;
    if (k % 2 == 0)
      text.resize(random() % text.size());
    else
      text[random() % text.size()] = static_cast<char>(random());
    std::ofstream(path) << text;
    try {
      tokenizer const loaded = tokenizer::load(path);
      (void)loaded.decode(loaded.encode("low lower"));
    } catch (error const&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 700);
}

}  // namespace tokenizer_test
