// SPDX-License-Identifier: Apache-2.0
// needs: onednn image
#include <cohort/cohort.hpp>
#include <cohort/image.hpp>
#include <cohort/onednn.hpp>
#include <cstdio>
#include <string>
#include <vector>

constexpr int side = 32;
constexpr int classes = 4;

constexpr auto net = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  auto const convolution = [](int filters, int stride) {
    return [=](tensor x) {
      return x | conv2d{.filters = filters, .kernel = 3, .stride = stride, .padding = 1, .bias = false}
             | batch_norm{};
    };
  };
  auto const block = [&](int filters, int stride) {
    return [=](tensor x) {
      tensor const shortcut =
          stride == 1
              ? x
              : x | conv2d{.filters = filters, .kernel = 1, .stride = stride, .bias = false} | batch_norm{};
      tensor const residual = x | convolution(filters, stride) | relu{} | convolution(filters, 1);
      return (shortcut + residual) | relu{};
    };
  };
  // clang-format off
  return b.input({3, side, side})
         | convolution(16, 1) | relu{}
         | block(16, 1) | block(32, 2) | block(64, 2)
         | global_avg_pool{} | dense{.units = classes} | softmax_cross_entropy{};
  // clang-format on
}>();

int main() try {
  using namespace cohort;
  image_folder const photographs("photographs",
                                 {.height = side, .width = side, .other_sizes = fitting::cover});

  auto const parts = split(cache(photographs), {0.7, 0.15, 0.15}, {.seed = 1, .stratified = true});
  dataset const &seen = parts[0], &held_out = parts[1], &unseen = parts[2];

  augmented const varied(
      seen,
      {.padding = 4, .place = placing::anywhere, .flip = true, .colour = {.brightness = 0.2}, .seed = 1});

  using choice = priority<onednn_bf16, onednn>;
  auto model = trainer<choice>(net, {.optimizer = {adam{.learning_rate = 2e-3}},
                                     .weights = init::relu{},
                                     .workers = 2,
                                     .log = stderr_sink()});
  model.normalise(seen);

  early_stopping_listener stopping(metrics::accuracy, {.patience = 4, .restore_best = true, .lines = {}});
  fit_report const report = model.fit(varied, {.batch = 32,
                                               .epochs = 12,
                                               .prefetch = 2,
                                               .readers = 2,
                                               .validation = held_out,
                                               .metrics = {metrics::accuracy},
                                               .listeners = {&stopping}});
  std::printf("%s", report.history.csv().c_str());

  std::printf("%s", model.evaluate(unseen).stats().c_str());
  model.save("photographs.safetensors");

  auto const loaded = load_trained<onednn>("photographs.safetensors");
  std::string const path = "photographs/" + photographs.paths()[0];
  image const asked = resized(decoded(io::read_file(path), path), side, side);
  std::vector<float> pixels(asked.pixels.begin(), asked.pixels.end());
  for (float& one : pixels) one /= 255;
  predictions const made = loaded.predict(tensor_view{pixels.data(), asked.dims.batched(1)});
  std::vector<std::string> const names = loaded.class_names();
  int const best = made.best(0);
  std::printf("%s: %s, probability %.2f\n", path.c_str(), names[std::size_t(best)].c_str(),
              static_cast<double>(made[0][std::size_t(best)]));
  return 0;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
