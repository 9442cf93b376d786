// SPDX-License-Identifier: Apache-2.0
// covers: text/doc2vec_settings
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/text/doc2vec.hpp>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "../checkpoint/scratch_folder.hpp"
#include "../data/refused.hpp"

namespace doc2vec_test {

using namespace cohort;
using kind = doc2vec_settings::kind;

/// A line of ten words of a topic and five words that all topics share.
std::string document_of(int topic, std::uint64_t number) {
  random_stream const draws(3, "document", static_cast<std::uint64_t>(topic), number);
  std::string text;
  for (std::uint64_t i = 0; i < 15; ++i) {
    std::string const word = i % 3 == 0 ? "common" : "topic" + std::to_string(topic) + "-";
    text += word + std::to_string(draws.below(i, 12)) + ' ';
  }
  return text + '\n';
}

constexpr int topics = 3, documents = 60;

std::string corpus() {
  std::string text;
  for (int d = 0; d < documents; ++d) text += document_of(d % topics, static_cast<std::uint64_t>(d));
  return text;
}

doc2vec_settings settings_of(kind model) {
  return {.model = model,
          .width = 16,
          .window = 3,
          .subsample = 0,
          .learning_rate = 0.05,
          .epochs = 60,
          .seed = 5};
}

double cosine(std::span<float const> a, std::span<float const> b) {
  double const ab = std::inner_product(a.begin(), a.end(), b.begin(), 0.0),
               aa = std::inner_product(a.begin(), a.end(), a.begin(), 0.0),
               bb = std::inner_product(b.begin(), b.end(), b.begin(), 0.0);
  return ab / std::sqrt(aa * bb);
}

/// Returns the topic of the document whose vector is nearest, except `except`.
std::int64_t nearest_topic(doc2vec const& model, std::span<float const> vector, std::int64_t except = -1) {
  std::int64_t best = -1;
  for (std::int64_t d = 0; d < model.documents(); ++d)
    if (d != except
        && (best < 0 || cosine(vector, model.vector_of(d)) > cosine(vector, model.vector_of(best))))
      best = d;
  return best % topics;
}

TEST(doc2vec, puts_documents_of_a_topic_near_each_other) {
  word_vocabulary const words = word_vocabulary::of(corpus(), {.min_count = 1});
  for (kind const model : {kind::distributed_memory, kind::bag_of_words}) {
    doc2vec vectors(words, settings_of(model));
    std::vector<double> const losses = vectors.fit(words.encode(corpus()));
    ASSERT_EQ(losses.size(), 60U);
    EXPECT_LT(losses.back(), 0.8 * losses.front());
    ASSERT_EQ(vectors.documents(), documents);
    int right = 0, new_right = 0;
    for (std::int64_t d = 0; d < documents; ++d)
      right += nearest_topic(vectors, vectors.vector_of(d), d) == d % topics;
    for (int d = 0; d < 30; ++d) {
      std::vector<float> const vector =
          vectors.infer(words.encode(document_of(d % topics, 1000 + static_cast<std::uint64_t>(d))));
      new_right += nearest_topic(vectors, vector) == d % topics;
    }
    EXPECT_GE(right, 54) << static_cast<int>(model);      // chance: 20
    EXPECT_GE(new_right, 26) << static_cast<int>(model);  // chance: 10
  }
}

TEST(doc2vec, gives_the_same_bits_again_and_after_loading) {
  scratch_folder const folder;
  word_vocabulary const words = word_vocabulary::of(corpus(), {.min_count = 1});
  std::vector<std::int32_t> const tokens = words.encode(corpus()), other = words.encode(document_of(1, 77));
  for (kind const model : {kind::distributed_memory, kind::bag_of_words}) {
    doc2vec_settings settings = settings_of(model);
    settings.epochs = 3;
    settings.subsample = 0.02;
    doc2vec first(words, settings), second(words, settings), loaded(words, settings);
    EXPECT_EQ(first.fit(tokens), second.fit(tokens));
    std::vector<float> const before = first.infer(other);
    EXPECT_EQ(before, second.infer(other));
    first.save(folder / "vectors.safetensors");
    loaded.load(folder / "vectors.safetensors");
    ASSERT_EQ(loaded.documents(), documents);
    for (std::int64_t d = 0; d < documents; ++d)
      ASSERT_TRUE(std::ranges::equal(loaded.vector_of(d), second.vector_of(d))) << d;
    EXPECT_EQ(loaded.infer(other), before);
    EXPECT_EQ(first.infer(other), before);  // inference changes no vectors
    settings.width = 15;
    doc2vec narrower(words, settings);
    expect_parts(refused<data_error>([&] { narrower.load(folder / "vectors.safetensors"); }),
                 {"vectors.safetensors, settings", "width 15", "width 16"});
  }
}

TEST(doc2vec, counts_lines_as_documents) {
  word_vocabulary const words = word_vocabulary::of("a b a\n\nunknown\nb a", {.min_count = 2});
  doc2vec vectors(words, {.width = 4, .subsample = 0, .epochs = 1});
  vectors.fit(words.encode("a b a\n\nunknown\nb a"));
  EXPECT_EQ(vectors.documents(), 4);
  expect_parts(refused<shape_error>([&] { (void)vectors.vector_of(4); }),
               {"no such document", "0 to 3", "got 4"});
  EXPECT_EQ(vectors.infer({}).size(), 4U);
}

TEST(doc2vec, refuses_invalid_settings_and_tokens) {
  word_vocabulary const words = word_vocabulary::of("a b a b", {.min_count = 1});
  auto const refusal_of = [&](doc2vec_settings const& settings) {
    return refused<setting_error>([&] { doc2vec(words, settings); });
  };
  expect_parts(refusal_of({.width = 0}), {"doc2vec", "width", "got 0"});
  expect_parts(refusal_of({.window = 0}), {"window", "got 0"});
  expect_parts(refusal_of({.negatives = 0}), {"negatives", "got 0"});
  expect_parts(refusal_of({.subsample = 2}), {"subsample", "0 to 1", "got 2"});
  expect_parts(refusal_of({.learning_rate = std::numeric_limits<double>::infinity()}), {"learning_rate"});
  expect_parts(refusal_of({.final_rate = 1}), {"final_rate", "got 1"});
  expect_parts(refusal_of({.epochs = 0}), {"epochs", "got 0"});
  doc2vec vectors(words);
  std::vector<std::int32_t> const tokens{0, 1, 3};
  expect_parts(refused<data_error>([&] { vectors.fit(tokens); }),
               {"not in the vocabulary", "token 2", "0 to 1, or 2", "got 3"});
  expect_parts(refused<setting_error>([&] { vectors.infer({}); }), {"no vectors of words", "fit or load"});
}

}  // namespace doc2vec_test
