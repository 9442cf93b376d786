// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/monitoring/forecast.hpp>
#include <vector>

namespace forecast_test {

using namespace cohort;

constexpr scaling_costs costs{
    .step_seconds = 0.01, .bytes = 4e6, .link = {.latency = 1e-3, .bytes_per_second = 1e9}};

TEST(forecast, prints_step_time_throughput_and_efficiency_per_number_of_ranks) {
  EXPECT_EQ(forecast(costs, 32, std::vector{1, 2, 16}),
            "forecast for ranks with separate processors: 10.00 ms of compute a step, 4.0 MB exchanged, "
            "1.000 ms a "
            "message, 1.0 GB/s\n"
            "  ranks  ms a step  samples/s  efficiency  Deeplearning4j\n"
            "      1      10.00       3200     100.0 %         100.0 %\n"
            "      2      22.00       2909      45.5 %          50.0 %\n"
            "     16      47.50      10779      21.1 %          50.0 %\n");
}

TEST(forecast, estimates_the_efficiency_of_deeplearning4j) {
  scaling_costs shared = costs;
  shared.sharing = route::to_all;
  shared.elements = 1'000'000;
  shared.bytes = 1e6;
  shared.encode_seconds = 2e-3;
  shared.decode_seconds = 1e-3;
  shared.every = 2;
  // 10 / (10 + 2/2 + 1/2·4 + (2 + 2)/2) ms
  std::string const text = forecast(shared, 32, std::vector{4});
  EXPECT_NE(text.find("66.7 %\n"), std::string::npos) << text;
}

TEST(forecast, prints_the_period_of_exchanges_after_several_steps) {
  scaling_costs averaged = costs;
  averaged.every = 5;
  std::string const text = forecast(averaged, 32, std::vector{2});
  EXPECT_NE(text.find("4.0 MB exchanged every 5.0 steps,"), std::string::npos) << text;
  EXPECT_NE(text.find("12.40"), std::string::npos) << text;
}

}  // namespace forecast_test
