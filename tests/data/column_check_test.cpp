// SPDX-License-Identifier: Apache-2.0
// One odd field must not turn a column of numbers into hundreds of one-hot texts.
#include <array>
#include <cohort/data/detail/column_check.hpp>
#include <cohort/data/read_table.hpp>
#include <cohort/data/table_encoder.hpp>
#include <string>
#include <vector>

#include "refused.hpp"

namespace column_check_test {

using namespace cohort;
using strings = std::vector<std::string>;

table_settings const keep{.missing = missing_values::keep};

/// Rows "x,y" of numbers. Field x of row `row`, from 0, is `odd`.
std::string measured(std::string const& odd, int row = 7, int count = 100) {
  std::string text = "x,y\n";
  for (int i = 0; i < count; ++i) {
    text += i == row ? odd : std::to_string(i) + ".5";
    text += ',' + std::to_string(3 * i) + '\n';
  }
  return text;
}

/// The notices of an encoder of all columns.
strings notices_of(data_table const& rows, encoder_settings how = {}) {
  strings said;
  how.log = [&](std::string_view line) { said.emplace_back(line); };
  table_encoder(rows, how);
  return said;
}

/// A column c of these fields, one per row, beside a column of different numbers.
data_table column(strings const& fields, table_settings const& how = keep) {
  std::string text = "c,n\n";
  for (std::size_t i = 0; i < fields.size(); ++i) text += fields[i] + ',' + std::to_string(i) + '\n';
  return parse_table(text, "t.csv", how);
}

strings repeated(strings const& fields, int times) {
  strings all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), fields.begin(), fields.end());
  return all;
}

strings numbered(std::string const& name, int count) {
  strings all;
  for (int i = 0; i < count; ++i) all.push_back(name + std::to_string(i));
  return all;
}

TEST(column_check, accepts_the_usual_spellings_of_missing_numbers) {
  for (char const* const odd : {"",       "#N/A",    "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan",
                                "1.#IND", "1.#QNAN", "<NA>",     "N/A", "NA",      "NULL",     "NaN",  "None",
                                "n/a",    "nan",     "null",     "?",   " None ",  "\"n/a\""}) {
    data_table const rows = parse_table(measured(odd), "t.csv", keep);
    ASSERT_FALSE(rows.has_texts("x")) << odd;
    table_encoder const encoder(rows, {.target = "y", .regression = true, .impute = imputation::mean});
    EXPECT_EQ(encoder.examples(rows).describe().inputs[0].example, shape(1)) << odd;
    expect_parts(refused<data_error>([&] { parse_table(measured(odd), "t.csv"); }),
                 {"a value is missing (t.csv:9:1, column x)"});
  }
}

TEST(column_check, refuses_a_column_of_numbers_with_a_few_texts) {
  std::string const sentence =
      ", column x): expected a number in every field; or the texts in table_settings::missing_texts if they "
      "mean a missing value; or the column in text_columns if its numbers are identifiers, got 99 numbers "
      "and 1 text, the first ";
  for (char const* const odd : {"\"1,234.5\"", "12O", "inf", "unknown", "1.5 kg", "--"}) {
    std::string const shown = *odd == '"' ? odd : '"' + std::string(odd) + '"';
    data_table const rows = parse_table(measured(odd), "t.csv", keep);
    EXPECT_EQ(refused<data_error>([&] { table_encoder(rows, {.target = "y", .regression = true}); }),
              "a column of numbers contains texts (t.csv" + sentence + shown + " at t.csv:9:1");
  }
  data_table const late = parse_table(measured("unknown", 98), "t.csv", keep);
  expect_parts(refused<data_error>([&] { table_encoder(late, {.target = "y"}); }), {"t.csv:100:1"});
}

TEST(column_check, counts_the_fields_of_the_whole_file_even_for_selected_rows) {
  data_table const rows = parse_table(measured("unknown"), "t.csv", keep);
  std::vector<std::int64_t> const others{0, 1, 2, 20};
  expect_parts(refused<data_error>([&] { table_encoder(rows.select(others), {.target = "y"}); }),
               {"column x", "99 numbers and 1 text", "t.csv:9:1"});
  auto const [seen, held_out] = split(rows, 0.5);
  for (data_table const& part : {seen, held_out})
    expect_parts(refused<data_error>([&] { table_encoder(part, {.target = "y"}); }),
                 {"99 numbers and 1 text"});
}

TEST(column_check, reports_the_first_text_if_numbers_are_expected) {
  data_table const rows = parse_table(measured("12O"), "t.csv", keep);
  for (std::string const& refusal :
       {refused<data_error>([&] { rows.numbers("x"); }), refused<data_error>([&] { rows.series(); }),
        refused<data_error>([&] { rows.examples({.target = "y"}); }),
        refused<data_error>([&] { rows.examples({.target = "x"}); }),
        refused<data_error>([&] { table_encoder(rows, {.target = "x"}); }),
        refused<data_error>([&] { table_encoder(rows, {.target = "x", .regression = true}); })})
    expect_parts(refusal, {"column x", "got 99 numbers and 1 text, the first \"12O\" at t.csv:9:1"});
}

