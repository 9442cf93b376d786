// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/data/dataset.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/repeated.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstdint>
#include <vector>
#include "../checkpoint/refusals.hpp"

namespace repeated_test {

using namespace cohort;

/// Example i of epoch e is the number 10·e + i.
struct numbers {
  std::int64_t count;
  data_description what{.inputs = {{.name = "x", .example = {1}}}};

  data_description const& describe() const { return what; }
  std::int64_t size() const { return count; }
  void get(std::int64_t i, example_view& out) const {
    *out.fill<float>(0) = static_cast<float>(10 * out.epoch + i);
  }
};

TEST(repeated, continues_in_each_epoch_where_the_last_one_ended) {
  dataset const data = repeated(dataset(numbers{3}), 4);
  EXPECT_EQ(data.size(), 4);
  loader batches(data, {.batch = 4, .shuffle = false});
  std::vector<std::vector<float>> seen;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    batches.start(epoch);
    auto const values = batches.next()->input().as<float>();
    seen.emplace_back(values.begin(), values.end());
  }
  std::vector<std::vector<float>> const expected{{0, 1, 2, 10}, {11, 12, 20, 21}, {22, 30, 31, 32}};
  EXPECT_EQ(seen, expected);
}

TEST(repeated, may_have_less_examples_than_the_data) {
  dataset const data = repeated(dataset(numbers{5}), 2);
  example_view example;
  example.allocate(data.describe());
  example.epoch = 3;
  data.get(1, example);
  EXPECT_EQ(*reinterpret_cast<float const*>(example.at(0)), 12);
  EXPECT_EQ(example.epoch, 3);
}

TEST(repeated, refuses_epochs_without_examples) {
  EXPECT_EQ(refusal_of<setting_error>([] { repeated(dataset(numbers{3}), 0); }),
            "an epoch of no examples (repeated): expected a count of at least 1, and a data set with "
            "examples, got count 0, and 3 examples");
  EXPECT_THROW(repeated(dataset(numbers{0}), 2), setting_error);
}

}  // namespace repeated_test
