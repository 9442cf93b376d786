// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <cohort/cohort.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/onednn.hpp>
#include <cohort/prediction/stateful_predictions.hpp>
#include <cstdio>
#include <span>
#include <vector>

int main() try {
  using namespace cohort;
  time_series const weather = read_table("weather.csv").series({"temperature"});
  auto const [past, recent] = split_series(weather, 0.8);

  constexpr int hours = 24;
  window_settings const day{.length = hours, .horizons = {1}};
  dataset const train = windows(past, day), held = windows(recent, day);
  std::printf("%d windows for training, %d held out\n", static_cast<int>(train.size()),
              static_cast<int>(held.size()));

  graph const net = graph::build([&](builder& b) {
    return b.input(train.describe().inputs[0].example) | lstm{.units = 16, .last_step = true}
           | dense{.units = 1} | mean_squared_error{.name = "temperature"};
  });
  auto model =
      trainer<onednn>(net, {.optimizer = {adam{.learning_rate = schedule::exponential{.initial = 3e-3}}}});
  model.normalise(train, {.targets = rescaling::standardise});
  model.fit(train, {.batch = 32, .epochs = 30});

  regression_report forecast, last_value;
  model.evaluate(held, {{"temperature", &forecast}});
  int const count = static_cast<int>(held.size());
  std::span<float const> const known = recent.values().as<float>();
  last_value.add(tensor_view{known.data() + hours - 1, {count, 1}},
                 tensor_view{known.data() + hours, {count, 1}});
  std::printf("error: %.2f degrees; of the last value: %.2f\n", forecast.rmse().value_or(0),
              last_value.rmse().value_or(0));
  model.save("weather.safetensors");

  auto const loaded = load_trained<onednn>("weather.safetensors");
  std::span<float const> const all = weather.values().as<float>();
  stateful_predictions stream(loaded);
  predictions next = stream.advance(tensor_view{all.data() + all.size() - hours, {1, hours, 1}});
  for (int hour = 1; hour <= 6; ++hour) {
    std::printf("in %d h: %.1f\n", hour, static_cast<double>(next[0][0]));
    float const degrees = next[0][0];
    next = stream.advance(tensor_view{&degrees, {1, 1, 1}});
  }
  return forecast.rmse() < last_value.rmse() ? 0 : 1;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
