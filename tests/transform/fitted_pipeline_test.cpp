// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/transform/fitted_pipeline.hpp>
#include <numeric>
#include <random>

#include "../data/refused.hpp"

namespace fitted_pipeline_test {

using namespace cohort;
using strings = std::vector<std::string>;
using values = std::vector<double>;

table_schema const schema{{{.name = "age", .type = column_type::integer, .lowest = 0},
                           {.name = "income"},
                           {.name = "city", .type = column_type::text},
                           {.name = "size", .type = column_type::category, .values = {"small", "large"}}}};

data_table parsed(std::string const& text, std::string const& name = "people.csv",
                  table_schema const& of = schema) {
  return parse_table(text, name, format_of(of));
}

data_table const& training() {
  static data_table const table = parsed(
      "age,income,city,size\n20,1,Rome,small\n40,,Bern,large\n60,3,,large\n17,100,Oslo,small\n60,8,Rome,\n");
  return table;
}

fitted_pipeline fitted(std::vector<transform_step> steps, data_table const& rows = training()) {
  return fitted_pipeline({schema, std::move(steps)}, rows);
}

/// A column of numbers; −1 for a missing one.
values numbers(data_table const& table, std::string const& column) {
  values all;
  for (double const value : table.numbers<double>(column)) all.push_back(std::isnan(value) ? -1 : value);
  return all;
}

strings texts(data_table const& table, std::string const& column) {
  strings all;
  for (std::size_t row = 0; row < static_cast<std::size_t>(table.rows()); ++row)
    all.emplace_back(table.texts(column)[row]);
  return all;
}

TEST(fitted_pipeline, filters_rows_and_derives_columns) {
  fitted_pipeline const p =
      fitted({pipeline::filter{"age >= 18 and city != 'Bern'"}, pipeline::derive{"ratio", "income / age"},
              pipeline::derive{"age", "age + 1"}, pipeline::derive{"old", "age > 30"},
              pipeline::derive{"label", "if(age > 30, 'old', 'young')"}});
  transform_report report;
  data_table const made = p.apply(training(), {}, &report);
  EXPECT_EQ(made.columns(), (strings{"age", "income", "city", "size", "ratio", "old", "label"}));
  EXPECT_EQ(numbers(made, "age"), (values{21, 61}));
  EXPECT_EQ(numbers(made, "ratio"), (values{1.0 / 20, 8.0 / 60}));
  EXPECT_EQ(numbers(made, "old"), (values{0, 1}));
  EXPECT_EQ(texts(made, "label"), (strings{"young", "old"}));
  EXPECT_EQ(made.row_number(1), 5);  // the row without a city is removed: the condition is missing
  EXPECT_EQ(report.rows, 5);
  EXPECT_EQ(report.removed, 3);
  EXPECT_EQ(report.kept(), 2);
  EXPECT_EQ(p.schema().find("old")->type, column_type::integer);
  EXPECT_EQ(p.schema().find("label")->type, column_type::text);
  EXPECT_EQ(p.schema().columns.size(), 7u);
}

TEST(fitted_pipeline, fills_missing_values) {
  using enum pipeline::replacement;
  fitted_pipeline const p = fitted({pipeline::impute{.columns = {"income"}, .with = mean},
                                    pipeline::impute{.columns = {"city", "size"}, .with = most_frequent}});
  data_table const made = p.apply(training());
  EXPECT_EQ(numbers(made, "income"), (values{1, 28, 3, 100, 8}));
  EXPECT_EQ(texts(made, "city"), (strings{"Rome", "Bern", "Rome", "Oslo", "Rome"}));
  EXPECT_EQ(texts(made, "size"),
            (strings{"small", "large", "large", "small", "large"}));  // the smallest of several
  EXPECT_EQ(p.learned(1)[1].text, "large");
  auto const income = [](pipeline::impute how) {
    how.columns = {"income"};
    return numbers(fitted({how}).apply(training()), "income")[1];
  };
  EXPECT_EQ(income({.with = median}), 5.5);
  EXPECT_EQ(income({.with = most_frequent}), 1);
  EXPECT_EQ(income({.with = constant, .number = 7}), 7);
  auto const city = [](std::string text) {
    return texts(fitted({pipeline::impute{.columns = {"city"}, .with = constant, .text = std::move(text)}})
                     .apply(training()),
                 "city");
  };
  EXPECT_EQ(city("Lima"), (strings{"Rome", "Bern", "Lima", "Oslo", "Rome"}));
  EXPECT_EQ(city("Rome")[2], "Rome");
  EXPECT_EQ(numbers(fitted({pipeline::impute{.columns = {"age"}, .with = most_frequent}})
                        .apply(parsed("age,income,city,size\n,1,x,small\n")),
                    "age"),
            (values{60}));
}

TEST(fitted_pipeline, rescales_columns) {
  fitted_pipeline const p =
      fitted({pipeline::normalise{{"income"}}, pipeline::normalise{{"age"}, rescaling::min_max}});
  data_table const made = p.apply(training());
  EXPECT_EQ(p.learned(0)[0].zero, 28);
  EXPECT_DOUBLE_EQ(p.learned(0)[0].unit, std::sqrt((27. * 27 + 25 * 25 + 72 * 72 + 20 * 20) / 4));
  EXPECT_DOUBLE_EQ(numbers(made, "income")[3], 72 / p.learned(0)[0].unit);
  EXPECT_TRUE(std::isnan(made.numbers<double>("income")[1]));
  EXPECT_EQ(numbers(made, "age"), (values{3. / 43, 23. / 43, 1, 0, 1}));
  EXPECT_EQ(p.schema().find("age")->type, column_type::number);
  EXPECT_EQ(p.schema().find("age")->lowest, std::nullopt);
  // All values are equal: they become 0.
  data_table const equal = parsed("age,income,city,size\n5,0.1,x,small\n5,0.1,x,small\n5,0.1,x,small\n");
  EXPECT_EQ(numbers(fitted({pipeline::normalise{{"age", "income"}}}, equal).apply(equal), "income"),
            (values{0, 0, 0}));
  fitted_pipeline const none = fitted({pipeline::normalise{{"age"}, rescaling::none}});
  EXPECT_EQ(numbers(none.apply(training()), "age")[0], 20);
  EXPECT_TRUE(none.learned(0).empty());
}

TEST(fitted_pipeline, only_shifts_a_column_whose_training_values_are_equal) {
  data_table const constant = parsed("age,income,city,size\n20,6,Rome,small\n21,6,Rome,small\n");
  for (rescaling const how : {rescaling::standardise, rescaling::min_max}) {
    fitted_pipeline const p = fitted({pipeline::normalise{{"income"}, how}}, constant);
    EXPECT_EQ(numbers(p.apply(training()), "income"), (values{1 - 6, -1, 3 - 6, 100 - 6, 8 - 6}));
    EXPECT_EQ(p.learned(0)[0].unit, 1);
  }
}

TEST(fitted_pipeline, updates_types_and_bounds_of_the_schema) {
  using enum pipeline::replacement;
  auto const age_after = [](pipeline::replacement with) {
    fitted_pipeline const p = fitted({pipeline::impute{.columns = {"age"}, .with = with, .number = 3}});
    return *p.schema().find("age");
  };
  for (auto const with : {mean, median}) EXPECT_EQ(age_after(with).type, column_type::number);
  for (auto const with : {most_frequent, constant}) EXPECT_EQ(age_after(with).type, column_type::integer);
  EXPECT_TRUE(age_after(mean).required);
  EXPECT_EQ(age_after(most_frequent).lowest, 0);
  EXPECT_EQ(age_after(constant).lowest, std::nullopt);
  // With another value for missing texts, every row has a category; without one a text may be missing.
  auto const city_after = [](std::string const& other) {
    fitted_pipeline const p = fitted({pipeline::categories{.columns = {"city"}, .other = other}});
    return *p.schema().find("city");
  };
  EXPECT_TRUE(city_after("elsewhere").required);
  EXPECT_FALSE(city_after("").required);
}

TEST(fitted_pipeline, encodes_categories) {
  fitted_pipeline const p = fitted({pipeline::categories{.columns = {"city"}, .other = "other"},
                                    pipeline::index{{"size"}}, pipeline::one_hot{{"city"}}});
  data_table const made = p.apply(training());
  EXPECT_EQ(made.columns(),
            (strings{"age", "income", "city=Bern", "city=Oslo", "city=Rome", "city=other", "size"}));
  EXPECT_EQ(numbers(made, "city=Rome"), (values{1, 0, 0, 0, 1}));
  EXPECT_EQ(numbers(made, "city=other"), (values{0, 0, 1, 0, 0}));
  EXPECT_EQ(numbers(made, "size"), (values{0, 1, 1, 0, -1}));  // in the order of the schema
  EXPECT_EQ(p.schema().find("size")->highest, 1);
  data_table const other = parsed("age,income,city,size\n1,1,Lima,large\n");
  EXPECT_EQ(numbers(p.apply(other), "city=other"), (values{1}));
  // Without `other`, missing texts stay missing.
  data_table const strict =
      fitted({pipeline::categories{.columns = {"city"}}, pipeline::one_hot{{"city"}}}).apply(training());
  EXPECT_EQ(numbers(strict, "city=Rome"), (values{1, 0, -1, 0, 1}));
  EXPECT_EQ(strict.columns().size(), 6u);
  // A category loses the values that do not occur; `other` may be a value that occurs.
  fitted_pipeline const small = fitted({pipeline::categories{.columns = {"size"}, .other = "small"}},
                                       parsed("age,income,city,size\n1,1,x,small\n"));
  EXPECT_EQ(small.learned(0)[0].values, (strings{"small"}));
  EXPECT_EQ(texts(small.apply(training()), "size"), (strings{"small", "small", "small", "small", "small"}));
}

TEST(fitted_pipeline, drops_keeps_and_renames_columns) {
  data_table const made =
      fitted({pipeline::drop{{"city"}}, pipeline::rename{"income", "pay"}, pipeline::keep{{"size", "pay"}}})
          .apply(training());
  EXPECT_EQ(made.columns(), (strings{"size", "pay"}));
  EXPECT_EQ(numbers(made, "pay"), (values{1, -1, 3, 100, 8}));
}

/// Steps that learn from the results of others: of imputed, derived and rescaled columns, and of categories.
std::vector<transform_step> const chain{
    pipeline::filter{"age >= 18"},
    pipeline::impute{.columns = {"income"}},
    pipeline::impute{.columns = {"city"}, .with = pipeline::replacement::most_frequent},
    pipeline::categories{.columns = {"city"}, .other = "other"},
    pipeline::derive{"log", "log(income + 1)"},
    pipeline::normalise{{"income", "log", "age"}},
    pipeline::one_hot{{"city"}},
    pipeline::derive{"roman", "`city=Rome` * income"},
    pipeline::impute{.columns = {"size"}, .with = pipeline::replacement::most_frequent},
    pipeline::one_hot{{"size"}},
    pipeline::normalise{{"roman"}, rescaling::min_max}};

TEST(fitted_pipeline, learns_from_the_results_of_earlier_steps) {
  fitted_pipeline const p = fitted(chain);
  data_table const made = p.apply(training());
  EXPECT_EQ(p.learned(1)[0].number, 4);  // without the row that the filter removes
  EXPECT_EQ(p.learned(5)[0].zero, 4);    // of the imputed incomes
  double const logs = std::log(2.) + std::log(5.) + std::log(4.) + std::log(9.);
  EXPECT_DOUBLE_EQ(p.learned(5)[1].zero, logs / 4);
  values const roman = numbers(made, "roman");
  EXPECT_EQ(*std::ranges::min_element(roman), 0);
  EXPECT_EQ(*std::ranges::max_element(roman), 1);
  EXPECT_EQ(p.learned(3)[0].values, (strings{"Bern", "Rome", "other"}));
  EXPECT_EQ(p.report().rows, 5);
  EXPECT_EQ(p.report().removed, 1);
}

TEST(fitted_pipeline, reads_the_rows_once_for_steps_that_do_not_depend_on_each_other) {
  int passes = 0;
  table_pieces const rows = [&](auto const& use) {
    ++passes;
    use(training());
  };
  fitted_pipeline const one({schema,
                             {pipeline::normalise{{"age"}}, pipeline::impute{.columns = {"income"}},
                              pipeline::categories{.columns = {"city"}}}},
                            rows);
  EXPECT_EQ(passes, 1);
  passes = 0;
  fitted_pipeline const two({schema,
                             {pipeline::impute{.columns = {"income"}}, pipeline::normalise{{"income", "age"}},
                              pipeline::categories{.columns = {"city"}}}},
                            rows);
  EXPECT_EQ(passes, 2);
  passes = 0;
  fitted_pipeline const many({schema, chain}, rows);
  EXPECT_EQ(passes, 3);
  passes = 0;
  fitted_pipeline const none({schema, {pipeline::drop{{"age"}}}}, rows);
  EXPECT_EQ(passes, 1);
}

TEST(fitted_pipeline, learns_from_the_fitted_rows_only) {
  std::vector<std::int64_t> const first{0, 1};
  fitted_pipeline const p = fitted({pipeline::normalise{{"age"}}, pipeline::categories{.columns = {"city"}}},
                                   training().select(first));
  EXPECT_EQ(p.learned(0)[0].zero, 30);
  EXPECT_EQ(p.learned(1)[0].values, (strings{"Bern", "Rome"}));
  fitted_pipeline const before = p;
  transform_report report;
  p.apply(training(), {.bad = bad_record::skip}, &report);
  EXPECT_EQ(report.skipped, 1);
  EXPECT_TRUE(p == before);
}

TEST(fitted_pipeline, yields_examples_with_the_same_classes_for_every_table) {
  fitted_pipeline const p =
      fitted({pipeline::impute{.columns = {"income"}},
              pipeline::impute{.columns = {"size"}, .with = pipeline::replacement::most_frequent},
              pipeline::drop{{"city"}}});
  for (data_table const& rows : {training(), parsed("age,income,city,size\n1,2,x,large\n")}) {
    dataset const data = p.apply(rows).examples({.target = "size"});
    EXPECT_EQ(data.describe().targets[0].label_names, (strings{"large", "small"}));
    EXPECT_EQ(data.describe().inputs[0].example, shape(2));
  }
}

TEST(fitted_pipeline, accepts_rows_without_optional_columns) {
  table_schema with_target = schema;
  with_target.columns[3].optional = true;
  fitted_pipeline const p({with_target, {pipeline::drop{{"city"}}}}, training());
  data_table const asked = parse_table("city,age,income\nRome,3,4\n", "new.csv");
  data_table const made = p.apply(asked);
  EXPECT_EQ(made.texts("size").codes[0], -1);
  EXPECT_EQ(made.texts("size").vocabulary.size(), 2u);
  EXPECT_EQ(numbers(made, "income"), (values{4}));
}

TEST(fitted_pipeline, accepts_files_without_optional_columns) {
  table_schema with_target = schema;
  with_target.columns[3].optional = true;
  fitted_pipeline const p({with_target, {pipeline::drop{{"city"}}}}, training());
  data_table const made = p.apply(parsed("city,age,income\nRome,3,4\n", "new.csv", with_target));
  EXPECT_EQ(made.texts("size").codes[0], -1);
  expect_parts(
      refused<setting_error>([&] { parsed("age,income,size\n1,2,small\n", "new.csv", with_target); }),
      {"the table has no such column", "new.csv", "got city"});
  EXPECT_EQ(p.apply(parsed("city,age,income\n", "empty.csv", with_target)).rows(), 0);
}

TEST(fitted_pipeline, skips_numbers_out_of_range_for_any_partition_of_the_rows) {
  transform_settings const skip{.bad = bad_record::skip};
  std::string const names = "age,income,city,size\n", good = "1,2,a,small\n", large = "1,1e999,a,small\n",
                    text = "1,abc,a,small\n";
  fitted_pipeline const p = fitted({});
  for (std::string const& rows : {good + large, good + text, good + large + text}) {
    transform_report report;
    EXPECT_EQ(p.apply(parsed(names + rows), skip, &report).rows(), 1);
    EXPECT_EQ(report.skipped + 1, report.rows);
  }
  expect_parts(refused<data_error>([&] { p.apply(parsed(names + good + large)); }),
               {"column income, row 2", "a number", "1e999"});
}

TEST(fitted_pipeline, reads_numbers_in_the_format_of_the_table_beside_texts) {
  table_schema const amounts{{{.name = "amount"}}};
  table_settings const euro = format_of(amounts, {.decimal = ',', .thousands = '.'});
  transform_report report;
  data_table const rows = parse_table("amount\n1.234,5\nunknown\n-0,25\n", "t.csv", euro);
  data_table const made = fitted_pipeline({amounts, {}}, rows, {.bad = bad_record::skip})
                              .apply(rows, {.bad = bad_record::skip}, &report);
  EXPECT_EQ(numbers(made, "amount"), (values{1234.5, -0.25}));
  EXPECT_EQ(report.skipped, 1);
  std::vector<std::int64_t> const last{2, 1};
  EXPECT_EQ(fitted_pipeline({amounts, {}}, rows, {.bad = bad_record::skip})
                .apply(rows.select(last), {.bad = bad_record::skip})
                .rows(),
            1);
}

TEST(fitted_pipeline, refuses_infinity_and_integers_beyond_2_to_the_53) {
  fitted_pipeline const p = fitted({pipeline::impute{{"income"}}});
  double const infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(p.apply(table_row{1.0, row_value(), std::string("a"), std::string("small")}));
  expect_parts(refused<data_error>([&] {
                 p.apply(table_row{1.0, infinity, std::string("a"), std::string("small")});
               }),
               {"column income", "a number", "inf"});
  EXPECT_TRUE(p.apply(table_row{9007199254740991.0, 1.0, std::string("a"), std::string("small")}));
  EXPECT_EQ(refused<data_error>([&] {
              p.apply(table_row{9007199254740992.0, 1.0, std::string("a"), std::string("small")});
            }).empty(),
            false);
}

TEST(fitted_pipeline, learns_equal_values_for_zero_and_negative_zero) {
  using enum pipeline::replacement;
  std::string const first = "0,-0,a,small\n", second = "0,0,a,small\n", third = "0,1,a,small\n";
  auto const json = [&](std::string const& rows) {
    data_table const table = parsed("age,income,city,size\n" + rows);
    return to_json(fitted({pipeline::impute{{"income"}, most_frequent}}, table))
           + to_json(fitted({pipeline::normalise{{"income"}, rescaling::min_max}}, table));
  };
  EXPECT_EQ(json(first + second + third), json(second + first + third));
  EXPECT_EQ(json(first + second + third).find("-0"), std::string::npos);
}

TEST(fitted_pipeline, the_median_of_extreme_numbers_is_finite) {
  fitted_pipeline const p = fitted({pipeline::impute{{"income"}, pipeline::replacement::median}},
                                   parsed("age,income,city,size\n1,1e308,a,small\n1,-1e308,a,small\n"));
  EXPECT_EQ(p.learned(0)[0].number, 0);
}

TEST(fitted_pipeline, indicators_of_two_columns_need_different_names) {
  table_schema const twins{{{.name = "a", .type = column_type::category, .values = {"b=c", "d"}},
                            {.name = "a=b", .type = column_type::category, .values = {"c"}}}};
  expect_parts(refused<setting_error>([&] {
                 transform_pipeline({twins, {pipeline::one_hot{{"a", "a=b"}}}}).check();
               }),
               {"two indicators would have the same name", "a=b=c"});
}

TEST(fitted_pipeline, refuses_indicators_for_more_than_65536_values) {
  table_schema wide{{{.name = "a", .type = column_type::category}}};
  for (std::size_t i = 0; i <= pipeline::one_hot::max_values; ++i)
    wide.columns[0].values.push_back(std::to_string(i));
  expect_parts(refused<setting_error>([&] {
                 transform_pipeline({wide, {pipeline::one_hot{{"a"}}}}).check();
               }),
               {"at most 65536 values; the step index for more", "got 65537"});
  transform_pipeline({wide, {pipeline::index{{"a"}}}}).check();
}

TEST(fitted_pipeline, one_hot_and_index_follow_the_value_order_of_the_schema) {
  table_schema const sizes{{{.name = "s", .type = column_type::category, .values = {"m", "xl", "l", "s"}}}};
  data_table const rows = parse_table("s\nl\nm\ns\nxl\n", "rows.csv", format_of(sizes));
  data_table const hot = fitted_pipeline({sizes, {pipeline::one_hot{{"s"}}}}, rows).apply(rows);
  EXPECT_EQ(hot.columns(), (strings{"s=m", "s=xl", "s=l", "s=s"}));
  EXPECT_EQ(numbers(hot, "s=xl"), (values{0, 0, 0, 1}));
  EXPECT_EQ(numbers(hot, "s=l"), (values{1, 0, 0, 0}));
  EXPECT_EQ(numbers(fitted_pipeline({sizes, {pipeline::index{{"s"}}}}, rows).apply(rows), "s"),
            (values{2, 0, 3, 1}));
}

TEST(fitted_pipeline, refuses_to_rename_to_an_unknown_column_before_reading_rows) {
  transform_pipeline const how{schema, {pipeline::normalise{{"age"}}, pipeline::rename{"income", "age"}}};
  expect_parts(refused<setting_error>([&] { how.check(); }), {"steps[1], rename", "age"});
}

TEST(fitted_pipeline, refuses_nul_bytes_in_texts) {
  std::string const nul("a\0b", 3);
  for (transform_step const& step :
       {transform_step(pipeline::derive{"x", "if(age > 1, '" + nul + "', 'c')"}),
        transform_step(pipeline::filter{"city == '" + nul + "'"}),
        transform_step(pipeline::categories{.columns = {"city"}, .other = nul}),
        transform_step(
            pipeline::impute{.columns = {"city"}, .with = pipeline::replacement::constant, .text = nul})})
    expect_parts(refused<setting_error>([&] {
                   transform_pipeline({schema, {step}}).check();
                 }),
                 {"no NUL bytes"});
}

TEST(fitted_pipeline, round_trips_with_an_empty_most_frequent_text) {
  table_schema const texts_only{{{.name = "t", .type = column_type::text}}};
  data_table const rows =
      table_of(texts_only, {{std::string()}, {std::string()}, {std::string("a")}}, "rows");
  fitted_pipeline const p(
      {texts_only, {pipeline::impute{.columns = {"t"}, .with = pipeline::replacement::most_frequent}}}, rows);
  EXPECT_EQ(fitted_pipeline::from_json(to_json(p)), p);
}

TEST(fitted_pipeline, reads_more_than_a_million_learned_texts) {
  table_schema const two{
      {{.name = "t", .type = column_type::text}, {.name = "u", .type = column_type::text}}};
  std::string text = "t,u\n";
  for (int i = 0; i < 500'001; ++i) text += std::to_string(i) + "," + std::to_string(i) + "\n";
  fitted_pipeline const p({two, {pipeline::categories{.columns = {"t", "u"}}}},
                          parse_table(text, "rows.csv", format_of(two)));
  EXPECT_EQ(fitted_pipeline::from_json(to_json(p)), p);
}

TEST(fitted_pipeline, reports_file_column_and_row_of_a_value_that_does_not_match_the_schema) {
  fitted_pipeline const p =
      fitted({pipeline::categories{.columns = {"city"}}, pipeline::derive{"log", "log(income)"}});
  auto const refusal_of = [&](std::string const& row) {
    return refused<data_error>(
        [&] { p.apply(parsed("age,income,city,size\n1,1,Rome,small\n" + row + "\n", "new.csv")); });
  };
  EXPECT_EQ(refusal_of("x,1,Rome,small"),
            "a value does not match the schema (new.csv, column age, row 2): expected a whole number of at "
            "least 0, got \"x\"");
  expect_parts(refusal_of("-1,1,Rome,small"), {"column age, row 2", "got -1"});
  expect_parts(refusal_of("1.5,1,Rome,small"), {"column age, row 2", "a whole number", "got 1.5"});
  expect_parts(refusal_of("1,a,Rome,small"), {"column income, row 2", "expected a number", "got \"a\""});
  expect_parts(refusal_of("1,1,Rome,huge"),
               {"column size, row 2", "one of \"small\", \"large\"", "got \"huge\""});
  expect_parts(refusal_of("1,1,Lima,small"), {"column city, row 2", "one of \"Bern\", \"Oslo\", \"Rome\"",
                                              "categories::other", "got \"Lima\""});
  expect_parts(refusal_of("1,0,Rome,small"),
               {"a formula has no finite value (new.csv, column log, row 2)", "got -inf"});
  EXPECT_EQ(refused<data_error>([&] { p.apply(parse_table("age,city\n1,Rome\n", "new.csv")); }),
            "a table lacks a column of the schema (new.csv): expected a column \"income\", got age, city");
  expect_parts(
      refused<data_error>([&] { p.apply(parse_table("age,income,city,size\n1,1,7,small\n", "new.csv")); }),
      {"a column contains numbers", "column city", "text_columns"});
}

table_schema const days{{{.name = "day", .type = column_type::time, .format = "%d/%m/%Y %H:%M"}}};

TEST(fitted_pipeline, reads_times_in_the_format_of_their_column) {
  fitted_pipeline const p({days, {pipeline::derive{"month", "month(day)"}}},
                          parsed("day\n03/04/2024 10:30\n", "days.csv", days));
  data_table const made =
      p.apply(parsed("day\n31/12/2024 10:30\n\"\"\n 1/2/1970  0:01 \n", "days.csv", days));
  EXPECT_EQ(numbers(made, "day"), (values{1735641000, -1, 31 * 86400 + 60}));
  EXPECT_EQ(numbers(made, "month"), (values{12, -1, 2}));
  // Prepared times are numbers: a second pipeline reads them.
  EXPECT_EQ(p.schema().find("day")->format, "");
  EXPECT_EQ(numbers(fitted_pipeline({p.schema(), {}}, made).apply(made), "day"), numbers(made, "day"));
  fitted_pipeline const reread = fitted_pipeline::from_json(to_json(p));
  EXPECT_EQ(reread, p);
  EXPECT_EQ(reread.description().schema.columns[0].format, "%d/%m/%Y %H:%M");
  EXPECT_EQ(reread.schema(), p.schema());
}

TEST(fitted_pipeline, reports_the_format_of_a_damaged_time) {
  auto const refusal_of = [](table_schema const& of, std::string const& text) {
    return refused<data_error>([&] {
      data_table const rows = parsed("day\n" + text + "\n", "days.csv", of);
      fitted_pipeline({of, {}}, rows).apply(rows);
    });
  };
  EXPECT_EQ(refusal_of(days, "31/12/2024 10:30\n31/02/2024 10:30"),
            "a value does not match the schema (days.csv, column day, row 2): expected a time in the format "
            "\"%d/%m/%Y %H:%M\", got \"31/02/2024 10:30\"");
  // The advice for a text in another format names formats that work.
  expect_parts(
      refusal_of(days, "2024.12.31 10:30"),
      {"in the format \"%d/%m/%Y %H:%M\"; or in the column's schema the format \"%Y.%m.%d %H:%M\", got"});
  table_schema plain{{{.name = "day", .type = column_type::time}}};
  EXPECT_EQ(refusal_of(plain, "03/04/2024"),
            "a value does not match the schema (days.csv, column day, row 1): expected a time such as "
            "2026-11-25T22:30:00Z; or in the column's schema the format \"%d/%m/%Y\" or \"%m/%d/%Y\", got "
            "\"03/04/2024\"");
  for (auto const& [format, time] :
       {std::pair("%d/%m/%Y", 1712102400.0), std::pair("%m/%d/%Y", 1709510400.0)}) {
    plain.columns[0].format = format;
    data_table const rows = parsed("day\n03/04/2024\n", "days.csv", plain);
    EXPECT_EQ(numbers(fitted_pipeline({plain, {}}, rows).apply(rows), "day"), values{time});
  }
}

TEST(fitted_pipeline, refuses_numbers_that_may_be_dates) {
  table_schema plain{{{.name = "day", .type = column_type::time}}};
  auto const apply = [&](std::string const& text, table_settings const& how) {
    data_table const rows = parse_table("day\n" + text + "\n", "days.csv", how);
    return numbers(fitted_pipeline({plain, {}}, rows).apply(rows), "day");
  };
  auto const refusal_of = [&](std::string const& text, table_settings const& how) {
    return refused<data_error>([&] { apply(text, how); });
  };
  EXPECT_EQ(
      refusal_of("NA\n20241231\n19700228", format_of(plain)),
      "a column of times contains numbers that are dates (days.csv, column day, row 2): expected seconds "
      "since 1970; or in the column's schema the format \"%Y%m%d\"; or the type number if the numbers are "
      "no times, got 20241231");
  EXPECT_EQ(apply("20241231\n1735603200", format_of(plain)), (values{20241231, 1735603200}));
  EXPECT_EQ(apply("20241232\n20230229\n20241301\n20240001\n18991231", format_of(plain)).size(), 5u);
  plain.columns[0].format = "%Y%m%d";
  EXPECT_EQ(apply("20241231\nNA", format_of(plain)), (values{1735603200, -1}));
  expect_parts(refusal_of("20241231", {.number_type = element_type::f64}),
               {"a column of times with a format contains numbers (days.csv, column day, row 1)",
                "the settings format_of(schema)", "got 20241231"});
}

TEST(fitted_pipeline, refuses_dates_only_if_all_training_rows_are_dates) {
  table_schema const plain{{{.name = "day", .type = column_type::time}}};
  std::vector<data_table> const dates{parsed("day\n20010203\nNA\n", "a.csv", plain),
                                      parsed("day\nNA\n20010204\n", "b.csv", plain)};
  std::vector<data_table> seconds = dates;
  seconds.push_back(parsed("day\n20019999\n", "c.csv", plain));
  auto const pieces = [](std::vector<data_table> const& of) -> table_pieces {
    return [&of](auto const& use) {
      for (data_table const& one : of) use(one);
    };
  };
  fitted_pipeline const p({plain, {}}, pieces(seconds));
  EXPECT_EQ(p.apply(table_row{20010203.0})->at(0), row_value(20010203.0));
  EXPECT_EQ(numbers(p.apply(dates[0]), "day"), (values{20010203, -1}));
  expect_parts(refused<data_error>([&] {
                 fitted_pipeline({plain, {}}, pieces(dates));
               }),
               {"a column of times contains numbers that are dates (a.csv, column day, row 1): expected "
                "seconds since 1970",
                "got 20010203"});
  launch<threads>(3, [&](communicator& world) {
    auto const rank = static_cast<std::size_t>(world.rank());
    fitted_pipeline const of_seconds({plain, {}}, seconds[rank], world);
    EXPECT_EQ(of_seconds.report().rows, 5);
    expect_parts(refused<data_error>([&] {
                   fitted_pipeline({plain, {}}, dates[rank % 2], world);
                 }),
                 {"numbers that are dates (a.csv, column day, row 1, rank 0)", "got 20010203"});
  });
}

TEST(fitted_pipeline, skips_and_counts_rows_that_do_not_match_the_schema) {
  table_schema strict = schema;
  strict.columns[1].required = true;
  std::string text = "age,income,city,size\n1,1,Rome,small\nx,,Rome,small\n3,3,Rome,huge\n,,Rome,small\n";
  for (int i = 0; i < 20; ++i) text += "-5,1,Rome,small\n";
  data_table const rows = parsed(text + "7,4,Bern,small\n");
  int logged = 0;
  transform_settings const skip{
      .bad = bad_record::skip, .log = [&](std::string_view line) {
        EXPECT_TRUE(line.starts_with("a value does not match the schema (people.csv, "));
        ++logged;
      }};
  fitted_pipeline const p({strict, {pipeline::normalise{{"age"}, rescaling::min_max}}}, rows, skip);
  EXPECT_EQ(logged, 23);
  EXPECT_EQ(p.report().rows, 25);
  EXPECT_EQ(p.report().skipped, 23);
  ASSERT_EQ(p.report().problems.size(), transform_report::max_problems);
  EXPECT_EQ(p.learned(0)[0].unit, 6);  // ages 1 and 7
  transform_report report;
  data_table const made = p.apply(rows, skip, &report);
  EXPECT_EQ(numbers(made, "income"), (values{1, 4}));
  EXPECT_EQ(made.row_number(1), 25);
  EXPECT_EQ(report.skipped, 23);
  EXPECT_EQ(report.kept(), 2);
}

TEST(fitted_pipeline, refuses_rows_from_which_it_cannot_learn) {
  data_table const none = parsed("age,income,city,size\n,,,\n");
  auto const refusal_of = [&](transform_step step, data_table const& rows,
                              transform_settings const& how = {}) {
    return refused<data_error>([&] { fitted_pipeline({schema, {std::move(step)}}, rows, how); });
  };
  EXPECT_EQ(refusal_of(pipeline::normalise{{"income"}}, none),
            "a step has no values to learn from (steps[0], normalise, column income): expected at least 1 "
            "value in the "
            "training rows that is not missing, got none");
  expect_parts(refusal_of(pipeline::categories{.columns = {"city"}}, none),
               {"steps[0], categories, column city"});
  expect_parts(refusal_of(pipeline::impute{.columns = {"age"}, .with = pipeline::replacement::median}, none),
               {"column age"});
  expect_parts(refusal_of(pipeline::impute{.columns = {"age"}}, training().select({})), {"column age"});
  expect_parts(refusal_of(pipeline::categories{.columns = {"city"}}, training(), {.max_distinct = 2}),
               {"too many different values", "steps[0], categories, column city",
                "at most 2 (transform_settings::max_distinct)"});
  expect_parts(refusal_of(pipeline::impute{.columns = {"age"}, .with = pipeline::replacement::median},
                          training(), {.max_distinct = 3}),
               {"too many different values"});
  data_table const wide = parsed("age,income,city,size\n1,1e308,x,small\n1,-1e308,x,small\n");
  expect_parts(refusal_of(pipeline::normalise{{"income"}, rescaling::min_max}, wide),
               {"numbers cannot be rescaled", "column income", "range"});
  EXPECT_EQ(numbers(fitted({pipeline::normalise{{"income"}}}, wide).apply(wide), "income"), (values{1, -1}));
  expect_parts(refused<setting_error>([] { fitted({pipeline::drop{{"none"}}}); }), {"steps[0], drop"});
  expect_parts(refused<setting_error>([] {
                 fitted_pipeline const p = fitted({});
                 p.learned(0);
               }),
               {"the pipeline has no such step"});
}

TEST(fitted_pipeline, round_trips_through_json) {
  for (auto const& steps : {chain, std::vector<transform_step>{}}) {
    fitted_pipeline const p = fitted(steps);
    std::string const text = to_json(p);
    fitted_pipeline const again = fitted_pipeline::from_json(text);
    EXPECT_TRUE(again == p);
    EXPECT_EQ(to_json(again), text);
    EXPECT_EQ(again.schema(), p.schema());
    EXPECT_EQ(again.description(), p.description());
    data_table const a = p.apply(training()), b = again.apply(training());
    for (std::string const& column : a.columns())
      if (!a.has_texts(column)) {
        EXPECT_EQ(numbers(a, column), numbers(b, column));
      }
  }
}

TEST(fitted_pipeline, refuses_invalid_learned_values) {
  std::string const valid = to_json(
      fitted({pipeline::categories{.columns = {"city"}, .other = "other"}, pipeline::normalise{{"age"}},
              pipeline::impute{.columns = {"size"}, .with = pipeline::replacement::most_frequent}}));
  auto const refusal_of = [&](std::string const& from, std::string const& to) {
    std::string text = valid;
    std::size_t const at = text.rfind(from);
    EXPECT_NE(at, std::string::npos) << from << text;
    text.replace(at, from.size(), to);
    return refused<data_error>([&] { fitted_pipeline::from_json(text, "p.json"); });
  };
  expect_parts(refusal_of("\"Bern\"", "\"Zug\""), {"$.learned[0][0].values", "ascending"});
  expect_parts(refusal_of("\"Oslo\"", "\"Bern\""), {"$.learned[0][0].values", "different texts"});
  expect_parts(refusal_of(", \"other\"]", "]"), {"$.learned[0][0].values", "`other`"});
  expect_parts(refusal_of("\"Oslo\"", "\"Oslo\\u0000\""), {"$.learned[0][0].values", "no NUL bytes"});
  expect_parts(refusal_of("\"text\": \"large\"", "\"text\": \"la\\u0000rge\""),
               {"$.learned[2][0].text", "no NUL bytes"});
  expect_parts(refusal_of("\"values\"", "\"value\""), {"$.learned[0][0]"});
  expect_parts(refusal_of("\"column\": \"age\"", "\"column\": \"size\""),
               {"$.learned[1][0].column", "\"age\""});
  expect_parts(refusal_of("\"unit\": ", "\"unit\": -"), {"$.learned[1][0].unit", "above 0"});
  expect_parts(refusal_of("\"large\"", "\"huge\""), {"$.learned[2]", "one of the values of the category"});
  expect_parts(refusal_of("\"text\": \"large\"", "\"number\": 1"),
               {"$.learned[2]", "a text for each column of texts"});
  expect_parts(refusal_of("\"city\"", "\"town\""), {"p.json"});
  expect_parts(refusal_of("\"learned\"", "\"learnt\""), {"$.learnt"});
  expect_parts(refused<data_error>([&] {
                 fitted_pipeline::from_json(to_json(transform_pipeline{schema, {}}));
               }),
               {"learned"});
}

// Properties: rows, files, pieces and the parts of ranks give the same results.

std::string drawn_rows(std::mt19937_64& random, int rows) {
  std::string text = "age,income,city,size\n";
  char const* const cities[]{"Rome", "Bern", "Oslo", "\"a, b\"", ""};
  char const* const sizes[]{"small", "large", "", "large"};
  for (int i = 0; i < rows; ++i) {
    text += random() % 9 == 0 ? "" : std::to_string(random() % 90);
    text += ',';
    text += random() % 7 == 0 ? "" : std::to_string(static_cast<double>(random() % 1'000'000) / 997.0);
    text += std::string(",") + cities[random() % 5] + ',' + sizes[random() % 4] + '\n';
  }
  return text;
}

void expect_same(data_table const& a, data_table const& b, std::int64_t first_of_a = 0) {
  ASSERT_EQ(a.columns(), b.columns());
  for (std::string const& column : a.columns())
    for (std::size_t row = 0; row < static_cast<std::size_t>(b.rows()); ++row) {
      std::size_t const other = row + static_cast<std::size_t>(first_of_a);
      if (b.has_texts(column)) {
        ASSERT_EQ(a.texts(column)[other], b.texts(column)[row]);
        ASSERT_EQ(a.texts(column).codes[other] < 0, b.texts(column).codes[row] < 0);
      } else {
        auto const x = a.numbers<double>(column)[other], y = b.numbers<double>(column)[row];
        ASSERT_TRUE(std::isnan(x) ? std::isnan(y)
                                  : std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y))
            << column;
      }
    }
}

TEST(fitted_pipeline, transforms_rows_tables_and_blocks_equally) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    data_table const table = parsed(drawn_rows(random, 60));
    std::vector<transform_step> steps = chain;
    steps.erase(steps.begin());  // the filter, so that rows correspond
    fitted_pipeline const p = fitted(steps, table);
    data_table const whole = p.apply(table);
    ASSERT_EQ(whole.rows(), 60);
    for (int row = 0; row < 60; ++row) {
      auto const at = static_cast<std::size_t>(row);
      auto const number = [&](char const* column) {
        double const value = table.numbers<double>(column)[at];
        return std::isnan(value) ? row_value() : row_value(value);
      };
      auto const text = [&](char const* column) {
        return table.texts(column).codes[at] < 0 ? row_value()
                                                 : row_value(std::string(table.texts(column)[at]));
      };
      auto const made = p.apply(table_row{number("age"), number("income"), text("city"), text("size")});
      ASSERT_TRUE(made.has_value());
      expect_same(whole, table_of(p.schema(), {*made}), row);
      std::vector<std::int64_t> const one{row};
      expect_same(whole, p.apply(table.select(one)), row);
    }
    std::int64_t next = 0;
    p.apply([&](auto const& use) {
      std::vector<std::int64_t> piece;
      for (std::int64_t row = 0; row < 60; ++row) {
        piece.push_back(row);
        if (random() % 9 != 0 && row != 59) continue;
        use(table.select(piece));
        piece.clear();
      }
    })([&](data_table const& piece) {
      expect_same(whole, piece, next);
      next += piece.rows();
    });
    EXPECT_EQ(next, 60);
  }
  fitted_pipeline const filtered = fitted({pipeline::filter{"age > 5"}});
  EXPECT_FALSE(filtered.apply(table_row{1.0, {}, {}, {}}).has_value());
  EXPECT_TRUE(filtered.apply(table_row{6.0, {}, {}, {}}).has_value());
  expect_parts(refused<data_error>([&] {
                 filtered.apply(table_row{-1.0, {}, {}, {}});
               }),
               {"a row, column age, row 1"});
}

