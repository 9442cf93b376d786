// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/data/weighted_by_class.hpp>
#include <cohort/training/trainer.hpp>
#include <cstddef>
#include <span>
#include <vector>
#include "bright_thirds.hpp"
#include "parameters_of.hpp"

namespace class_weights_test {

using namespace cohort;
using cohort_test::bright_thirds;
using cohort_test::parameters_of;
using cohort_test::small;

/// The parameters after four steps, each on all examples.
std::vector<double> trained(dataset const& data, int workers) {
  training run =
      trainer<reference<double>>(small, {.optimizer = {sgd{.learning_rate = 0.5}}, .workers = workers});
  run.fit(data, {.batch = static_cast<int>(data.size()), .epochs = 4});
  return parameters_of(run);
}

TEST(class_weights, have_the_effect_of_repeated_examples) {
  bright_thirds const examples(40);
  bright_thirds repeated(0);
  for (std::size_t n = 0; n < examples.labels.size(); ++n)
    for (int times = 0; times < 1 + examples.labels[n]; ++times) {
      repeated.labels.push_back(examples.labels[n]);
      std::span<float const> const pixels(examples.pixels);
      auto const row = pixels.subspan(64 * n, 64);
      repeated.pixels.insert(repeated.pixels.end(), row.begin(), row.end());
    }
  arrays const data(std::span<float const>(examples.pixels), {1, 8, 8},
                    std::span<std::int32_t const>(examples.labels), 3);
  std::vector<double> const wanted = trained(repeated.data(), 1), plain = trained(data, 1);
  for (int workers : {1, 3}) {
    std::vector<double> const got = trained(weighted_by_class(data, {1, 2, 3}), workers);
    for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-12) << i;
  }
  EXPECT_NE(plain, wanted);
}

}  // namespace class_weights_test
