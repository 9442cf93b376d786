// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/layer/layers.hpp>
#include <cohort/onednn.hpp>
#include <cohort/plan/gradient_check.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <string>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../golden/golden_cases.hpp"

namespace dice_test {

using namespace cohort;

graph net_with(dice const& loss, int pixels, int classes) {
  return graph::build([&](builder& net) {
    return net.input({pixels, classes}, "logits") | identity_activation{} | loss;
  });
}

template <class B = reference<double>>
double loss_of(dice const& loss, int pixels, int classes, std::vector<float> const& logits,
               tensor_view target, std::vector<float> const& weights = {}) {
  training run = trainer<B>(net_with(loss, pixels, classes));
  int const count = static_cast<int>(logits.size()) / (pixels * classes);
  return run.loss_of({{logits.data(), {count, pixels, classes}}, target, weights});
}

TEST(dice, is_one_minus_the_mean_coefficient_of_the_classes) {
  // Equal logits: p = 1/2. Class 0 has 3 of 4 pixels.
  std::vector<float> const logits(8);
  std::vector<std::int32_t> const labels{0, 0, 1, 0};
  tensor_view const target(labels.data(), {1, 4});
  double const first = (2 * 1.5 + 0.5) / (2 + 3 + 0.5), second = (2 * 0.5 + 0.5) / (2 + 1 + 0.5);
  EXPECT_NEAR(loss_of({.smooth = 0.5}, 4, 2, logits, target), 1 - (first + second) / 2, 1e-14);
  EXPECT_NEAR(loss_of({.smooth = 0.5, .weight = 3}, 4, 2, logits, target), 3 - 1.5 * (first + second), 1e-14);

  std::vector<float> const numbers{1, 0, 1, 0, 0, 1, 1, 0};  // the same, as numbers
  EXPECT_NEAR(loss_of({.smooth = 0.5}, 4, 2, logits, {numbers.data(), {1, 4, 2}}), 1 - (first + second) / 2,
              1e-14);
  EXPECT_NEAR(loss_of({.multi_label = true, .smooth = 0.5}, 4, 2, logits, {numbers.data(), {1, 4, 2}}),
              1 - (first + second) / 2, 1e-14);
  EXPECT_NEAR(loss_of<onednn>({.smooth = 0.5}, 4, 2, logits, target), 1 - (first + second) / 2, 1e-6);
}

TEST(dice, ignores_pixels_and_weights_examples) {
  std::vector<float> const logits{1, 2, 0, -1, 5, 5, 9, -9, 1, 0, 3, 1};
  std::vector<std::int32_t> const labels{0, 1, 255, 1, 0, 255};
  double const both = loss_of({.ignore_index = 255}, 3, 2, logits, {labels.data(), {2, 3}}, {1, 3});
  std::vector<float> const first{1, 2, 0, -1}, second{9, -9, 1, 0};
  double const a = loss_of({}, 2, 2, first, {labels.data(), {1, 2}}),
               b = loss_of({}, 2, 2, second, {labels.data() + 3, {1, 2}});
  EXPECT_NEAR(both, (a + 3 * b) / 4, 1e-12);
}

TEST(dice, of_an_absent_class_is_small_if_its_probability_is_small) {
  std::vector<float> const logits{60, -60, 60, -60};
  std::vector<std::int32_t> const labels{0, 0};
  EXPECT_NEAR(loss_of({}, 2, 2, logits, {labels.data(), {1, 2}}), 0, 1e-9);
  std::vector<float> const wrong{-60, 60, -60, 60};
  EXPECT_NEAR(loss_of({}, 2, 2, wrong, {labels.data(), {1, 2}}), 1, 1e-4);
}

TEST(dice, has_the_gradient_of_its_loss) {
  auto const check = [](dice const& loss, int classes) {
    graph const net = graph::build([&](builder& b) {
      return b.input({3, 4, 5}) | conv2d{.filters = classes, .kernel = 1}
             | permute{.order = {1, 2, 0}, .extents = {20, classes}} | loss;
    });
    EXPECT_LT(check_gradients(net).relative_error, 1e-6) << classes;
  };
  check({}, 3);
  check({.smooth = 2, .weight = 0.5}, 2);
  check({.multi_label = true}, 3);
  check({}, 1);
  check({.ignore_index = 1}, 3);
  graph const masked = graph::build([](builder& b) {
    return b.masked_input({6, 4}) | dense{.units = 3} | dice{.smooth = 1};
  });
  EXPECT_LT(check_gradients(masked).relative_error, 1e-6);
}

TEST(dice, trains_a_network_to_find_rare_pixels) {
  constexpr int count = 60, pixels = 36;
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  random_stream const numbers(1, "rare pixels");
  for (std::uint64_t i = 0; i < count * pixels; ++i) {
    labels.push_back(numbers.below(2 * i, 20) == 0 ? 1 : 0);
    images.push_back(static_cast<float>(labels.back())
                     + 0.15F * static_cast<float>(numbers.normal(2 * i + 1)));
  }
  graph const net = graph::build([](builder& b) {
    return b.input({1, 6, 6}) | conv2d{.filters = 4, .kernel = 1} | relu{} | conv2d{.filters = 2, .kernel = 1}
           | permute{.order = {1, 2, 0}, .extents = {pixels, 2}} | dice{};
  });
  dataset const data = arrays({{.values = {images.data(), {count, 1, 6, 6}}}},
                              {{.values = {labels.data(), {count, pixels}}, .classes = 2}});
  for (int workers : {1, 3}) {
    training run = trainer<onednn>(net, {.optimizer = {adam{.learning_rate = 0.02}}, .workers = workers});
    run.fit(data, {.batch = 10, .epochs = 40});
    EXPECT_GT(run.evaluate(data).f_beta(1).value_or(0), 0.85) << workers;
  }
}

TEST(dice, is_refused_with_unsuitable_inputs_and_fields) {
  auto const refused = [](dice const& loss, shape const& input) {
    return refusal_of<graph_error>(
        [&] { graph::build([&](builder& net) { return net.input(input) | loss; }); });
  };
  EXPECT_NE(refused({}, {3, 4, 4}).find("pixels x classes"), std::string::npos);
  EXPECT_NE(refused({.smooth = 0}, {4, 2}).find("smooth"), std::string::npos);
  EXPECT_NE(refused({.weight = 0}, {4, 2}).find("weight"), std::string::npos);
  EXPECT_NE(refused({.multi_label = true, .ignore_index = 3}, {4, 2}).find("ignores"), std::string::npos);
  EXPECT_EQ(refused({}, {4, 2}), "");
  for (bool const multi_label : {false, true}) {
    auto const refused_after = [&](auto const& activation) {
      return refusal_of<graph_error>([&] {
        graph::build([&](builder& net) {
          return net.input({4, 2}) | activation | dice{.multi_label = multi_label};
        });
      });
    };
    EXPECT_NE(refused_after(softmax{}).find("contains the activation"), std::string::npos);
    EXPECT_NE(refused_after(sigmoid{}).find("contains the activation"), std::string::npos);
    EXPECT_EQ(refused_after(relu{}), "");
  }
}

}  // namespace dice_test
