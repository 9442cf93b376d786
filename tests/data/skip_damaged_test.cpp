// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cohort/data/loader.hpp>
#include <cohort/data/skip_damaged.hpp>
#include <cohort/data/split.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skip_damaged_test {

using namespace cohort;

/// Ten examples of one number and a class. Example 3 is damaged, example 6 has an invalid class.
struct partly_damaged {
  data_description description{
      .inputs = {{.example = {1}}},
      .targets = {{.example = {}, .stored = element_type::i32, .type = element_type::i32, .classes = 2}}};

  data_description const& describe() const { return description; }
  std::int64_t size() const { return 10; }
  std::optional<std::int64_t> label(std::int64_t i) const { return i % 2; }
  void get(std::int64_t i, example_view& out) const {
    auto const number = static_cast<float>(i);
    std::memcpy(out.fill(0), &number, sizeof number);
    if (i == 3) throw data_error({.what = "damaged", .where = "3", .expected = "an example", .got = "none"});
    auto const label = static_cast<std::int32_t>(i == 6 ? 7 : i % 2);
    std::memcpy(out.fill(1), &label, sizeof label);
  }
};

TEST(skip_damaged, replaces_damaged_examples_by_zeros_of_weight_0) {
  std::vector<std::string> lines;
  auto const skipped = std::make_shared<std::atomic<std::int64_t>>(0);
  auto const data =
      skip_damaged(partly_damaged{},
                   {.log = [&](std::string_view line) { lines.emplace_back(line); }, .skipped = skipped});
  EXPECT_TRUE(data.describe().weighted);
  loader batches(data, {.batch = 10, .shuffle = false});
  for (int epoch = 0; epoch < 2; ++epoch) {
    batches.start(epoch);
    batch const& all = *batches.next();
    EXPECT_EQ(all.weights, (std::vector<float>{1, 1, 1, 0, 1, 1, 0, 1, 1, 1}));
    float const* const numbers = all.inputs[0].view(10).as<float>().data();
    EXPECT_EQ(numbers[2], 2);
    EXPECT_EQ(numbers[3], 0);
  }
  EXPECT_EQ(*skipped, 4);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0], "skipped: damaged (3): expected an example, got none");
  EXPECT_EQ(split(data, 0.5, {.stratified = true}).training.size(), 5);  // reads labels, not examples
}

}  // namespace skip_damaged_test