/// Divides rows into consecutive parts, of which some are empty.
std::vector<std::vector<std::int64_t>> drawn_parts(std::mt19937_64& random, int rows, int ranks) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, random);
  std::vector<std::vector<std::int64_t>> parts(static_cast<std::size_t>(ranks));
  std::size_t const empty = ranks > 2 ? random() % parts.size() : parts.size();
  for (std::int64_t const row : order) {
    std::size_t which = random() % parts.size();
    if (which == empty) which = (which + 1) % parts.size();
    parts[which].push_back(row);
  }
  return parts;
}

TEST(fitted_pipeline, learns_the_same_bits_on_any_number_of_ranks) {
  for (int const ranks : {1, 2, 3, 7})
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", ranks " + std::to_string(ranks));
      std::mt19937_64 random(seed);
      data_table const table = parsed(drawn_rows(random, 100));
      std::vector<transform_step> steps = chain;
      steps.push_back(pipeline::impute{.columns = {"log"}, .with = pipeline::replacement::median});
      steps.insert(steps.begin(),
                   pipeline::impute{.columns = {"age"}, .with = pipeline::replacement::median});
      fitted_pipeline const whole = fitted(steps, table);
      auto const parts = drawn_parts(random, 100, ranks);
      strings texts_of_ranks(static_cast<std::size_t>(ranks));
      launch<threads>(ranks, [&](communicator& world) {
        auto const rank = static_cast<std::size_t>(world.rank());
        data_table const mine = table.select(parts[rank]);
        fitted_pipeline const p({schema, steps}, mine, world);
        texts_of_ranks[rank] = to_json(p);
        EXPECT_EQ(p.report().rows, 100);
        EXPECT_EQ(p.report().removed, whole.report().removed);
        data_table const made = p.apply(mine);
        data_table const expected = whole.apply(mine);
        EXPECT_EQ(made.rows(), expected.rows());
        expect_same(expected, made);
      });
      for (std::string const& text : texts_of_ranks) EXPECT_EQ(text, to_json(whole));
    }
}

