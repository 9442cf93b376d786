// SPDX-License-Identifier: Apache-2.0
// needs: onednn text
#include <cmath>
#include <cohort/cohort.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/layer/attention.hpp>
#include <cohort/layer/positions.hpp>
#include <cohort/onednn.hpp>
#include <cohort/text/generate_tokens.hpp>
#include <cohort/text/token_crops.hpp>
#include <cohort/text/tokenizer.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace cohort;

struct extents {
  int blocks, heads, units, steps;
};
constexpr extents tiny{2, 4, 64, 32}, small{4, 4, 128, 64}, baby{6, 6, 384, 256}, gpt2{12, 12, 768, 1024};
constexpr extents chosen = tiny;

graph transformer(extents const& e, int vocabulary) {
  layer_settings const initial{.weights = init::normal{.deviation = 0.02}};
  auto const to = [&](int units) { return dense{.units = units, .settings = initial}; };
  return graph::build([&](builder& b) {
    tensor x = b.input({e.steps})
               | embedding{.vocabulary = vocabulary, .width = e.units, .settings = initial, .name = "tokens"}
               | learned_positions{.settings = initial};
    for (int block = 0; block < e.blocks; ++block) {
      tensor const read = x | layer_norm{} | to(3 * e.units) | attention{.heads = e.heads, .causal = true};
      x = x + (read | to(e.units));
      x = x + (x | layer_norm{} | to(4 * e.units) | gelu_tanh{} | to(e.units));
    }
    return x | layer_norm{} | dense{.units = vocabulary, .bias = false, .settings = {.shares = "tokens"}}
           | softmax_cross_entropy{};
  });
}

/// Trains until `epochs` epochs are complete, from the newest checkpoint in `folder` if there is one.
void train(communicator& world, tokenizer const& pieces, double tokens_per_byte, int epochs,
           std::string const& folder) {
  bool const prints = world.rank() == 0;
  token_stream const all = token_stream::map("tokens.bin");
  std::int64_t const cut = all.size() * 9 / 10;
  crop_settings crops{.length = chosen.steps, .vocabulary = pieces.size()};
  dataset const text = token_crops(all.part(0, cut), crops);
  crops.fixed = true;
  dataset const held = token_crops(all.part(cut, all.size() - cut), crops);

  schedule::one_cycle const rate{
      .initial = 1e-4, .peak = 5e-3, .final = 5e-4, .length = 150, .by = schedule::unit::step};
  training model =
      trainer<onednn>(transformer(chosen, pieces.size()), world, allreduce{},
                      {.optimizer = {.rule = adamw{.learning_rate = rate, .beta2 = 0.99, .decay = 0.1},
                                     .normalisation = normalise::clip_global_norm{1},
                                     .decay_from_rank = 2}});
  checkpoint_listener saving(folder, 25);
  fit_settings how{.batch = 8, .validation = held, .metrics = {metrics::perplexity}, .listeners = {&saving}};
  run_memory const memory = model.memory_of(text, how);
  if (prints) std::printf("%s\n", text_of(memory, 1, 1).c_str());

  auto const from = resume(model, folder);
  if (prints && from) std::printf("continues %s\n", from->c_str());
  how.epochs = epochs - static_cast<int>(model.epoch());
  fit_report const done = model.fit(text, how);
  for (double const perplexity : done.history["perplexity"])
    if (prints) std::printf("perplexity on held-out text %.2f\n", perplexity);
  double const loss = model.evaluate(held).log_loss().value_or(NAN);
  if (prints)
    std::printf("step %d: held-out loss %.2f, %.2f bits per byte\n", static_cast<int>(model.step()), loss,
                loss * tokens_per_byte / std::log(2.0));
  model.save("language_model.safetensors");
}

void print_samples(std::string const& start) {
  training const model = load_trained<onednn>("language_model.safetensors");
  tokenizer const pieces = tokenizer::load("tokenizer.json");
  std::vector<std::int32_t> const prompt = pieces.encode(start);
  for (sampling const& rules :
       {sampling{.temperature = 0}, sampling{.temperature = 0.8, .top_k = 20}, sampling{.top_p = 0.9}}) {
    auto const next = generate_tokens(model, prompt, {.count = 12, .rules = rules, .seed = 1});
    std::printf("> %s%s\n", start.c_str(), pieces.decode(next).c_str());
  }
}

int main(int argc, char** argv) try {
  int const epochs = argc > 1 ? std::atoi(argv[1]) : 2;
  bool const reads_gpt2 = argc > 2 && std::string_view(argv[2]) == "gpt2";

  std::string const text = io::read_text("sentences.txt");
  tokenizer const pieces =
      reads_gpt2 ? tokenizer::gpt2("gpt2/vocab.json", "gpt2/merges.txt") : tokenizer::byte_pairs(text, 400);
  std::vector<std::int32_t> const tokens = pieces.encode(text);
  std::printf("%zu bytes are %zu tokens of a vocabulary of %d\n", tokenizer::bytes().encode(text).size(),
              tokens.size(), pieces.size());
  write_tokens("tokens.bin", tokens);
  pieces.save("tokenizer.json");
  for (auto const& [name, e] : {std::pair("tiny", tiny), {"small", small}, {"baby", baby}, {"gpt2", gpt2}})
    std::printf("%s: %.2f million parameters\n", name,
                1e-6 * static_cast<double>(transformer(e, pieces.size()).parameter_count()));

  double const tokens_per_byte = static_cast<double>(tokens.size()) / static_cast<double>(text.size());
  int const status = launch<threads>(2, [&](communicator& world) {
    train(world, pieces, tokens_per_byte, epochs, reads_gpt2 ? "runs_gpt2" : "runs");
  });
  if (status == 0) print_samples("the king");
  return status;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
