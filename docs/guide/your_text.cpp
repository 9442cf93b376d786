// SPDX-License-Identifier: Apache-2.0
// needs: onednn text
#include <cmath>
#include <cohort/cohort.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/onednn.hpp>
#include <cohort/text/generate_tokens.hpp>
#include <cohort/text/token_crops.hpp>
#include <cohort/text/tokenizer.hpp>
#include <cstdio>
#include <string>
#include <vector>

int main() try {
  using namespace cohort;
  std::string const text = io::read_text("sentences.txt");
  tokenizer const characters = tokenizer::characters(text);
  token_stream const tokens(characters.encode(text));
  std::printf("%d characters, %d different ones\n", static_cast<int>(tokens.size()), characters.size());

  constexpr int steps = 32;
  std::int64_t const cut = tokens.size() * 9 / 10;
  crop_settings const crops{.length = steps, .vocabulary = characters.size()};
  dataset const train = token_crops(tokens.part(0, cut), crops);
  dataset const held = token_crops(tokens.part(cut, tokens.size() - cut),
                                   {.length = steps, .vocabulary = characters.size(), .fixed = true});

  graph const net = graph::build([&](builder& b) {
    return b.input({steps}) | embedding{.vocabulary = characters.size(), .width = 32} | gru{.units = 64}
           | dense{.units = characters.size()} | softmax_cross_entropy{};
  });
  auto model = trainer<onednn>(net, {.optimizer = {.rule = adam{.learning_rate = 0.01},
                                                   .normalisation = normalise::clip_global_norm{1}}});
  fit_report const report = model.fit(train, {.batch = 16, .epochs = 12, .validation = held});
  double const loss = report.history["validation loss"].back();
  std::printf("loss on held-out text: %.2f, perplexity %.2f\n", loss, std::exp(loss));

  std::vector<std::int32_t> const prompt = characters.encode("the king ");
  auto const next = generate_tokens(model, prompt, {.count = 60, .rules = {.temperature = 0.5}});
  std::printf("the king %s\n", characters.decode(next).c_str());

  model.save("sentences.safetensors");
  characters.save("characters.json");
  auto const loaded = load_trained<onednn>("sentences.safetensors");
  tokenizer const same = tokenizer::load("characters.json");
  bool const equal =
      generate_tokens(loaded, same.encode("the king "), {.count = 60, .rules = {.temperature = 0.5}}) == next;
  std::printf("loaded, it writes the same text: %s\n", equal ? "yes" : "no");
  return equal ? 0 : 1;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