TEST(fitted_pipeline, accepts_several_blocks_or_none_on_a_rank) {
  std::string const path = fresh_path("pieces.csv");
  std::ofstream(path) << "age,income,city,size\n20,1,Rome,small\n40,3,Bern,large\n";
  launch<threads>(3, [&](communicator& world) {
    strings const files(static_cast<std::size_t>(world.rank()), path);  // 0, 1 and 2 files
    fitted_pipeline const p({schema, {pipeline::normalise{{"age"}}}}, pieces_of(files, schema), world);
    EXPECT_EQ(p.learned(0)[0].zero, 30);
    EXPECT_EQ(p.report().rows, 6);
  });
}

TEST(fitted_pipeline, fails_on_all_ranks_and_reports_the_rank) {
  strings why(3);
  launch<threads>(3, [&](communicator& world) {
    data_table const mine = parsed(world.rank() == 1 ? "age,income,city,size\n1,1,x,small\n-4,1,x,small\n"
                                                     : "age,income,city,size\n1,1,x,small\n",
                                   "part" + std::to_string(world.rank()) + ".csv");
    why[static_cast<std::size_t>(world.rank())] = refused<data_error>([&] {
      fitted_pipeline({schema, {pipeline::normalise{{"age"}}}}, mine, world);
    });
  });
  EXPECT_EQ(why[1],
            "a value does not match the schema (part1.csv, column age, row 2, rank 1): expected a whole "
            "number of at least 0, got -4");
  for (std::size_t const rank : {0u, 2u})
    expect_parts(why[rank], {"cannot fit the pipeline", "rank 1: a value does not match",
                             "part1.csv, column age, row 2, rank 1"});
}

