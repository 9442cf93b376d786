// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cohort/data/arrays.hpp>
#include <cohort/data/loader.hpp>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "refused.hpp"

namespace arrays_test {

using cohort::arrays;
using floats = std::vector<float>;
using labels_t = std::vector<std::int32_t>;

TEST(arrays, are_used_without_a_copy) {
  floats inputs(12);
  labels_t const labels = {0, 2, 1};
  arrays const data(inputs, {2, 2}, labels, 3);
  EXPECT_EQ(data.size(), 3);
  cohort::example_view view;
  view.allocate(data.describe());
  data.get(2, view);
  EXPECT_EQ(reinterpret_cast<float const*>(view.at(0)), inputs.data() + 8);
  EXPECT_EQ(reinterpret_cast<std::int32_t const*>(view.at(1)), labels.data() + 2);
}

TEST(arrays, describe_u8_inputs_as_scaled_floats_and_labels_as_i32) {
  std::vector<std::uint8_t> const pixels(2 * 784);
  std::vector<std::uint8_t> const labels = {9, 0};
  arrays const data(pixels, {1, 28, 28}, labels, 10, 1 / 255.0);
  auto const& input = data.describe().inputs[0];
  EXPECT_EQ(input.example, cohort::shape(1, 28, 28));
  EXPECT_EQ(input.type, cohort::element_type::f32);
  EXPECT_EQ(data.describe().targets[0].type, cohort::element_type::i32);
  EXPECT_EQ(data.describe().targets[0].example, cohort::shape());
  EXPECT_EQ(data.describe().targets[0].classes, 10);
}

TEST(arrays, accept_spans_but_no_temporary_container) {
  EXPECT_TRUE((std::is_constructible_v<arrays, floats&, cohort::shape, labels_t const&, int>));
  EXPECT_TRUE(
      (std::is_constructible_v<arrays, std::span<float const>, cohort::shape, std::span<int const>, int>));
  EXPECT_FALSE((std::is_constructible_v<arrays, floats, cohort::shape, labels_t const&, int>));
  EXPECT_FALSE((std::is_constructible_v<arrays, std::array<float, 4>, cohort::shape, labels_t const&, int>));
}

TEST(arrays, accept_several_inputs_and_targets) {
  floats const a(6);
  std::vector<double> const b(3);
  floats const y(3, 0.5F);
  arrays const data({{.name = "a", .values = {a.data(), {3, 2}}},
                     {.name = "b", .values = {b.data(), {3, 1}}, .as = cohort::element_type::f32}},
                    {{.name = "y", .values = {y.data(), {3, 1}}}});
  cohort::loader loader(data, {.batch = 2});
  cohort::batch const* const batch = loader.next();
  EXPECT_EQ(batch->input(1).type, cohort::element_type::f32);
  EXPECT_EQ(batch->inputs[1].name, "b");
  EXPECT_EQ(batch->target().as<float>()[1], 0.5F);
}

TEST(arrays, refuse_labels_out_of_range_and_report_the_example) {
  floats const inputs(4);
  labels_t const high = {0, 1, 2, 3};
  labels_t const low = {0, -1, 2, 2};
  std::vector<std::int64_t> const huge = {0, 1, 1LL << 32, 0};
  expect_parts(refused<cohort::data_error>([&] { arrays(inputs, {1}, high, 3); }),
               {"example 3", "0 to 2", "got 3"});
  expect_parts(refused<cohort::data_error>([&] { arrays(inputs, {1}, low, 3); }), {"example 1", "got -1"});
  expect_parts(refused<cohort::data_error>([&] { arrays(inputs, {1}, huge, 3); }),
               {"example 2", "got 4294967296"});
}

TEST(arrays, refuse_non_finite_numbers_and_report_the_element) {
  labels_t const labels(3);
  floats inputs(12);
  inputs[7] = std::numeric_limits<float>::quiet_NaN();
  expect_parts(refused<cohort::data_error>([&] {
                 arrays(inputs, {2, 2}, labels, 3);
               }),
               {"example 1, element 3", "finite", "nan"});
  std::vector<double> doubles(12);
  doubles[11] = -std::numeric_limits<double>::infinity();
  expect_parts(refused<cohort::data_error>([&] {
                 arrays(doubles, {2, 2}, labels, 3);
               }),
               {"example 2, element 3", "-inf"});
}

TEST(arrays, refuse_numbers_beyond_f32_that_are_delivered_as_f32) {
  std::vector<double> const doubles{1, -3e38, 1e308};
  auto const as = [&](cohort::element_type type) {
    arrays({{.name = "x", .values = {doubles.data(), {3, 1}}, .as = type}});
  };
  as(cohort::element_type::f64);
  EXPECT_EQ(
      refused<cohort::data_error>([&] { as(cohort::element_type::f32); }),
      "a number is out of the range of f32, its type in the batch (x, example 2): expected a magnitude of "
      "at most 3.4028235e+38, got 1e+308");
}

TEST(arrays, refuse_inconsistent_arrays) {
  floats const inputs(12);
  labels_t const labels(3);
  expect_parts(refused<cohort::shape_error>([&] { arrays(inputs, {5}, labels, 3); }),
               {"multiple of 5", "12"});
  expect_parts(refused<cohort::shape_error>([&] { arrays(inputs, {2}, labels, 3); }),
               {"label", "expected 6", "got 3"});
  expect_parts(refused<cohort::setting_error>([&] { arrays(inputs, {4}, labels, 0); }), {"classes"});
  expect_parts(refused<cohort::shape_error>([] { arrays(std::vector<cohort::array_view>{}); }), {"input"});
  expect_parts(
      refused<cohort::data_error>([&] {
        arrays({{.name = "x", .values = {inputs.data(), {3, 4}}}},
               {{.name = "y", .values = {labels.data(), {3}}, .classes = 3, .label_names = {"a", "b"}}});
      }),
      {"3 label names", "got 2"});
}

}  // namespace arrays_test