TEST(column_check, accepts_numbers_as_texts_in_text_columns) {
  table_settings texts = keep;
  texts.text_columns = {"x"};
  data_table const rows = parse_table(measured("unknown"), "t.csv", texts);
  EXPECT_EQ(table_encoder(rows, {.inputs = {"x"}}).examples(rows).describe().inputs[0].example, shape(100));
}

TEST(column_check, reports_text_columns_that_contain_numbers) {
  EXPECT_TRUE(notices_of(column(repeated({"a", "b", "c", "d"}, 5))).empty());
  EXPECT_EQ(
      notices_of(column(repeated({"a", "b", "7", "c", "d"}, 4))),
      strings{"a column of texts contains numbers, each of which is treated as a separate category "
              "(t.csv, column c): expected only numbers; or the column in table_settings::text_columns "
              "if its numbers are identifiers, got 4 numbers and 16 texts, the first \"a\" at t.csv:2:1"});
}

TEST(column_check, reports_integers_that_become_the_same_f32) {
  strings const identifiers{"100000001", "7", "\"100000002\"", "100000100", "16777216", "16777217"};
  EXPECT_EQ(
      notices_of(column(identifiers)),
      strings{
          "different integers of a column become the same f32 (t.csv, column c): expected the column in "
          "table_settings::text_columns if its numbers are identifiers; differences from a first value, "
          "below 16777216, if they are times or counts; or no such column, got 100000001 at t.csv:2:1 and "
          "100000002 at t.csv:4:1"});
  table_settings doubles = keep;
  doubles.number_type = element_type::f64;
  expect_parts(notices_of(column(identifiers, doubles)).at(0),
               {"become the same f32", "got 100000001 in row 1 and 100000002 in row 3"});
  table_settings texts = keep;
  texts.text_columns = {"c"};
  EXPECT_TRUE(notices_of(column(identifiers, texts)).empty());
  // Equal integers, integers that differ as f32, fractions and small integers.
  for (strings const& different :
       {strings{"100000001", "100000001.0", "7"}, strings{"1700000000", "1700000128"},
        strings{"100000000.5", "100000000.25", "7"}, strings{"16777215", "16777216"},
        strings{"-100000001", "100000002"}})
    for (table_settings const& how : {keep, doubles})
      EXPECT_TRUE(notices_of(column(different, how)).empty()) << different[0];
}

TEST(column_check, reports_merged_integers_of_all_formats_of_numbers) {
  auto const said = [](std::string const& text, table_settings how, encoder_settings encoder = {}) {
    how.missing = missing_values::keep;
    return notices_of(parse_table(text, "t.csv", how), std::move(encoder));
  };
  expect_parts(said("c;n\n1.700.000.000;1\n1.700.000.001;2\n5;3\n", {.decimal = ',', .thousands = '.'}).at(0),
               {"got 1.700.000.000 at t.csv:2:1 and 1.700.000.001 at t.csv:3:1"});
  // Also if the table is parsed again because of a text in another column, and for a target to predict.
  std::string text = "n,c\n";
  for (int row = 0; row < 200; ++row)
    text += std::to_string(row) + ',' + std::to_string(1700000000 + row) + '\n';
  text += "end,1\n";
  expect_parts(said(text, {.columns = {"c"}}).at(0),
               {"column c", "1700000000 at t.csv:2:3", "1700000001 at t.csv:3:3"});
  expect_parts(said(text, {.text_columns = {"n"}}, {.target = "c", .regression = true}).back(),
               {"column c", "1700000000 at t.csv:2:3"});
  // A part of a table keeps the notice.
  data_table const table = parse_table(text, "t.csv", {.columns = {"c"}});
  EXPECT_EQ(notices_of(table.select(std::vector<std::int64_t>{0, 200})).size(), 1U);
}