TEST(fitted_pipeline, reports_the_skipped_rows_of_all_ranks) {
  launch<threads>(3, [&](communicator& world) {
    data_table const mine =
        parsed("age,income,city,size\n1,1,x,small\n-4,1,x,small\n", "part" + std::to_string(world.rank()));
    fitted_pipeline const p({schema, {pipeline::normalise{{"age"}}}}, mine, world, {.bad = bad_record::skip});
    EXPECT_EQ(p.report().rows, 6);
    EXPECT_EQ(p.report().skipped, 3);
    ASSERT_EQ(p.report().problems.size(), 3u);
    expect_parts(p.report().problems[2], {"part2, column age, row 2, rank 2"});
  });
}

TEST(fitted_pipeline, requires_the_same_pipeline_on_all_ranks) {
  launch<threads>(2, [&](communicator& world) {
    std::string const column = world.rank() == 0 ? "age" : "income";
    expect_parts(refused<setting_error>([&] {
                   fitted_pipeline({schema, {pipeline::normalise{{column}}}}, training(), world);
                 }),
                 {"pipeline"});
  });
}

TEST(fitted_pipeline, refuses_an_invalid_pipeline_of_one_rank_on_all_ranks) {
  for (std::string const& name : {std::string(), std::string("absent")})
    launch<threads>(2, [&](communicator& world) {
      std::string const column = world.rank() == 0 ? name : "age";
      expect_parts(refused<setting_error>([&] {
                     fitted_pipeline({schema, {pipeline::normalise{{column}}}}, training(), world);
                   }),
                   {"pipeline", "rank 1"});
    });
}

