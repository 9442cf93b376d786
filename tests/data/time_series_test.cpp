// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/time_series.hpp>
#include <limits>

#include "view_cases.hpp"

namespace time_series_test {

using namespace view_cases;

values const six{1, 2, 3, 4, 5, 6};

TEST(time_series, has_rows_and_named_columns) {
  time_series const plain(six, 2);
  EXPECT_EQ(plain.rows(), 3);
  EXPECT_EQ(plain.columns(), (std::vector<std::string>{"c0", "c1"}));
  time_series const named({six.data(), {2, 3}}, {"a", "b", "c"});
  EXPECT_EQ(named.column("c"), 2);
  expect_parts(refused<setting_error>([&] { named.column("d"); }), {"one of a, b, c", "got d"});
  time_series const second = named.slice(1, 1);
  EXPECT_EQ(second.values().as<float>()[0], 4);
  EXPECT_EQ(time_series(std::span<float const>(six), 6).rows(), 1);
}

TEST(time_series, is_split_into_earlier_and_later_rows) {
  auto const [training, held_out] = split_series(time_series(six, 1), 0.7);
  EXPECT_EQ(training.rows(), 4);
  EXPECT_EQ(held_out.rows(), 2);
  EXPECT_EQ(held_out.values().as<float>()[0], 5);
  expect_parts(refused<setting_error>([] { split_series(time_series(six, 1), 0.01); }),
               {"fraction 0.01", "0 of 6 rows"});
  EXPECT_THROW(split_series(time_series(six, 1), 1.5), setting_error);
}

TEST(time_series, refuses_invalid_shapes_types_and_names) {
  expect_parts(refused<shape_error>([] { time_series(six, 4); }), {"a multiple of 4", "got 6"});
  EXPECT_THROW(time_series(six, 0), shape_error);
  expect_parts(refused<shape_error>([] {
                 time_series({six.data(), {6}});
               }),
               {"rows x columns", "got 6 of f32"});
  std::vector<std::int32_t> const integers{1, 2};
  expect_parts(refused<shape_error>([&] { time_series(integers, 1); }), {"got 2x1 of i32"});
  expect_parts(refused<data_error>([] { time_series({six.data(), {3, 2}}, {"a"}); }), {"2 names", "got 1"});
  std::vector<double> const bad{1, 2, 3, std::numeric_limits<double>::quiet_NaN()};
  expect_parts(refused<data_error>([&] { time_series(bad, 2); }), {"column c1, row 2", "finite"});
  std::vector<double> const large{1, 2, 1e39};
  EXPECT_EQ(refused<data_error>([&] { time_series(large, 1); }),
            "a value of a series is out of range (column c0, row 3): expected a number within the range of "
            "f32, got 1e+39");
}

TEST(time_series, refuses_slices_out_of_range) {
  time_series const series(six, 1);
  for (auto const& [first, count] : {std::pair(-1, 2), {5, 2}, {0, 0}, {7, 1}, {0, 7}})
    EXPECT_THROW(series.slice(first, count), setting_error);
}

}  // namespace time_series_test
