// SPDX-License-Identifier: Apache-2.0
// needs: onednn text
// Trains a character model on a text, and prints its mean loss on held-out text as JSON:
//   train_text TEXT char_lstm|char_gru|gpt_small SEED ITERATIONS WORKERS
// The last tenth of the text is held out. Its counterpart is pytorch_text.py.
#include "arguments.hpp"
#include "context.hpp"
#include "networks.hpp"
#include "stopwatch.hpp"

#include <cohort/data/loader.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/onednn.hpp>
#include <cohort/text/token_crops.hpp>
#include <cohort/text/tokenizer.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <cstdio>
#include <string>

int main(int argc, char** argv) try {
  using namespace benchmarks;
  using namespace cohort;
  std::string const name = argc > 2 ? argv[2] : "";
  bool const attends = name == "gpt_small";
  if (argc != 6 || (name != "char_lstm" && name != "char_gru" && !attends)) {
    std::fprintf(stderr, "usage: train_text TEXT char_lstm|char_gru|gpt_small SEED ITERATIONS WORKERS\n");
    return 2;
  }
  auto const seed = static_cast<std::uint64_t>(whole_number(argv[3], "SEED"));
  int const iterations = whole_number(argv[4], "ITERATIONS"), workers = whole_number(argv[5], "WORKERS");
  std::string const text = io::read_text(argv[1], std::uint64_t{1} << 32);
  tokenizer const characters = tokenizer::characters(text);
  token_stream const all(characters.encode(text));
  std::int64_t const cut = all.size() * 9 / 10;
  graph_view const net = find_network(name)->net;
  int const length = net[net.with_role(layer_role::input)[0]].output[0];
  crop_settings const crops{.length = length, .vocabulary = characters.size(), .seed = seed};
  crop_settings fixed = crops;
  fixed.fixed = true;
  optimizer_rule const how = attends
                                 ? optimizer_rule(adamw{.learning_rate = 1e-3, .beta2 = 0.99, .decay = 0.1})
                                 : optimizer_rule(adam{.learning_rate = 2e-3, .beta2 = 0.99});
  training model = trainer<onednn>(
      graph(net), {.optimizer = {.rule = how, .normalisation = normalise::clip_global_norm{1}},
                   .seed = seed,
                   .workers = workers});
  loader batches(token_crops(all.part(0, cut), crops), {.batch = attends ? 12 : 32, .seed = seed});
  double loss = 0;
  double const taken = seconds([&] {
    for (int epoch = 0, done = 0; done < iterations; ++epoch) {
      batches.start(epoch);
      for (batch const* next = batches.next(); next && done < iterations; next = batches.next(), ++done)
        loss = model.train_on(*next).loss;
    }
  });
  double const held_out = *model.evaluate(token_crops(all.part(cut, all.size()), fixed)).log_loss();
  std::printf(
      "{\"name\": \"cohort\", \"commit\": \"%s\", \"net\": \"%s\", \"seed\": %s, \"iterations\": %d, "
      "\"seconds\": %.1f, \"loss\": %.4f, \"held_out_loss\": %.4f}\n",
      commit().c_str(), name.c_str(), argv[3], iterations, taken, loss, held_out);
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
