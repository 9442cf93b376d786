// SPDX-License-Identifier: Apache-2.0
// covers: layer/batch_sums
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/cudnn/detail/channel_sums_on_gpu.hpp>
#include <cohort/cudnn/detail/cross_worker_statistics.hpp>
#include <memory>
#include <span>
#include <vector>

#include "fake_machine.hpp"

namespace cudnn_cross_worker_statistics_test {

using namespace cohort;

/// Contributions of the other parts to each sum.
struct others final : batch_sums {
  std::vector<std::vector<double>> values;
  std::vector<std::vector<double>> given{};
  explicit others(std::vector<std::vector<double>> brought) : values(std::move(brought)) {}
  void sum(std::span<double> here) override {
    std::vector<double> const& brought = values.at(given.size());
    given.emplace_back(here.begin(), here.end());
    ASSERT_EQ(here.size(), brought.size());
    for (std::size_t i = 0; i < here.size(); ++i) here[i] += brought[i];
  }
};

class cross_worker_statistics : public testing::Test {
 protected:
  fake_machine machine;
  detail::shared_stream stream =
      std::make_shared<detail::compute_stream>(std::make_shared<detail::gpu>(machine.source()), "");
  /// Two channels; this part has 6 elements of each.
  detail::cross_worker_statistics const parts{stream, detail::channel_sums_on_gpu(stream, shape{3, 2, 2})};
};

TEST_F(cross_worker_statistics, are_computed_over_all_elements) {
  // this part: means 1 and -2, variances 4 and 0.25; other part: 2 more elements, 5, 7 and -1, -3
  std::vector<float> statistics{1, -2, 4, 0.25F};
  double const mean = (6 * 1 + 5 + 7) / 8.0, other_mean = (6 * -2 - 1 - 3) / 8.0;
  others there({{5 + 7, -1 - 3, 2},
                {std::pow(5 - mean, 2) + std::pow(7 - mean, 2),
                 std::pow(-1 - other_mean, 2) + std::pow(-3 - other_mean, 2)}});
  parts.join_statistics(there, statistics.data());
  stream->wait();
  ASSERT_EQ(there.given.size(), 2U);
  EXPECT_EQ(there.given[0], (std::vector<double>{6, -12, 6}));
  double const squares = 6 * (4 + 1) + 25 + 49, other_squares = 6 * (0.25 + 4) + 1 + 9;
  EXPECT_FLOAT_EQ(statistics[0], static_cast<float>(mean));
  EXPECT_FLOAT_EQ(statistics[1], static_cast<float>(other_mean));
  EXPECT_FLOAT_EQ(statistics[2], static_cast<float>(squares / 8 - mean * mean));
  EXPECT_FLOAT_EQ(statistics[3], static_cast<float>(other_squares / 8 - other_mean * other_mean));
}

TEST_F(cross_worker_statistics, have_an_accurate_variance_far_from_zero) {
  // this part: mean 1e6, variance 1; other part: 6 elements of mean 1e6 + 1 and variance 1
  std::vector<float> statistics{1e6F, -1e6F, 1, 1};
  others there({{6 * (1e6 + 1), 6 * (-1e6 + 1), 6}, {6 * 1.25, 6 * 1.25}});
  parts.join_statistics(there, statistics.data());
  stream->wait();
  EXPECT_EQ(statistics, (std::vector<float>{1000000.5F, -999999.5F, 1.25F, 1.25F}));
}

TEST_F(cross_worker_statistics, scale_gradients_by_the_weight_of_the_worker) {
  std::vector<float> const sum{1, 2}, along{3, 4};
  std::vector<float> joined(4);
  others there({{10, 20, 30, 40, 9}});
  EXPECT_EQ(parts.join_gradients(there, 0.25, sum.data(), along.data(), joined.data()), 15);
  stream->wait();
  EXPECT_EQ(there.given, (std::vector<std::vector<double>>{{4, 8, 12, 16, 6}}));
  EXPECT_EQ(joined, (std::vector<float>{3.5F, 7, 10.5F, 14}));
}

TEST_F(cross_worker_statistics, give_a_zero_gradient_if_all_weights_are_zero) {
  std::vector<float> const sum{1, 2}, along{3, 4};
  std::vector<float> joined(4, 7);
  others there({{10, 20, 30, 40, 9}});
  parts.join_gradients(there, 0, sum.data(), along.data(), joined.data());
  stream->wait();
  EXPECT_EQ(there.given, (std::vector<std::vector<double>>{{0, 0, 0, 0, 6}}));
  EXPECT_EQ(joined, (std::vector<float>{0, 0, 0, 0}));
}

}  // namespace cudnn_cross_worker_statistics_test
