// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/data/mix.hpp>
#include <cohort/data/select.hpp>
#include <limits>

#include "view_cases.hpp"

namespace mix_test {

using namespace view_cases;

/// The numbers first … first + count − 1, so that the numbers of different parts differ.
dataset range(int first, int count) { return select(numbers(first + count), first, count); }

/// How often each number occurs in an epoch.
std::vector<int> occurrences(dataset const& data, int numbers, std::int64_t epoch) {
  std::vector<int> count(static_cast<std::size_t>(numbers));
  for (float const value : read(data, epoch).first) ++count[static_cast<std::size_t>(value)];
  return count;
}

TEST(mix, has_examples_in_proportion_to_the_weights) {
  dataset const data = mix({{range(0, 10), 3}, {range(10, 10), 1}}, {.size = 8});
  EXPECT_EQ(data.size(), 8);
  for (int epoch = 0; epoch < 5; ++epoch) {
    std::vector<float> const seen = read(data, epoch).first;
    EXPECT_EQ(std::ranges::count_if(seen, [](float value) { return value < 10; }), 6);
  }
}

TEST(mix, rounds_counts_by_the_largest_remainder_method) {
  auto const counts = [](std::vector<double> const& weights, std::int64_t size) {
    std::vector<mix_part> parts;
    for (std::size_t p = 0; p < weights.size(); ++p)
      parts.push_back({range(100 * static_cast<int>(p), 100), weights[p]});
    std::vector<std::int64_t> found(weights.size());
    for (float const value : read(mix(parts, {.size = size})).first)
      ++found[static_cast<std::size_t>(value) / 100];
    return found;
  };
  EXPECT_EQ(counts({1, 1, 1}, 10), (indices{4, 3, 3}));
  EXPECT_EQ(counts({0.5, 0.3, 0.2}, 7), (indices{4, 2, 1}));  // 3.5, 2.1, 1.4
  EXPECT_EQ(counts({1e-300, 1}, 5), (indices{0, 5}));
  EXPECT_EQ(counts({1e308, 1e308}, 4), (indices{2, 2}));
}

TEST(mix, has_as_many_examples_as_its_parts_by_default) {
  EXPECT_EQ(mix({{range(0, 3)}, {range(3, 4)}}).size(), 7);
}

TEST(mix, draws_every_example_once_before_repeating_any) {
  // Each epoch draws 4 of 10 examples, so 5 epochs are two passes.
  dataset const data = mix({{range(0, 10), 1}, {range(10, 4), 1}}, {.size = 8});
  std::vector<int> total(14);
  for (int epoch = 0; epoch < 5; ++epoch) {
    std::vector<int> const now = occurrences(data, 14, epoch);
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += now[i];
    auto const [least, most] = std::minmax_element(total.begin(), total.begin() + 10);
    EXPECT_LE(*most - *least, 1);
    EXPECT_TRUE(std::ranges::all_of(now.begin() + 10, now.end(), [](int times) { return times == 1; }));
  }
  EXPECT_EQ(std::vector<int>(total.begin(), total.begin() + 10), std::vector<int>(10, 2));
}

TEST(mix, repeats_a_small_part_within_an_epoch) {
  dataset const data = mix({{range(0, 3), 1}, {range(3, 7), 1}}, {.size = 14});
  std::vector<int> const count = occurrences(data, 10, 0);
  EXPECT_EQ(std::accumulate(count.begin(), count.begin() + 3, 0), 7);
  EXPECT_TRUE(std::ranges::all_of(count.begin(), count.begin() + 3, [](int times) { return times >= 2; }));
}

TEST(mix, draws_differently_in_each_pass_and_for_each_seed) {
  dataset const data = mix({{range(0, 50)}}, {.seed = 1});
  EXPECT_NE(read(data, 0).first, read(data, 1).first);
  EXPECT_NE(read(data, 0).first, read(mix({{range(0, 50)}}, {.seed = 2}), 0).first);
  EXPECT_EQ(read(data, 3).first, read(mix({{range(0, 50)}}, {.seed = 1}), 3).first);
}

TEST(mix, keeps_the_examples_of_a_block_together) {
  dataset const data = mix({{range(0, 11)}}, {.block = 4});
  std::vector<float> const seen = read(data).first;
  ASSERT_EQ(seen.size(), 11U);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(seen[i], seen[i / 4 * 4] + static_cast<float>(i % 4));
  EXPECT_EQ(values(seen.begin() + 8, seen.end()), (values{8, 9, 10}));
}

TEST(mix, preserves_epochs_weights_and_keys) {
  dataset const data = mix({{weighted(3)}});
  content const got = read(data, 2);
  for (std::size_t i = 0; i < 3; ++i) {
    int const number = static_cast<int>(got.first[i]) - 2000;
    EXPECT_EQ(got.weights[i], static_cast<float>(number + 1));
    EXPECT_EQ(got.keys[i], "k" + std::to_string(number));
  }
}

TEST(mix, resumes_with_another_number_of_ranks) {
  dataset const data = mix({{range(0, 9), 2}, {range(9, 9), 1}}, {.size = 24});
  auto const part = [&](int rank, int ranks, std::int64_t position, int batches) {
    loader from(data, {.batch = 4 / ranks, .rank = rank, .ranks = ranks, .seed = 3});
    from.start(1, position);
    values seen;
    for (batch const* b = nullptr; batches-- > 0 && (b = from.next());) {
      auto const inputs = b->input().as<float>();
      for (std::size_t i = 0; i < inputs.size(); i += 2) seen.push_back(inputs[i]);
    }
    return seen;
  };
  values all = part(0, 1, 0, 6);
  values resumed = part(0, 1, 0, 2);
  for (int batch = 2; batch < 6; ++batch)
    for (int rank = 0; rank < 2; ++rank)
      for (float const value : part(rank, 2, 4 * batch, 1)) resumed.push_back(value);
  EXPECT_EQ(all, resumed);
}

TEST(mix, refuses_invalid_parts_and_settings) {
  auto const refused_parts = [](std::vector<mix_part> const& parts, mix_settings const& settings = {}) {
    return refused<setting_error>([&] { mix(parts, settings); });
  };
  expect_parts(refused_parts({}), {"no data sets", "mix", "at least 1 data set"});
  expect_parts(refused_parts({{range(0, 3)}, {select(numbers(3), 0, 0)}}),
               {"mix, data set 1", "at least 1 example", "0"});
  for (double const weight : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    expect_parts(refused_parts({{range(0, 3), weight}}), {"mix, data set 0, weight", "a positive number"});
  expect_parts(refused_parts({{range(0, 3)}}, {.size = -1}), {"mix, size", "0 to 2^53", "-1"});
  expect_parts(refused_parts({{range(0, 3)}}, {.block = 0}), {"mix, block", "at least 1", "0"});
  expect_stream_is_refused("mix", [](dataset const& stream) { mix({{stream}}); });
  expect_parts(refused<data_error>([] {
                 mix({{numbers(3)}, {weighted(3)}});
               }),
               {"mix, data set 1", "no weights"});
}

}  // namespace mix_test
