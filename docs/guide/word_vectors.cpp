// SPDX-License-Identifier: Apache-2.0
// needs: onednn text
#include <cohort/cohort.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/text/word2vec.hpp>
#include <cstdio>
#include <string>

int main() try {
  using namespace cohort;
  std::string const text = io::read_text("sentences.txt");
  word_vocabulary const words = word_vocabulary::of(text, {.min_count = 5});
  token_stream const tokens(words.encode(text));
  std::printf("%d words, the most frequent one: %s\n", words.size(), words.words()[0].c_str());

  word2vec_settings const how{
      .width = 32, .window = 3, .optimizer = sgd{.learning_rate = 0.05}, .epochs = 10, .windows = 256};
  int const status = launch<threads>(2, [&](communicator& world) {
    word2vec run(words, world, how);
    double first = 0, last = 0;
    std::int64_t bytes = 0;
    run.fit(tokens, [&](word2vec_step const& made) {
      (made.step == 0 ? first : last) = made.loss;
      bytes = made.bytes_sent;
    });
    if (world.rank() > 0) return;
    std::printf("loss %.2f, at the end %.2f\n", first, last);
    std::printf("the last step sent %d bytes\n", static_cast<int>(bytes));
    run.vectors().save("vectors.bin", vector_format::binary);
  });
  if (status != 0) return status;

  word_vectors const vectors = word_vectors::load("vectors.bin", vector_format::binary);
  for (neighbour const& one : vectors.nearest("hears", 2))
    std::printf("hears ~ %s %.2f\n", one.word.c_str(), one.similarity);
  std::printf("similarity of king and lady: %.2f\n", vectors.similarity("king", "lady"));
  return 0;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
