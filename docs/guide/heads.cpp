// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <array>
#include <cohort/cohort.hpp>
#include <cohort/onednn.hpp>
#include <cstdint>
#include <cstdio>
#include <tuple>
#include <vector>

constexpr int lidar = 16;
constexpr int engine = 4;

constexpr auto net = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  tensor const scan = b.input({lidar, 1}, "scan") | conv1d{.filters = 8, .kernel = 3} | relu{};
  tensor const state = b.input({engine}, "state") | dense{.units = 8} | relu{};
  tensor const both =
      concat(scan | flatten{} | dense{.units = 16}, state) | relu{} | dense{.units = 32} | relu{};
  return std::tuple(both | dense{.units = 3} | softmax_cross_entropy{.name = "manoeuvre"},
                    both | dense{.units = 1} | mean_squared_error{.weight = 0.5, .name = "speed"});
}>();

/// Drawn examples. A scan contains an obstacle on the left, ahead or on the right; the manoeuvre avoids the
/// obstacle. The engine's state determines the speed.
struct drives {
  int count;
  std::vector<float> scans, states, speeds;
  std::vector<std::int32_t> manoeuvres;

  drives(int many, std::uint64_t seed) : count(many) {
    cohort::random_stream const numbers(seed, "drives");
    for (int example = 0; example < count; ++example) {
      cohort::random_stream const own = numbers.at(static_cast<std::uint64_t>(example));
      int const side = static_cast<int>(own.below(0, 3));
      for (int i = 0; i < lidar; ++i)
        scans.push_back(0.3F * own.uniform01(10 + static_cast<std::uint64_t>(i))
                        + (i * 3 / lidar == side ? 0.7F : 0.0F));
      float speed = 0;
      for (int i = 0; i < engine; ++i) {
        states.push_back(own.uniform01(50 + static_cast<std::uint64_t>(i)));
        speed += static_cast<float>(i + 1) * 0.25F * states.back();
      }
      speeds.push_back(speed);
      manoeuvres.push_back(side);
    }
  }

  cohort::tensor_view scan() const { return {scans.data(), {count, lidar, 1}}; }
  cohort::tensor_view state() const { return {states.data(), {count, engine}}; }

  cohort::dataset data() const {
    return cohort::arrays({{.name = "scan", .values = scan()}, {.name = "state", .values = state()}},
                          {{.name = "manoeuvre", .values = {manoeuvres.data(), {count}}, .classes = 3},
                           {.name = "speed", .values = {speeds.data(), {count, 1}}}});
  }
};

int main() try {
  drives const known(1500, 1), held(300, 2);
  auto training = cohort::trainer<cohort::onednn>(net, {.optimizer = {cohort::adam{.learning_rate = 3e-3}}});
  training.fit(known.data(), {.batch = 30, .epochs = 20});

  cohort::classification_report manoeuvre(3);
  cohort::regression_report speed;
  training.evaluate(held.data(), {{"manoeuvre", &manoeuvre}, {"speed", &speed}});
  std::printf("manoeuvre: accuracy %.3f; speed: R² %.3f\n", manoeuvre.accuracy().value_or(0),
              speed.r2().value_or(0));

  std::array const inputs{held.scan().rows(0, 1), held.state().rows(0, 1)};
  auto const outputs = training.outputs_of({"manoeuvre", "speed"}, inputs);
  std::printf("first example: manoeuvre %d, speed %.2f, expected %d and %.2f\n", outputs[0].best(0),
              static_cast<double>(outputs[1][0][0]), held.manoeuvres[0], static_cast<double>(held.speeds[0]));
  return manoeuvre.accuracy() > 0.9 && speed.r2() > 0.9 ? 0 : 1;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
