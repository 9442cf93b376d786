// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <cohort/cohort.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/onednn.hpp>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

constexpr cohort::tensor features_of(cohort::tensor image) {
  using namespace cohort;
  return image | conv2d{.filters = 8, .kernel = 5, .name = "features_1"} | relu{} | max_pool{.window = 2}
         | conv2d{.filters = 16, .kernel = 5, .name = "features_2"} | relu{} | max_pool{.window = 2}
         | dense{.units = 64, .name = "features_3"} | relu{.name = "code"};
}

constexpr auto digits = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return features_of(b.input({1, 28, 28})) | dense{.units = 10, .name = "digit"} | softmax_cross_entropy{};
}>();

constexpr auto parity = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return features_of(b.input({1, 28, 28})) | dense{.units = 2, .name = "parity"} | softmax_cross_entropy{};
}>();

constexpr auto logistic = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return b.input({64}) | dense{.units = 2} | softmax_cross_entropy{};
}>();

/// Synthetic digits, with the label 0 for even and 1 for odd ones.
struct parities {
  int count;
  std::vector<std::uint8_t> pixels;
  std::vector<std::int32_t> odd;

  parities(int many, std::uint64_t seed) : count(many), pixels(std::size_t(many) * 784) {
    cohort::digit_drawer const drawer(seed);
    for (int i = 0; i < count; ++i)
      odd.push_back(drawer.draw(i, std::span<std::uint8_t, 784>(pixels.data() + i * 784, 784)) % 2);
  }
  cohort::dataset data() const { return cohort::arrays(pixels, {1, 28, 28}, odd, 2, 1 / 255.0); }
};

int main() try {
  auto source = cohort::trainer<cohort::onednn>(digits, {.optimizer = {cohort::adam{}}});
  source.fit(cohort::synthetic_digits(3000, 1), {.batch = 32, .epochs = 3});
  source.save("digits.safetensors");

  parities const few(30, 5), held(500, 6);
  auto tuned = cohort::trainer<cohort::onednn>(
      parity, {.optimizer = {.rule = cohort::adam{.learning_rate = 0.01},
                             .layers = {{.layer = "features_*", .frozen = true}}}});
  cohort::transfer_report const copied = tuned.load_matching("digits.safetensors");
  std::printf("%s\n", copied.text().c_str());
  tuned.fit(few.data(), {.batch = 10, .epochs = 40});
  double const of_tuned = tuned.evaluate(held.data()).accuracy().value_or(0);

  cohort::feature_set const codes = source.features({"code"}, few.data());
  auto regression =
      cohort::trainer<cohort::onednn>(logistic, {.optimizer = {cohort::adam{.learning_rate = 0.01}}});
  regression.fit(codes, {.batch = 10, .epochs = 40});
  double const of_regression =
      regression.evaluate(source.features({"code"}, held.data())).accuracy().value_or(0);

  auto scratch =
      cohort::trainer<cohort::onednn>(parity, {.optimizer = {cohort::adam{.learning_rate = 3e-3}}});
  scratch.fit(few.data(), {.batch = 10, .epochs = 40});
  double const of_scratch = scratch.evaluate(held.data()).accuracy().value_or(0);

  auto fine = cohort::trainer<cohort::onednn>(
      parity,
      {.optimizer = {.rule = cohort::adam{.learning_rate = 1e-3},
                     .layers = {{.layer = "features_*", .rule = cohort::adam{.learning_rate = 1e-4}}}}});
  fine.load_matching(tuned);
  fine.fit(few.data(), {.batch = 10, .epochs = 20});
  double const of_fine = fine.evaluate(held.data()).accuracy().value_or(0);

  std::printf("frozen features     %.3f\n", of_tuned);
  std::printf("features as data    %.3f\n", of_regression);
  std::printf("then fine-tuned     %.3f\n", of_fine);
  std::printf("from scratch        %.3f\n", of_scratch);
  return of_tuned > of_scratch && of_regression > of_scratch && of_fine > of_scratch ? 0 : 1;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
