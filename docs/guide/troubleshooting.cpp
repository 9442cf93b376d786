// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <chrono>
#include <cohort/cohort.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/onednn.hpp>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

int silent = 0;

/// Prints the message of a mistake.
template <class Mistake>
void provoke(char const* name, Mistake mistake) {
  try {
    mistake();
    std::printf("%s: no message\n", name);
    ++silent;
  } catch (cohort::error const& problem) {
    std::printf("%s: %s\n", name, problem.what());
  }
}

constexpr auto net = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return b.input({1, 28, 28}) | dense{.units = 16, .name = "hidden"} | relu{} | dense{.units = 10}
         | softmax_cross_entropy{.name = "digit"};
}>();

void data() {
  std::vector<float> pixels(std::size_t{3} * 784);
  std::vector<std::int32_t> labels{3, 10, 4};
  provoke("label", [&] { cohort::arrays(pixels, {1, 28, 28}, labels, 10); });
  labels[1] = 1;
  provoke("example size", [&] { cohort::arrays(pixels, {1, 28, 29}, labels, 10); });
  provoke("input shape", [&] {
    auto training = cohort::trainer<cohort::onednn>(net);
    training.fit(cohort::arrays(pixels, {784}, labels, 10));
  });
  provoke("target type", [&] {
    std::vector<float> const numbers{3, 1, 4};
    auto training = cohort::trainer<cohort::onednn>(net);
    training.fit(cohort::arrays({{.name = "image", .values = {pixels.data(), {3, 1, 28, 28}}}},
                                {{.name = "digit", .values = {numbers.data(), {3}}}}));
  });
  pixels[784] = std::numeric_limits<float>::quiet_NaN();
  provoke("not finite", [&] { cohort::arrays(pixels, {1, 28, 28}, labels, 10); });
  provoke("file", [] { cohort::read_table("measurements.csv"); });
  provoke("csv", [] { cohort::parse_table("width,class\n3,a\nNA,b\n", "measurements.csv"); });
  provoke("header", [] { cohort::parse_table("3,a\n4,b\n", "measurements.csv"); });
  auto const table = cohort::parse_table("width,class\n3,a\n4,b\n", "measurements.csv");
  provoke("column", [&] { cohort::table_encoder(table, {.target = "clas"}); });
  auto const narrow = cohort::parse_table("width;class\n3;a\n", "measurements.csv");
  provoke("separator", [&] { narrow.texts("class"); });
}

void training() {
  auto const digits = cohort::synthetic_digits(200, 1);
  provoke("loss layer", [&] {
    constexpr auto bare = cohort::network<[](cohort::builder& b) {
      return b.input({1, 28, 28}) | cohort::dense{.units = 10};
    }>();
    auto training = cohort::trainer<cohort::onednn>(bare);
    training.fit(digits);
  });
  provoke("rate", [&] {
    auto training = cohort::trainer<cohort::onednn>(net, {.optimizer = {cohort::sgd{.learning_rate = 1e30}}});
    training.fit(digits, {.batch = 20, .epochs = 5});
  });
  provoke("layer name", [&] {
    cohort::trainer<cohort::onednn>(net, {.optimizer = {.layers = {{.layer = "hiden", .frozen = true}}}});
  });
  provoke("output name", [&] {
    auto training = cohort::trainer<cohort::onednn>(net);
    cohort::classification_report report(10);
    training.evaluate(digits, {{"digits", &report}});
  });
  provoke("memory", [&] {
    auto training = cohort::trainer<cohort::onednn>(net, {.max_bytes = 4 << 20});
    training.fit(digits, {.batch = 200'000});
  });
}

void models() {
  auto training = cohort::trainer<cohort::onednn>(net);
  training.save("digits.safetensors");
  constexpr auto wider = cohort::network<[](cohort::builder& b) {
    using namespace cohort;
    return b.input({1, 28, 28}) | dense{.units = 20, .name = "hidden"} | relu{} | dense{.units = 10}
           | softmax_cross_entropy{.name = "digit"};
  }>();
  provoke("other network", [&] { cohort::trainer<cohort::onednn>(wider).load("digits.safetensors"); });
  provoke("no model", [&] { training.load("digit.safetensors"); });
}

void ranks() {
  provoke("no strategy", [] {
    cohort::launch<cohort::threads>(2, [](cohort::communicator& world) {
      auto training = cohort::trainer<cohort::onednn>(net, world, cohort::no_exchange{});
      training.fit(cohort::synthetic_digits(200, 1));
    });
  });
  provoke("own data", [] {
    cohort::launch<cohort::threads>(2, [](cohort::communicator& world) {
      auto training = cohort::trainer<cohort::onednn>(net, world, cohort::allreduce{});
      training.fit(cohort::synthetic_digits(200 + world.rank(), 1));
    });
  });
  provoke("other settings", [] {
    cohort::launch<cohort::threads>(2, [](cohort::communicator& world) {
      auto training = cohort::trainer<cohort::onednn>(net, world, cohort::allreduce{});
      training.fit(cohort::synthetic_digits(200, 1), {.batch = 16 + world.rank()});
    });
  });
  provoke("only one rank", [] {
    cohort::launch<cohort::threads>(
        2, {.deadline = std::chrono::seconds(5)}, [](cohort::communicator& world) {
          auto training = cohort::trainer<cohort::onednn>(net, world, cohort::allreduce{});
          training.fit(cohort::synthetic_digits(200, 1));
          if (world.rank() == 0) training.save("digits.safetensors");
        });
  });
}

int main() {
  data();
  training();
  models();
  ranks();
  return silent;
}
