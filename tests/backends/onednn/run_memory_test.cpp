// SPDX-License-Identifier: Apache-2.0
#include "../../plan/counted_new.hpp"

#include <gtest/gtest.h>
#include <cohort/onednn.hpp>

#include <cohort/data/arrays.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/training/trainer.hpp>
#include <vector>

namespace run_memory_test {

using namespace cohort;

/// Largest number of bytes that Cohort holds while a network is created and trained, relative to the
/// forecast. No arena is large enough for huge pages, whose alignment would count too.
template <class B>
double held_over_forecast(graph const& net, training_settings const& settings) {
  shape const example = net.view()[0].output;
  std::vector<float> const numbers(static_cast<std::size_t>(16 * example.elements()), 0.5F);
  std::vector<std::int32_t> const labels(16, 1);
  dataset const data =
      arrays(std::span<float const>(numbers), example, std::span<std::int32_t const>(labels), 5);
  fit_settings const how{.batch = 8};
  held_bytes = most_bytes = 0;
  counting = true;
  training made = trainer<B>(net, settings);
  made.fit(data, how);
  counting = false;
  return static_cast<double>(most_bytes) / static_cast<double>(made.memory_of(data, how).total());
}

graph convolutions() {
  return graph::build([](builder& b) {
    auto const conv = [](tensor x) {
      return x | conv2d{.filters = 32, .kernel = 3, .padding = 1, .bias = false} | batch_norm{} | relu{};
    };
    tensor const x = conv(conv(b.input({3, 16, 16})));
    conv(conv(x) + x) | max_pool{.window = 2} | dense{.units = 256} | relu{} | dense{.units = 5}
        | softmax_cross_entropy{};
  });
}

graph cells() {
  return graph::build([](builder& b) {
    tensor const x = b.input({40, 24}) | lstm{.units = 128} | gru{.units = 96, .reverse = true};
    concat(x, x | lstm{.units = 64, .peepholes = true, .recurrent_dropout = 0.1})
        | gru{.units = 128, .last_step = true, .reset_after = false} | dense{.units = 5}
        | softmax_cross_entropy{};
  });
}

TEST(run_memory, matches_the_forecast_except_for_internal_objects_of_onednn) {
  if (!counts_allocations) GTEST_SKIP() << "the sanitizer has its own operator new";
  not_ours = "dnnl";
  for (graph const& net : {convolutions(), cells()}) {
    EXPECT_NEAR(held_over_forecast<onednn>(net, {.optimizer = {adam{}}}), 1, 0.05);
    EXPECT_NEAR(held_over_forecast<onednn>(net, {.optimizer = {momentum{}}, .workers = 2}), 1, 0.05);
    EXPECT_NEAR(held_over_forecast<onednn>(net, {.optimizer = {adam{}}, .recompute = {.cheap = true}}), 1,
                0.05);
  }
}

}  // namespace run_memory_test
