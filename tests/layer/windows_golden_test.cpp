// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/plan/parameter_update.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "../plan/trial.hpp"

namespace windows_golden_test {

using namespace cohort;
using B = reference<double>;

/// A case of golden/layers_windows.txt: its lines by their first words.
using golden_case = std::map<std::string, std::vector<double>>;

std::map<std::string, golden_case> golden() {
  std::ifstream file(COHORT_SOURCE_DIR "/tests/golden/layers_windows.txt");
  std::map<std::string, golden_case> cases;
  golden_case* now = nullptr;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key, name;
    words >> key;
    if (key == "case") {
      words >> name >> key;
      now = &cases[name];
    }
    if (key == "parameter" || key == "gradient" || key == "after") {
      words >> name;
      key += ' ' + name;
    }
    for (double x = 0; words >> x;) (*now)[key].push_back(x);
  }
  return cases;
}

tensor convolutions(builder& net) {
  return net.input({4, 5, 6})
         | conv2d{.filters = 4,
                  .kernel = {3, 2},
                  .stride = {1, 2},
                  .padding = padding(2, 2, 1, 1),
                  .dilation = {2, 1},
                  .groups = 2}
         | conv2d{.filters = 8, .kernel = {4, 2}, .padding = padding::same, .groups = 4, .bias = false}
         | relu{} | global_avg_pool{};
}
tensor separable(builder& net) {
  return net.input({3, 4, 3})
         | separable_conv2d{.filters = 2, .kernel = 3, .padding = padding::same, .multiplier = 2}
         | dense{.units = 3};
}
tensor transpositions(builder& net) {
  return net.input({2, 2, 3}) | conv2d_transposed{.filters = 4, .kernel = {3, 2}, .stride = 2, .groups = 2}
         | relu{} | conv2d_transposed{.filters = 2, .kernel = 3, .stride = 2, .padding = padding(1, 0, 1, 0)}
         | conv2d_transposed{.filters = 3,
                             .kernel = {2, 4},
                             .stride = {1, 2},
                             .padding = padding::same,
                             .dilation = {2, 1},
                             .bias = false}
         | relu{} | global_avg_pool{};
}
tensor sequences(builder& net) {
  tensor const x = net.input({2, 8})
                   | conv1d{.filters = 4, .kernel = 3, .padding = 2, .dilation = 2, .groups = 2} | relu{}
                   | conv1d{.filters = 3, .kernel = 5, .stride = 2, .padding = padding::same, .bias = false};
  return concat(x | global_avg_pool{}, x | global_max_pool{});
}
tensor pools(builder& net) {
  tensor const x = net.input({1, 6, 7}) | conv2d{.filters = 7, .kernel = 2}
                   | lrn{.k = 1.5, .alpha = 0.2, .beta = 0.6}
                   | avg_pool{.window = 3, .stride = 2, .padding = 1};
  return concat(x | global_avg_pool{}, x | global_max_pool{});
}
tensor norms(builder& net) {
  return net.input({2, 4, 5}) | conv2d{.filters = 3, .kernel = 2} | relu{} | batch_norm{}
         | layer_norm{.axes = 2} | dense{.units = 5} | relu{} | layer_norm{.epsilon = 0.01}
         | batch_norm{.epsilon = 0.001} | dense{.units = 3};
}

/// Sums of at most 100 terms of size 1, in another order than PyTorch's: 100·2⁻⁵³ per layer. Norms may also
/// divide by a deviation of 0.1.
constexpr double tolerance = 2e-13;

void expect_near(std::vector<double> const& got, std::vector<double> const& wanted, std::string const& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance) << what << ' ' << i;
}

void compare(std::string const& name, tensor (*body)(builder&)) {
  SCOPED_TRACE(name);
  golden_case const wanted = golden()[name];
  int const batch = static_cast<int>(wanted.at("batch").at(0));
  graph const logits = graph::build([&](builder& net) { return body(net); });
  graph const whole = graph::build([&](builder& net) { return body(net) | softmax_cross_entropy{}; });
  trial<B> trained(whole, {.batch = batch});
  for (int p = 0; p < trained.parameters(); ++p) {
    auto const& values = wanted.at("parameter " + trained.parameter(p).name);
    ASSERT_EQ(static_cast<std::int64_t>(values.size()), trained.parameter(p).spec.dims.elements());
    trained.store->write(p, reinterpret_cast<std::byte const*>(values.data()), trained.store->master());
  }
  std::vector<double> const& input = wanted.at("input");
  ASSERT_EQ(input.size(), trained.batch.inputs[0].size());
  trained.batch.inputs[0] = input;
  std::transform(wanted.at("target").begin(), wanted.at("target").end(), trained.batch.indices[0].begin(),
                 [](double label) { return static_cast<std::int32_t>(label); });

  EXPECT_NEAR(trained.step(), wanted.at("loss").at(0), tolerance);
  for (int p = 0; p < trained.parameters(); ++p)
    if (is_trained(trained.parameter(p).spec.role))
      expect_near(trained.gradient(p), wanted.at("gradient " + trained.parameter(p).name),
                  trained.parameter(p).name);

  parameter_update update(*trained.store, {.updater = sgd{.rate = 0.1}});
  std::byte* const parts[]{trained.run->gradients()};
  update.apply(0, 1, parts, 0, 0);
  for (int p = 0; p < trained.parameters(); ++p)
    if (!is_trained(trained.parameter(p).spec.role))
      expect_near(trained.dense(p, trained.store->master()), wanted.at("after " + trained.parameter(p).name),
                  trained.parameter(p).name);
  trial<B> inferred(logits, {.batch = batch, .training = false}, 1, trained.store);
  inferred.run->forward(trained.batch.input_views, {});
  expect_near(inferred.output(), wanted.at("inferred"), "inferred");
}

TEST(windows_golden, convolutions_agree_with_pytorch) {
  compare("convolutions", convolutions);
  compare("separable", separable);
  compare("sequences", sequences);
}

TEST(windows_golden, transposed_convolutions_agree_with_pytorch) {
  compare("transpositions", transpositions);
}

TEST(windows_golden, pools_and_local_response_normalisation_agree_with_pytorch) { compare("pools", pools); }

TEST(windows_golden, norms_and_their_running_statistics_agree_with_pytorch) { compare("norms", norms); }

TEST(windows_golden, compares_every_case_of_the_file) { EXPECT_EQ(golden().size(), 6U); }

}  // namespace windows_golden_test
