// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <cohort/cohort.hpp>
#include <cohort/onednn.hpp>
#include <cstdio>
#include <string>
#include <vector>

int main() try {
  using namespace cohort;
  data_table const flowers = read_table("flowers.csv");
  auto const [seen, held_out] = split(flowers, 0.8, {.seed = 1, .stratified_by = "species"});

  table_encoder const encoder(seen, {.target = "species"});
  dataset const examples = encoder.examples(seen), held = encoder.examples(held_out);

  graph const net = graph::build([&](builder& b) {
    return b.input(examples.describe().inputs[0].example) | dense{.units = 16} | relu{}
           | dense{.units = encoder.classes()} | softmax_cross_entropy{};
  });
  auto model = trainer<onednn>(net, {.optimizer = {adam{.learning_rate = 0.01}}});
  model.keep(encoder);
  model.normalise(examples);
  model.fit(examples, {.batch = 16, .epochs = 30, .validation = held, .metrics = {metrics::accuracy}});

  classification_report const result = model.evaluate(held);
  std::printf("%s\n", result.stats().c_str());
  std::printf("recall of lilies: %.3f\n", result.recall(0).value_or(0));
  model.save("flowers.safetensors");

  auto const loaded = load_trained<onednn>("flowers.safetensors");
  std::vector<std::string> const& names = loaded.encoder().label_names();
  data_table const found = parse_table("width,length,colour\n1.1,4.9,white\n3.2,3.0,red\n", "found flowers");
  predictions const answers = loaded.predict(found);
  for (int i = 0; i < answers.count(); ++i) {
    auto const best = static_cast<std::size_t>(answers.best(i));
    std::printf("flower %d: %s, probability %.2f\n", i + 1, names[best].c_str(),
                static_cast<double>(answers[i][best]));
  }
  return 0;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
