// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/select.hpp>
#include <cohort/data/windows.hpp>

#include "view_cases.hpp"

namespace windows_test {

using namespace view_cases;

/// Row t is (10t, 10t + 1, 10t + 2).
template <class T>
std::vector<T> rows(int count) {
  std::vector<T> made;
  for (int t = 0; t < count; ++t)
    for (int c = 0; c < 3; ++c) made.push_back(static_cast<T>(10 * t + c));
  return made;
}

batch const& whole(dataset const& data) {
  static std::unique_ptr<loader> batches;
  batches = std::make_unique<loader>(data, loader_settings{.batch = 100, .shuffle = false});
  return *batches->next();
}

values of(tensor_view view) {
  auto const span = view.as<float>();
  return {span.begin(), span.end()};
}

TEST(windows, slide_over_the_rows) {
  std::vector<float> const series = rows<float>(6);
  dataset const data = windows(time_series(series, 3), {.length = 2, .horizons = {1}, .stride = 2});
  EXPECT_EQ(data.size(), 2);
  EXPECT_TRUE(data.model().in_memory());
  EXPECT_EQ(data.describe().inputs[0].example, shape(2, 3));
  EXPECT_EQ(of(whole(data).input()), (values{0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32}));
  EXPECT_EQ(of(whole(data).target()), (values{20, 21, 22, 40, 41, 42}));
}

TEST(windows, have_targets_at_several_horizons) {
  std::vector<double> const series = rows<double>(7);
  time_series const named({series.data(), {7, 3}}, {"a", "b", "c"});
  dataset const data = windows(named, {.length = 3, .horizons = {3, 1}, .targets = {"c", "a"}});
  EXPECT_EQ(data.size(), 2);
  EXPECT_EQ(data.describe().targets[0].example, (shape{4}));
  EXPECT_EQ(of(whole(data).target()), (values{52, 50, 32, 30, 62, 60, 42, 40}));
  EXPECT_EQ(of(whole(windows(named, {.length = 5, .horizons = {1, 2}})).target()),
            (values{50, 51, 52, 60, 61, 62}));
}

TEST(windows, have_targets_of_selected_columns_at_the_horizon) {
  std::vector<double> const series = rows<double>(7);
  time_series const named({series.data(), {7, 3}}, {"a", "b", "c"});
  EXPECT_EQ(of(whole(windows(named, {.length = 3, .horizons = {3}, .targets = {"b", "c"}})).target()),
            (values{51, 52, 61, 62}));
  EXPECT_EQ(of(whole(windows(named, {.length = 3, .horizons = {3}, .targets = {"c", "a"}})).target()),
            (values{52, 50, 62, 60}));
  EXPECT_EQ(of(whole(windows(named, {.length = 3, .horizons = {4}, .targets = {"b"}})).input()),
            (values{0, 1, 2, 10, 11, 12, 20, 21, 22}));
}

TEST(windows, keep_the_owner_of_the_series_alive) {
  auto owner = std::make_shared<std::vector<float>>(rows<float>(4));
  std::weak_ptr<std::vector<float>> const watch = owner;
  dataset data = windows(time_series({owner->data(), {4, 3}}, {}, owner), {.length = 1});
  owner.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(of(whole(select(data, {2})).target()), (values{30, 31, 32}));
}

TEST(windows, of_the_parts_of_a_series_do_not_overlap) {
  std::vector<float> const series = rows<float>(10);
  auto const [training, held_out] = split_series(time_series(series, 3), 0.6);
  EXPECT_EQ(of(whole(windows(training, {.length = 4})).target()).back(), 52);
  EXPECT_EQ(of(whole(windows(held_out, {.length = 2})).input()).front(), 60);
}

TEST(windows, refuse_invalid_settings) {
  std::vector<float> const series = rows<float>(6);
  time_series const s(series, 3);
  expect_parts(refused<setting_error>([&] { windows(s, {}); }), {"length", "at least 1", "got 0"});
  expect_parts(refused<setting_error>([&] { windows(s, {.length = 1, .horizons = {0}}); }), {"horizons"});
  expect_parts(refused<setting_error>([&] { windows(s, {.length = 1, .horizons = {}}); }), {"horizons"});
  expect_parts(refused<setting_error>([&] { windows(s, {.length = 1, .stride = 0}); }), {"stride"});
  expect_parts(refused<setting_error>([&] { windows(s, {.length = 6}); }),
               {"length + horizons", "6 rows", "got 7"});
  expect_parts(refused<setting_error>([&] { windows(s, {.length = 1, .targets = {"x"}}); }),
               {"c0, c1, c2", "got x"});
  EXPECT_EQ(windows(s, {.length = 5}).size(), 1);
}

}  // namespace windows_test
