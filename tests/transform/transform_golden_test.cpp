// SPDX-License-Identifier: Apache-2.0
// Compares with pandas and scikit-learn: golden/transforms.py.
#include <algorithm>
#include <cmath>
#include <cohort/transform/keyed_sequences.hpp>

#include "../golden/golden_cases.hpp"

namespace transform_golden_test {

using namespace cohort;

table_schema const schema{
    {{.name = "id", .type = column_type::text},
     {.name = "when", .type = column_type::time},
     {.name = "age", .type = column_type::integer},
     {.name = "income"},
     {.name = "far"},
     {.name = "city", .type = column_type::text},
     {.name = "size", .type = column_type::category, .values = {"small", "medium", "large"}}}};

data_table const& table() {
  static data_table const read =
      read_table(COHORT_SOURCE_DIR "/tests/golden/transforms.csv", format_of(schema));
  return read;
}

golden_case const& expected(std::string const& name) {
  static std::map<std::string, golden_case> const cases = read_golden_cases("transforms.txt");
  return cases.at(name);
}

/// Statistics are summed without rounding, so numbers agree up to the rounding errors of the other library.
/// The largest of these is the error of scikit-learn's variance of numbers near 1e9.
void expect_close(std::vector<double> const& made, std::vector<double> const& wanted,
                  std::string const& what) {
  ASSERT_EQ(made.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < made.size(); ++i)
    EXPECT_NEAR(made[i], wanted[i], 1e-13 * std::max(1.0, std::abs(wanted[i]))) << what << ' ' << i;
}

std::vector<double> numbers(data_table const& from, std::string const& column) {
  std::vector<double> made;
  for (double const value : from.numbers<double>(column))
    if (!std::isnan(value)) made.push_back(value);
  return made;
}

void expect_columns(std::string const& name, std::vector<transform_step> steps) {
  data_table const made = fitted_pipeline({schema, std::move(steps)}, table()).apply(table());
  for (auto const& [column, wanted] : expected(name))
    expect_close(numbers(made, column), wanted[0].values, name + ", " + column);
}

TEST(transform_golden, rescales_like_scikit_learn) {
  expect_columns("standardise", {pipeline::normalise{{"age", "income", "far"}}});
  expect_columns("min_max", {pipeline::normalise{{"age", "income", "far"}, rescaling::min_max}});
}

TEST(transform_golden, fills_missing_values_like_scikit_learn) {
  using enum pipeline::replacement;
  expect_columns("mean", {pipeline::impute{.columns = {"age", "income"}, .with = mean}});
  expect_columns("median", {pipeline::impute{.columns = {"age", "income"}, .with = median}});
  expect_columns("most_frequent", {pipeline::impute{.columns = {"age", "income"}, .with = most_frequent}});
}

TEST(transform_golden, encodes_categories_like_scikit_learn) {
  expect_columns("one_hot",
                 {pipeline::impute{.columns = {"city"}, .with = pipeline::replacement::most_frequent},
                  pipeline::categories{.columns = {"city"}}, pipeline::one_hot{{"city"}}});
  expect_columns("index", {pipeline::index{{"size"}}});
}

TEST(transform_golden, filters_rows_and_derives_columns_like_pandas) {
  expect_columns("filter", {pipeline::filter{"age >= 18 and (city != 'Bern' or size == 'large')"}});
  expect_columns("derive", {pipeline::derive{"ratio", "log(income + 1) / (age + 1)"},
                            pipeline::derive{"rest", "(far - 1e9) % 0.7"},
                            pipeline::derive{"clipped", "min(max(age, 20), 60)"},
                            pipeline::derive{"choice", "if(size == 'small', 1, 2)"}});
  expect_columns("time",
                 {pipeline::derive{"year", "year(when)"}, pipeline::derive{"month", "month(when)"},
                  pipeline::derive{"day", "day(when)"}, pipeline::derive{"hour", "hour(when)"},
                  pipeline::derive{"minute", "minute(when)"}, pipeline::derive{"weekday", "weekday(when)"}});
  expect_columns("chain", {pipeline::filter{"age >= 18"},
                           pipeline::impute{.columns = {"income"}, .with = pipeline::replacement::median},
                           pipeline::derive{"log", "log(income)"}, pipeline::normalise{{"income", "log"}}});
}

TEST(transform_golden, groups_rows_and_splits_windows_like_pandas) {
  fitted_pipeline const grouped({schema, {pipeline::group_by_key{{"id"}, "when"}}}, table());
  keyed_sequences const all(grouped, table());
  std::vector<double> lengths;
  for (std::int64_t i = 0; i < all.size(); ++i) lengths.push_back(all.length(i));
  expect_close(lengths, numbers_of(expected("sequences"), "lengths"), "lengths");
  expect_close(numbers(all.rows(), "far"), numbers_of(expected("sequences"), "far"), "far");
  fitted_pipeline const divided(
      {schema, {pipeline::group_by_key{{"id"}, "when"}, pipeline::windows{.length = 4, .stride = 3}}},
      table());
  keyed_sequences const windows(divided, table());
  std::vector<double> sums;
  for (std::int64_t i = 0; i < windows.size(); ++i) {
    auto const rows =
        windows.rows().numbers<double>("far").subspan(static_cast<std::size_t>(windows.first_row(i)), 4);
    sums.push_back(rows[0] + rows[1] + rows[2] + rows[3]);
  }
  expect_close(sums, numbers_of(expected("windows"), "far"), "windows");
}

}  // namespace transform_golden_test
