// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/mapped.hpp>
#include <cohort/data/select.hpp>

#include "view_cases.hpp"

namespace mapped_test {

using namespace view_cases;

dataset tenfold(dataset const& data) {
  return mapped(data, [](std::int64_t, example_view& one) {
    for (float& x : one.edit<float>(0)) x *= 10;
  });
}

TEST(mapped, edits_examples_without_changing_the_data_set) {
  for (dataset const& data : {numbers(4), weighted(4)}) {
    dataset const mapped = tenfold(data);
    for (int repeat = 0; repeat < 2; ++repeat) {
      EXPECT_EQ(read(mapped).first, (values{0, 10, 20, 30}));
      EXPECT_EQ(read(mapped).labels, (std::vector<std::int32_t>{0, 1, 2, 0}));
    }
    EXPECT_EQ(read(data).first, (values{0, 1, 2, 3}));
  }
}

TEST(mapped, keeps_weights_and_keys_unless_they_are_changed) {
  dataset const data = mapped(weighted(3), [](std::int64_t i, example_view& one) {
    if (i == 1) one.weight = 50;
    if (i == 2) one.key = "new";
  });
  EXPECT_EQ(read(data).weights, (values{1, 50, 3}));
  EXPECT_EQ(read(data).keys, (std::vector<std::string>{"k0", "k1", "new"}));
}

TEST(mapped, passes_index_and_epoch_to_the_function) {
  dataset const data = mapped(numbers(3), [](std::int64_t i, example_view& one) {
    one.fill<float>(0)[0] = static_cast<float>(100 * one.epoch + 10 * i);
    one.fill<float>(0)[1] = 0;
  });
  EXPECT_EQ(read(data, 2).first, (values{200, 210, 220}));
  EXPECT_EQ(read(mapped(weighted(2), [](std::int64_t, example_view&) {}), 3).first, (values{3000, 3001}));
}

TEST(mapped, computes_examples_with_another_description) {
  data_description what = numbers(1).describe();
  what.inputs = {{.name = "sum", .example = {3}}, {.name = "same", .example = {2}}};
  dataset const data =
      mapped(tenfold(numbers(3)), what, [](std::int64_t, example_view const& from, example_view& to) {
        auto const* const x = reinterpret_cast<float const*>(from.at(0));
        float* const sum = to.fill<float>(0);
        sum[0] = x[0] + 1;
        sum[1] = sum[2] = 0;
        to.point(1, from.at(0));
        to.point(2, from.at(1));
      });
  EXPECT_EQ(data.describe().inputs[0].name, "sum");
  EXPECT_EQ(read(data).first, (values{1, 11, 21}));
  EXPECT_EQ(read(data).labels, (std::vector<std::int32_t>{0, 1, 2}));
  loader batches(select(data, {2}), {.batch = 1});
  EXPECT_EQ(batches.next()->input(1).as<float>()[1], -20);
}

TEST(mapped, reports_a_part_that_was_not_set) {
  data_description what = numbers(1).describe();
  what.inputs.push_back({.name = "second", .example = {1}});
  dataset const data =
      mapped(numbers(3), what, [](std::int64_t i, example_view const& from, example_view& to) {
        to.point(0, from.at(0));
        if (i != 1) to.point(1, from.at(0));
        to.point(2, from.at(1));
      });
  expect_parts(refused<data_error>([&] { read(data); }), {"second, example 1", "part 1"});
}

TEST(mapped, changes_the_examples_of_a_stream) {
  dataset const data = mapped(counting(7), [](std::int64_t i, example_view& one) {
    EXPECT_EQ(one.edit<float>(0)[0], static_cast<float>(i));
    one.edit<float>(0)[0] += 100;
  });
  EXPECT_FALSE(data.indexed());
  EXPECT_EQ(data.size(), -1);
  loader second(data, {.batch = 9, .rank = 1, .ranks = 2});
  second.start(0, 1);
  auto const numbers = second.next()->input().as<float>();
  EXPECT_EQ(values(numbers.begin(), numbers.end()), (values{103, 105}));
}

TEST(mapped, rethrows_exceptions_of_the_function) {
  dataset const data =
      mapped(numbers(3), [](std::int64_t, example_view&) { throw data_error({.what = "no"}); });
  EXPECT_THROW(read(data), data_error);
}

}  // namespace mapped_test
