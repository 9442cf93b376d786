// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/io/json.hpp>
#include <cohort/monitoring/chrome_trace.hpp>
#include <limits>
#include <vector>

namespace chrome_trace_test {

using namespace cohort;

std::vector<plan_row> const profiled{
    {.step = "conv2d_1 + relu_1",
     .implementation = "jit:\"avx2\"",
     .output = {32, 20, 12, 12},
     .layout = "nChw8c",
     .flops = 2e6,
     .seconds = 0.5e-3,
     .calls = 5},
    {.step = "dense_1",
     .implementation = "gemm",
     .output = {32, 10},
     .layout = "dense",
     .seconds = 1e-3,
     .calls = 4},
    {.step = "dense_1 weights",
     .implementation = "gemm",
     .direction = plan_pass::backward,
     .output = {32, 10},
     .seconds = 1e-3,
     .calls = 2},
    {.step = "never run", .implementation = "none", .direction = plan_pass::backward, .output = {1}},
};

std::vector<io::json_value> events_of(io::json_document const& trace) {
  std::vector<io::json_value> events;
  for (io::json_value const event : trace.root().at("traceEvents").items())
    if (event.at("ph").string() == "X") events.push_back(event);
  return events;
}

TEST(chrome_trace, contains_the_kernels_of_a_step_in_sequence) {
  io::json_document const trace = io::parse_json(chrome_trace(profiled));
  auto const events = events_of(trace);
  ASSERT_EQ(events.size(), profiled.size());
  double const durations[]{100, 250, 500, 0};
  double now = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].at("name").string(), profiled[i].step);
    EXPECT_NEAR(events[i].at("ts").number(), now, 1e-9) << i;
    EXPECT_NEAR(events[i].at("dur").number(), durations[i], 1e-9) << i;
    EXPECT_EQ(events[i].at("tid").integer(), i < 2 ? 1 : 2);
    now += durations[i];
  }
}

TEST(chrome_trace, reports_the_implementation_and_speed_of_each_operation) {
  io::json_document const trace = io::parse_json(chrome_trace(profiled));
  auto const events = events_of(trace);
  io::json_value const what = events.at(0).at("args");
  EXPECT_EQ(what.at("implementation").string(), "jit:\"avx2\"");
  EXPECT_EQ(what.at("output").string(), "32x20x12x12");
  EXPECT_EQ(what.at("layout").string(), "nChw8c");
  EXPECT_EQ(what.at("calls").integer(), 5);
  EXPECT_NEAR(what.at("GFLOP/s").number(), 20, 1e-9);
  EXPECT_FALSE(events.at(1).at("args").find("GFLOP/s"));
}

TEST(chrome_trace, places_backward_after_forward_for_any_order_of_rows) {
  std::vector<plan_row> const turned(profiled.rbegin(), profiled.rend());
  io::json_document const trace = io::parse_json(chrome_trace(turned));
  auto const events = events_of(trace);
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].at("name").string(), "dense_1");
  EXPECT_EQ(events[2].at("name").string(), "never run");
  EXPECT_NEAR(events[3].at("ts").number(), 350, 1e-9);
}

TEST(chrome_trace, has_no_events_without_data) {
  io::json_document const trace = io::parse_json(chrome_trace({}));
  EXPECT_TRUE(events_of(trace).empty());
}

TEST(chrome_trace, refuses_a_time_that_is_infinite) {
  std::vector<plan_row> const broken{
      {.step = "x", .implementation = "y", .seconds = std::numeric_limits<double>::infinity(), .calls = 1}};
  EXPECT_THROW(chrome_trace(broken), numeric_error);
}

}  // namespace chrome_trace_test
