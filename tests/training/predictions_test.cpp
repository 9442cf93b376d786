// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <array>
#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/training/predictions.hpp>
#include <cohort/training/trainer.hpp>
#include <vector>
#include "../checkpoint/refusals.hpp"

namespace predictions_test {

using namespace cohort;

TEST(predictions, are_read_by_example) {
  predictions const made{.example = {3}, .values = {0.25, 0.5, 0.25, 0.5, 0.5, 0}};
  EXPECT_EQ(made.count(), 2);
  EXPECT_EQ(made[1][2], 0);
  EXPECT_EQ(made.best(0), 1);
  EXPECT_EQ(made.best(1), 0) << "the lowest of equals";
}

TEST(predictions, refuse_an_example_that_does_not_exist) {
  predictions const made{.example = {3}, .values = {0.25, 0.5, 0.25, 0.5, 0.5, 0}};
  EXPECT_EQ(refusal_of<setting_error>([&] { made.best(2); }),
            "there is no such example (predictions): expected an index of the 2 examples, got 2");
  EXPECT_EQ(refusal_of<setting_error>([&] { made[-1]; }),
            "there is no such example (predictions): expected an index of the 2 examples, got -1");
  EXPECT_EQ(refusal_of<setting_error>([&] { predictions{.example = {3}}.best(0); }),
            "there is no such example (predictions): expected an index of the 0 examples, got 0");
}

TEST(predictions, report_the_accepted_types_of_an_input) {
  constexpr auto sum = network<[](builder& net) { return net.input({2}) | dense{.units = 1}; }>();
  std::array const doubles{1.0, 2.0};
  std::array const labels{1, 2};
  auto const predict = [&]<class T>(T const& numbers, auto model) {
    return refusal_of<shape_error>([&] { model.predict(tensor_view(numbers.data(), {1, 2})); });
  };
  EXPECT_EQ(predict(doubles, trainer<reference<float>>(sum)),
            "an input of the batch has an unsupported element type (input 0): expected f32, or i32 for "
            "indices, got f64");
  EXPECT_EQ(predict(labels, trainer<reference<double>>(sum)),
            "an input of predict has the wrong element type (input_1): expected f32, got i32");
}

}  // namespace predictions_test
