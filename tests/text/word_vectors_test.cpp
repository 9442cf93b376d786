// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/text/word_vectors.hpp>
#include <limits>
#include <string>
#include <utility>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"

namespace word_vectors_test {

using namespace cohort;
using texts = std::vector<std::string>;
using numbers = std::vector<float>;

word_vectors const corners({"east", "north", "up", "northeast", "west", "nowhere"}, 3,
                           {2, 0, 0, 0, 1, 0, 0, 0, 3, 1, 1, 0, -1, 0, 0, 0, 0, 0});

texts words_of(std::vector<neighbour> const& found) {
  texts words;
  for (neighbour const& one : found) words.push_back(one.word);
  return words;
}

numbers values_of(word_vectors const& all) {
  numbers values;
  for (std::string const& word : all.words())
    values.insert(values.end(), all.vector_of(word).begin(), all.vector_of(word).end());
  return values;
}

TEST(word_vectors, find_neighbours_by_cosine_similarity) {
  auto const found = corners.nearest("east", 3);
  EXPECT_EQ(words_of(found), (texts{"northeast", "north", "up"})) << "of equal angles the earlier word";
  EXPECT_NEAR(found[0].similarity, std::sqrt(0.5), 1e-12);
  EXPECT_EQ(words_of(corners.nearest("east", 99)), (texts{"northeast", "north", "up", "nowhere", "west"}));
  EXPECT_EQ(words_of(corners.nearest(numbers{5, 0, 0}, 1)), texts{"east"});
  EXPECT_NEAR(corners.similarity("east", "west"), -1, 1e-15);
  EXPECT_EQ(corners.similarity("nowhere", "west"), 0);
  EXPECT_TRUE(corners.nearest("east", 0).empty());
}

TEST(word_vectors, complete_analogies_without_the_words_of_the_query) {
  // The analogy is king − man + woman of normalised vectors, so the lengths of the vectors do not matter.
  word_vectors const all({"man", "king", "woman", "queen", "child"}, 2, {3, 0, 5, 5, -3, 0.3F, -1, 2, 1, -4});
  EXPECT_EQ(words_of(all.analogy("man", "king", "woman", 2)), (texts{"queen", "child"}));
}

TEST(word_vectors, find_words_after_copies_and_moves) {
  word_vectors copy = corners, other({"x"}, 1, {1});
  other = copy;
  word_vectors const moved = std::move(copy);
  EXPECT_EQ(other.find("up"), 2);
  EXPECT_EQ(moved.find("up"), 2);
  EXPECT_EQ(other.find("x"), std::nullopt);
  EXPECT_EQ(other.width(), 3);
}

TEST(word_vectors, refuse_invalid_words_numbers_and_queries) {
  EXPECT_EQ(refusal_of<setting_error>([] { word_vectors({"a"}, 2, {1}); }),
            "the number of values is not the number of words times the width (word_vectors): expected 1 x 2 "
            "values, got 1");
  EXPECT_EQ(refusal_of<data_error>([] { word_vectors({""}, 1, {1}); }),
            "a word is empty or contains a separator (word 0): expected bytes without spaces, tabs and line "
            "ends, got \"\"");
  EXPECT_EQ(refusal_of<data_error>([] {
              word_vectors({"a", "a"}, 1, {1, 2});
            }),
            "two word vectors have the same word (word 1): expected different words, got \"a\"");
  EXPECT_EQ(refusal_of<data_error>([] { word_vectors({"a"}, 1, {std::numeric_limits<float>::infinity()}); }),
            "a number of a word vector is not finite (word 0, \"a\"): expected finite numbers, got inf");
  EXPECT_EQ(refusal_of<data_error>([] { corners.nearest("south"); }),
            "the word has no vector (word_vectors): expected one of 6 words, for example \"east\", got "
            "\"south\"");
  EXPECT_EQ(refusal_of<shape_error>([] {
              corners.nearest(numbers{1, 2});
            }),
            "the vector has another width than the word vectors (nearest): expected 3, got 2");
  EXPECT_EQ(refusal_of<setting_error>([] { corners.nearest("up", -1); }),
            "the number of neighbours is negative (count): expected at least 0, got -1");
}

TEST(word_vectors, are_read_back_from_both_formats_bit_by_bit) {
  scratch_folder const folder;
  random_stream const draws(4, "vectors");
  texts words;
  numbers values;
  for (std::uint64_t i = 0; i < 300; ++i) {
    words.push_back("w\xc3\xb6rd" + std::to_string(i));
    for (std::uint64_t k = 0; k < 7; ++k)
      values.push_back(
          std::ldexp(draws.normal<float>(7 * i + k), static_cast<int>(draws.below(k, 200)) - 100));
  }
  values[3] = std::numeric_limits<float>::denorm_min();
  values[4] = -std::numeric_limits<float>::max();
  values[5] = -0.0F;
  word_vectors const written(words, 7, values);
  for (vector_format const format : {vector_format::text, vector_format::binary}) {
    written.save(folder / "vectors", format);
    word_vectors const read = word_vectors::load(folder / "vectors", format);
    EXPECT_EQ(read.words(), words);
    EXPECT_EQ(values_of(read), values);
    EXPECT_EQ(std::signbit(read.vector_of(words[0])[5]), true);
  }
}

struct vector_files : ::testing::Test {
  scratch_folder folder;

