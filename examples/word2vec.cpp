// SPDX-License-Identifier: Apache-2.0
// needs: documents onednn text
// label: slow
// Learns vectors of a text's words on one or more ranks, and prints nearest words: word2vec --help
#include <algorithm>
#include <chrono>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/json_writer.hpp>
#include <cohort/text/word2vec.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include "reference_program/program.hpp"
#include "reference_program/text_sets.hpp"

namespace {

using namespace cohort;
using reference_program::options;

reference_program::program_text const text{
    .name = "word2vec",
    .purpose =
        "Learns vectors of a text's words by skip-gram with negative sampling, and prints the nearest words.",
    .data = reference_program::text_help,
    .learning_rate = "learning rate of sgd, which falls to 0.0001",
    .words = "words, separated by commas, whose nearest words are printed",
    .flags =
        " data ranks communicator batch epochs learning-rate seed load save deadline heartbeat json words "};

options const defaults{.run = {.training = {.optimizer = {.rule = sgd{.learning_rate = 0.025}}},
                               .fit = {.batch = 1024, .epochs = 5}},
                       .words = "king,queen,love,death,sword"};

/// Returns the text with ASCII letters in lower case. All other ASCII characters except digits, apostrophes
/// and line ends become spaces, which separate words.
std::string plain_words(std::string text) {
  for (char& one : text) {
    auto const byte = static_cast<unsigned char>(one);
    if (one >= 'A' && one <= 'Z') one = static_cast<char>(one - 'A' + 'a');
    bool const kept = (one >= 'a' && one <= 'z') || (one >= '0' && one <= '9') || one == '\'' || one == '\n';
    if (!kept && byte < 0x80) one = ' ';
  }
  return text;
}

void print_neighbours(word_vectors const& vectors, std::string_view list) {
  while (!list.empty()) {
    std::size_t const end = std::min(list.find(','), list.size());
    std::string_view const word = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    std::printf("%-10.*s", static_cast<int>(word.size()), word.data());
    if (!vectors.find(word)) {
      std::printf(" (not in the vocabulary)\n");
      continue;
    }
    for (neighbour const& one : vectors.nearest(word, 6))
      std::printf(" %s %.2f", one.word.c_str(), one.similarity);
    std::printf("\n");
  }
}

void save(word2vec const& trained, std::string const& path) {
  if (path.ends_with(".safetensors"))
    trained.save(path);
  else
    trained.vectors().save(path, path.ends_with(".bin") ? vector_format::binary : vector_format::text);
}

/// Sums over the steps of an epoch.
struct epoch_sums {
  double loss = 0;
  std::int64_t pairs = 0, steps = 0, bytes = 0;

  void add(word2vec_step const& one) {
    if (one.pairs > 0) loss += one.loss * static_cast<double>(one.pairs);
    pairs += one.pairs;
    ++steps;
    bytes += one.bytes_sent;
  }
  std::optional<double> mean() const {
    return pairs > 0 ? std::optional(loss / static_cast<double>(pairs)) : std::nullopt;
  }
  void print(std::int64_t epoch) const {
    char loss_text[32] = "none";
    if (auto const known = mean()) std::snprintf(loss_text, sizeof loss_text, "%.4f", *known);
    std::printf("epoch %lld: loss %s, %lld steps, %.3f MB sent per rank and step\n",
                static_cast<long long>(epoch + 1), loss_text, static_cast<long long>(steps),
                static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(steps, 1)) / 1e6);
  }
};

int run_rank(options const& chosen, communicator& world) {
  std::string const path = reference_program::text_path(chosen.data);
  std::string const read =
      path.empty() ? reference_program::synthetic_sentences() : io::read_text(path, std::uint64_t{1} << 32);
  std::string const content = plain_words(read);
  bool const prints = world.rank() == 0;
  word_vocabulary const words = word_vocabulary::of(content);
  token_stream const tokens(words.encode(content));
  if (prints)
    std::printf("%s: %lld words, vocabulary %d, %d ranks\n",
                path.empty() ? "synthetic sentences" : path.c_str(), static_cast<long long>(words.total()),
                words.size(), world.size());
  word2vec run(words, world,
               {.optimizer = chosen.run.training.optimizer.rule,
                .final_rate = std::min(1e-4, chosen.learning_rate()),
                .epochs = std::max(chosen.run.fit.epochs, 1),
                .windows = chosen.run.fit.batch * world.size(),
                .seed = chosen.run.training.seed});
  if (!chosen.load.empty()) run.load(chosen.load);
  auto const begin = std::chrono::steady_clock::now();
  epoch_sums now, all;
  std::int64_t epoch = 0;
  if (chosen.run.fit.epochs > 0)
    run.fit(tokens, [&](word2vec_step const& one) {
      if (one.epoch != epoch && now.steps > 0) {
        if (prints) now.print(epoch);
        now = {};
      }
      epoch = one.epoch;
      now.add(one);
      all.add(one);
    });
  double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!prints) return 0;
  if (now.steps > 0) now.print(epoch);
  print_neighbours(run.vectors(), chosen.words);
  cohort::output_settings const& output = chosen.run.output;
  if (!output.model.empty()) save(run, output.model);
  if (output.report.empty()) return 0;
  io::json_writer out(2);
  out.begin_object().field("words", words.size()).key("loss");
  auto const loss = now.mean();
  loss ? out.value(*loss) : out.value(nullptr);
  out.field("steps", all.steps).field("bytes_sent", all.bytes).field("seconds", seconds).end_object();
  io::write_file(output.report, out.text());
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return reference_program::run_ranks(text, defaults, argc, argv, run_rank); }
