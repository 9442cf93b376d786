// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <array>
#include <cmath>
#include <cohort/cohort.hpp>
#include <cohort/onednn.hpp>
#include <cohort/training/training_loop.hpp>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

/// v = v + (1−β₂)·sign(g² − v)·g²; u = η·m̂ / (√v̂ + epsilon); m, m̂ and v̂ as in Adam
///
/// Source    Zaheer et al., Adaptive methods for nonconvex optimization, NeurIPS 2018.
struct yogi {
  static constexpr std::string_view kind_name = "yogi";
  static constexpr std::array<std::string_view, 2> states{"mean", "mean_square"};

  cohort::rate_schedule learning_rate = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-3;

  static constexpr auto fields() {
    return std::array{std::pair{"beta1", &yogi::beta1}, std::pair{"beta2", &yogi::beta2},
                      std::pair{"epsilon", &yogi::epsilon}};
  }
  std::array<double, 5> constants(cohort::optimizer_step const& now) const {
    double const t = static_cast<double>(now.step);
    return {now.rate / (1 - std::pow(beta1, t)), 1 / std::sqrt(1 - std::pow(beta2, t)), beta1, beta2,
            epsilon};
  }
  template <class T>
  static T step(T g, T /*w*/, T* s, T const* c) {
    auto const [rate, root_correction, beta1, beta2, epsilon] =
        std::array<T, 5>{c[0], c[1], c[2], c[3], c[4]};
    T const square = g * g, sign = square > s[1] ? T(1) : T(square < s[1] ? -1 : 0);
    s[0] = beta1 * s[0] + (1 - beta1) * g;
    s[1] = s[1] + (1 - beta2) * sign * square;
    return rate * s[0] / (root_correction * std::sqrt(s[1]) + epsilon);
  }
};

constexpr auto net = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return b.input({2}) | dense{.units = 16} | tanh_activation{} | dense{.units = 1, .name = "sum"}
         | mean_squared_error{};
}>();

struct waves {
  std::vector<float> places, heights;

  explicit waves(int count) {
    cohort::random_stream const numbers(1, "waves");
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
      places.insert(places.end(), {numbers.uniform01(2 * i), numbers.uniform01(2 * i + 1)});
      heights.push_back(std::sin(4 * places[2 * i]) * places[2 * i + 1]);
    }
  }
  cohort::tensor_view x() const { return {places.data(), {static_cast<int>(heights.size()), 2}}; }
  cohort::tensor_view y() const { return {heights.data(), {static_cast<int>(heights.size()), 1}}; }
};

cohort::training run_with(cohort::optimizer_settings const& optimizer) {
  return cohort::trainer<cohort::onednn>(net, {.optimizer = optimizer, .workers = 2});
}

/// Returns whether two steps on a bias are those of the formula.
bool check(waves const& data) {
  cohort::training run = run_with({yogi{.learning_rate = 0.1}});
  cohort::training_loop loop(run);
  double w = 0, m = 0, v = 0;
  for (int t = 1; t <= 2; ++t) {
    loop.forward({data.x(), data.y()});
    loop.backward();
    double const g = static_cast<double>(loop.gradient("sum.bias")[0]);
    loop.step();
    m = 0.9 * m + 0.1 * g;
    v += 0.001 * (g * g > v ? 1 : -1) * g * g;
    w -= 0.1 * m / (1 - std::pow(0.9, t)) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-3);
  }
  std::vector<float> parameters(static_cast<std::size_t>(run.parameters().elements()));
  run.parameters().read_all(run.parameters().master(), reinterpret_cast<std::byte*>(parameters.data()));
  std::printf("bias %.5f, formula %.5f\n", static_cast<double>(parameters.back()), w);
  return std::abs(static_cast<double>(parameters.back()) - w) < 1e-5;
}

bool train(waves const& data) {
  using namespace cohort;
  training run = run_with({.rule = yogi{.learning_rate = schedule::cosine{.initial = 0.03, .length = 20}},
                           .l2 = 1e-5,
                           .normalisation = normalise::clip_global_norm{1}});
  dataset const waves_data = arrays({{.values = data.x()}}, {{.values = data.y()}});
  run.fit(waves_data, {.batch = 50, .epochs = 10});
  run.save("waves.safetensors", true);

  training resumed = run_with(run.settings().optimizer);
  resumed.load("waves.safetensors");
  run.fit(waves_data, {.batch = 50, .epochs = 10});
  resumed.fit(waves_data, {.batch = 50, .epochs = 10});
  double const loss = run.loss_of({data.x(), data.y()});
  bool const equal = run.checksum() == resumed.checksum();
  std::printf("loss %.4f; resumed: %s\n", loss, equal ? "the same bits" : "different");
  std::filesystem::remove("waves.safetensors");
  return equal && loss < 0.03;
}

int main() try {
  waves const data(1000);
  return check(data) && train(data) ? 0 : 1;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