  std::string write(std::string const& content) const {
    io::write_file(folder / "file", content);
    return folder / "file";
  }
  /// The error without the folder's name.
  std::string refused(std::string const& content, vector_format format = vector_format::text) const {
    std::string text = refusal_of<data_error>([&] { word_vectors::load(write(content), format); });
    if (std::size_t const at = text.find(folder.path()); at != std::string::npos)
      text.erase(at, folder.path().size() + 1);
    return text;
  }
};

TEST_F(vector_files, of_word2vec_and_gensim_are_read) {
  // The original tool writes a space before each line end.
  word_vectors const original =
      word_vectors::load(write("2 3\n</s> 0.5 -1 2.25 \nthe 1e-3 0.000000 -7.5 \n"));
  EXPECT_EQ(original.words(), (texts{"</s>", "the"}));
  EXPECT_EQ(values_of(original), (numbers{0.5, -1, 2.25, 1e-3F, 0, -7.5}));
  EXPECT_EQ(values_of(word_vectors::load(write("1 2\r\na +1.5 1e-60\r\n"))), (numbers{1.5, 0}));
  std::string const one("\x00\x00\x80\x3f", 4), ten("\x00\x00\x20\x41", 4);
  for (char const* const line_end : {"\n", ""}) {
    word_vectors const binary = word_vectors::load(
        write("2 2\nthe " + ten + one + line_end + "of " + one + one + line_end), vector_format::binary);
    EXPECT_EQ(binary.words(), (texts{"the", "of"}));
    EXPECT_EQ(values_of(binary), (numbers{10, 1, 1, 1}));
  }
}

TEST_F(vector_files, that_are_damaged_are_refused) {
  std::string const what = "cannot read the word vectors (file, ";
  EXPECT_EQ(refused(""), what + "first line): expected the number of words, got the end of the file");
  EXPECT_EQ(refused("x 3\n"), what + "first line): expected the number of words, at least 1, got \"x\"");
  EXPECT_EQ(refused("3"), what + "first line): expected the width, got the end of the file");
  EXPECT_EQ(refused("2 0\n"), what + "first line): expected the width, at least 1, got \"0\"");
  EXPECT_EQ(refused("-1 2\n"), what + "first line): expected the number of words, at least 1, got \"-1\"");
  EXPECT_EQ(refused("9000000000000000000 2\na 1 2\n"),
            what + "first line): expected at most 5 words of 2 numbers in 28 bytes, got 9000000000000000000");
  EXPECT_EQ(refused("2 4000000000\na 1 2\n"),
            what + "first line): expected at most 0 words of 4000000000 numbers in 19 bytes, got 2");
  EXPECT_EQ(refused("2 2\na 1 2\n          "), what + "word 1): expected a word, got the end of the file");
  EXPECT_EQ(refused("1 2\na 1 x\n"), what + "word 0): expected a finite number, got \"x\"");
  EXPECT_EQ(refused("1 2\na 1 nan\n"), what + "word 0): expected a finite number, got \"nan\"");
  EXPECT_EQ(refused("1 2\na 1 1e99\n"), what + "word 0): expected a finite number, got \"1e99\"");
  EXPECT_EQ(refused("1 2\na 1\n2\n"), what + "word 0): expected 2 numbers, got 1");
  EXPECT_EQ(refused("1 2\na\n1 2\n"), what + "word 0): expected 2 numbers after the word, got a line end");
  EXPECT_EQ(refused("1 2\na 1 2 3\n"),
            what + "word 0): expected the end of the file after the last word, got more bytes");
  EXPECT_EQ(refused("2 1\na 1\na 2\n"),
            "two word vectors have the same word (file, word 1): expected different words, got \"a\"");
  EXPECT_EQ(refused("1 1\n" + std::string(5000, 'a') + " 1\n"),
            what + "word 0): expected a word of at most 4096 bytes, got more");
  EXPECT_EQ(refused("1 2\na " + std::string("\x00\x00\x80\x3f", 4), vector_format::binary),
            what + "word 0): expected 4 bytes of a number, got the end of the file");
  EXPECT_EQ(refused("1 1\na " + std::string("\x00\x00\xc0\x7f", 4) + "\n", vector_format::binary),
            what + "word 0): expected a finite number, got NaN or infinity");
  EXPECT_THROW(word_vectors::load(folder / "missing"), file_error);
}

}  // namespace word_vectors_test