/// Rows with a day, a name, one size and an age that all differ, except the size.
std::string suspicious_rows(int first, int count) {
  std::string text = "age,income,city,size\n";
  for (int i = first; i < first + count; ++i)
    text += std::to_string(i) + ",5," + (i < 10 ? "0" : "") + std::to_string(i) + ".11.2026,small\n";
  return text;
}

TEST(fitted_pipeline, reports_constant_columns_and_columns_of_dates) {
  std::vector<transform_step> const steps{pipeline::categories{.columns = {"city", "size"}, .other = "other"},
                                          pipeline::normalise{{"age", "income"}}};
  strings said;
  transform_settings const how{.log = [&](std::string_view line) { said.emplace_back(line); }};
  fitted_pipeline const p({schema, steps}, parsed(suspicious_rows(1, 28)), how);
  EXPECT_EQ(
      said,
      (strings{
          "a column contains dates, each of which is treated as a separate category (steps[0], "
          "categories, column city): expected numbers, such as month(day) or weekday(day) of a "
          "column of type time (with its format, unless it is ISO 8601) in a transform_pipeline; or no such "
          "column, got 28 different texts in 28 rows",
          "a column has the same value in all rows (steps[0], categories, column size): expected "
          "different values, or no such column, got one text",
          "a column has the same value in all rows (steps[1], normalise, column income): expected "
          "different values, or no such column, got one number"}));
  EXPECT_EQ(p.report().notices, said);
  fitted_pipeline const plain = fitted(steps);
  EXPECT_TRUE(plain.report().notices.empty());
}

TEST(fitted_pipeline, reports_columns_once_for_all_ranks) {
  std::vector<transform_step> const steps{pipeline::categories{.columns = {"size"}, .other = "other"},
                                          pipeline::categories{.columns = {"city"}, .other = "other"}};
  std::vector<strings> said(2);
  launch<threads>(2, [&](communicator& world) {
    auto const rank = static_cast<std::size_t>(world.rank());
    transform_settings const how{.log = [&](std::string_view line) { said[rank].emplace_back(line); }};
    fitted_pipeline const p({schema, steps}, parsed(suspicious_rows(1 + 14 * world.rank(), 14)), world, how);
    ASSERT_EQ(p.report().notices.size(), 2U);
    expect_parts(p.report().notices[1], {"28 different texts in 28 rows"});
  });
  EXPECT_EQ(said[0].size(), 2U);
  EXPECT_TRUE(said[1].empty());
}

}  // namespace fitted_pipeline_test
