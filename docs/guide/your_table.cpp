// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <cohort/cohort.hpp>
#include <cohort/onednn.hpp>
#include <cstdio>

int main() try {
  using namespace cohort;
  data_table const flats = read_table("flats.csv", {.missing = missing_values::keep});
  auto const [seen, held_out] = split(flats, 0.8, {.seed = 1});

  table_encoder const encoder(
      seen, {.target = "rent", .regression = true, .impute = imputation::mean, .log = stderr_sink()});
  dataset const examples = encoder.examples(seen), held = encoder.examples(held_out);

  graph const net = graph::build([&](builder& b) {
    return b.input(examples.describe().inputs[0].example) | dense{.units = 32} | relu{} | dense{.units = 1}
           | mean_squared_error{};
  });
  auto model =
      trainer<onednn>(net, {.optimizer = {adam{.learning_rate = schedule::exponential{.initial = 0.01}}}});
  model.keep(encoder);
  model.normalise(examples, {.targets = rescaling::standardise});

  early_stopping_listener stopping(metrics::rmse, {.patience = 10, .restore_best = true});
  fit_report const report = model.fit(examples, {.batch = 16,
                                                 .epochs = 100,
                                                 .validation = held,
                                                 .metrics = {metrics::rmse, metrics::r2},
                                                 .listeners = {&stopping}});
  std::printf("%s", report.history.csv().c_str());
  model.save("rents.safetensors");

  auto const loaded = load_trained<onednn>("rents.safetensors");
  data_table const asked = parse_table("rooms,area,district\n2,60,north\n4,120,centre\n", "a question");
  predictions const rents = loaded.predict(asked);
  std::printf("a small flat in the north: %.1f\n", static_cast<double>(rents[0][0]));
  std::printf("a large flat in the centre: %.1f\n", static_cast<double>(rents[1][0]));
  return 0;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
