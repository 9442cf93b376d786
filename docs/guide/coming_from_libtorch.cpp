// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <cohort/cohort.hpp>
#include <cohort/onednn.hpp>
#include <cstdint>
#include <cstdio>
#include <vector>

constexpr auto net = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  tensor const x = b.input({8}) | dense{.units = 32} | relu{};
  tensor const residual = x | dense{.units = 32} | relu{};
  return (x + residual) | dense{.units = 1} | mean_squared_error{};
}>();

/// x in [0, 1)⁸ and y = Σ i·x_i², in the program's own memory.
struct samples {
  std::vector<float> x, y;

  samples(int count, std::uint64_t seed) {
    cohort::random_stream const numbers(seed, "samples");
    for (int n = 0; n < count; ++n) {
      float sum = 0;
      for (int i = 0; i < 8; ++i) {
        x.push_back(numbers.uniform01(static_cast<std::uint64_t>(n * 8 + i)));
        sum += static_cast<float>(i) * x.back() * x.back();
      }
      y.push_back(sum);
    }
  }
  int size() const { return static_cast<int>(y.size()); }
  cohort::tensor_view inputs() const { return {x.data(), {size(), 8}}; }
  cohort::dataset data() const {
    return cohort::arrays({{.name = "x", .values = inputs()}},
                          {{.name = "y", .values = {y.data(), {size(), 1}}}});
  }
};

int main() try {
  samples const known(2000, 1), held(200, 2);
  auto training = cohort::trainer<cohort::onednn>(net, {.optimizer = {cohort::adamw{.learning_rate = 3e-3}}});
  cohort::score_listener score(100);
  training.fit(known.data(), {.batch = 64, .epochs = 30, .listeners = {&score}});
  training.save("net.safetensors");

  auto const model = cohort::load_trained<cohort::onednn>("net.safetensors");
  cohort::predictions const outputs = model.predict(held.inputs());
  double squares = 0;
  for (int i = 0; i < held.size(); ++i) {
    double const error = static_cast<double>(outputs[i][0] - held.y[static_cast<std::size_t>(i)]);
    squares += error * error / held.size();
  }
  std::printf("mean squared error %.3f\n", squares);
  return squares < 0.5 ? 0 : 1;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