TEST(column_check, finds_merged_integers_among_many_columns_and_rows) {
  std::string text = "c\n";
  for (std::int64_t row = 0; row < 100'000; ++row)  // steps of 65 seconds: half of them are equal as f32
    text += std::to_string(1'700'000'000 + row % 50'000 * 65) + '\n';
  EXPECT_EQ(notices_of(parse_table(text, "t.csv")).size(), 1U);
  std::string names = "c0", first = "100000001", second = "100000002", third = "7";
  for (int column = 1; column < 100; ++column) {
    names += ",c" + std::to_string(column);
    first += ",100000001";
    second += ",100000002";
    third += ",7";
  }
  EXPECT_EQ(
      notices_of(parse_table(names + '\n' + first + '\n' + second + '\n' + third + '\n', "t.csv")).size(),
      64U);
}

TEST(column_check, reports_columns_of_dates) {
  strings dates;
  for (int day = 1; day <= 28; ++day)
    dates.push_back("2026-11-" + std::string(day < 10 ? "0" : "") + std::to_string(day));
  EXPECT_EQ(
      notices_of(column(dates)),
      strings{"a column contains dates, each of which is treated as a separate category (t.csv, column "
              "c): expected numbers, such as month(day) or weekday(day) of a column of type time (with its "
              "format, unless it is ISO 8601) in a transform_pipeline; or no such column, got 28 different "
              "texts in 28 rows"});
  EXPECT_EQ(notices_of(column(repeated({"1.2.2026", "2.2.2026"}, 9))).size(), 1U) << "few different dates";
  strings const with_gaps = repeated({"1/2/2026", "?"}, 9);
  EXPECT_EQ(notices_of(column(with_gaps), {.other = true}).size(), 1U);
}

TEST(column_check, reports_numbers_with_a_unit_or_a_comma) {
  for (auto const& [before, after, sign] :
       {std::array{"$", ".50", "$#"}, std::array{"", "%", "#%"}, std::array{"", " kg", "# kg"},
        std::array{"\"-1,", "5\"", "#,"}, std::array{"€ ", "", "€ #"}}) {
    strings fields = numbered(before, 12);
    for (std::string& one : fields) one += after;
    EXPECT_EQ(
        notices_of(column(repeated(fields, 9))),
        strings{
            std::string("a column contains numbers with a unit or a comma, each of which is treated as a "
                        "separate category (t.csv, column c): expected numbers without unit, with a "
                        "decimal point and without thousands separators, got 12 different texts, such as \"")
            + sign + '"'});
  }
  EXPECT_TRUE(notices_of(column(repeated(numbered("$", 9), 9))).empty()) << "few different texts";
  EXPECT_TRUE(notices_of(column(repeated(numbered("room ", 12), 9))).empty()) << "names";
  EXPECT_EQ(detail::sign_of_quantity("1.5"), "");
  EXPECT_EQ(detail::sign_of_quantity("$1,234.50"), "$#");
  EXPECT_EQ(detail::sign_of_quantity("-12 kg"), "# kg");
  EXPECT_EQ(detail::sign_of_quantity("1,5"), "#,");
  for (char const* const other : {"", "kg", "3 of 4", "v2", "12 units of something"})
    EXPECT_EQ(detail::sign_of_quantity(other), "") << other;
}

TEST(column_check, reports_texts_with_nearly_as_many_values_as_rows) {
  EXPECT_EQ(
      notices_of(column(numbered("name ", 40))),
      strings{"more than half of the texts of a column are distinct (t.csv, column c): expected texts that "
              "occur in many rows, or no such column, got 40 different texts in 40 rows"});
  EXPECT_EQ(notices_of(column(numbered("name ", 40)), {.indexed = {"c"}}).size(), 1U);
  EXPECT_TRUE(notices_of(column(repeated(numbered("name ", 20), 2))).empty());
  EXPECT_TRUE(notices_of(column(numbered("name ", 9))).empty()) << "too few rows";
  EXPECT_EQ(notices_of(column(numbered("name ", 40)), {.inputs = {"n"}, .target = "c"}).size(), 1U);
}

TEST(column_check, reports_a_constant_column) {
  EXPECT_EQ(
      notices_of(column(repeated({"7"}, 5))),
      strings{"a column has the same value in all rows (t.csv, column c): expected different values, or no "
              "such column, got one number"});
  EXPECT_EQ(notices_of(column(repeated({"a"}, 5))).size(), 1U);
  EXPECT_TRUE(notices_of(column({"a"})).empty()) << "one row";
  EXPECT_TRUE(notices_of(column(repeated({"a", "?"}, 5)), {.other = true}).empty()) << "present or missing";
  strings const gaps = repeated({"7", "?"}, 5);
  EXPECT_EQ(notices_of(column(gaps), {.impute = imputation::mean}).size(), 1U);
  EXPECT_TRUE(notices_of(column(gaps), {.impute = imputation::constant}).empty());
}

TEST(column_check, logs_nothing_for_a_regular_table_or_without_a_sink) {
  data_table const plain = parse_table("a,b,c\n1,x,0\n2,y,1\n3,x,0\n", "t.csv");
  EXPECT_TRUE(notices_of(plain, {.target = "c"}).empty());
  table_encoder(column(repeated({"7"}, 5)));
}

TEST(column_check, recognises_dates_and_times_in_numbers) {
  for (char const* const text : {"2026-11-28",
                                 "2026/1/2",
                                 "28.11.2026",
                                 "1.2.2026",
                                 "11/28/2026",
                                 "11/28/26",
                                 "1-2-26",
                                 "2026-11-28T20:15",
                                 "2026-11-28 20:15:07.5Z",
                                 "28.11.2026 9:30",
                                 "20:15",
                                 "9:05:59",
                                 "28.11.26",
                                 "2026-11",
                                 "2026-W48",
                                 "20261128T0930",
                                 "28-Nov-2026",
                                 "Nov 28, 2026",
                                 "november 3",
                                 "3. Sept 26"})
    EXPECT_TRUE(detail::is_date(text)) << text;
  for (char const* const text :
       {"", "Rome", "7", "1.5", "1.2.3", "192.168.0.1", "555-12-1234", "1234-11", "2026-11-28x", "1/2", "May",
        "Main 5", "3 nov 4 dec", "12345678T1", "12:3", "a:15", "2026-112-8", "12345-11-28", "-2026-11-28"})
    EXPECT_FALSE(detail::is_date(text)) << text;
}

}  // namespace column_check_test
