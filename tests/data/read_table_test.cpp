// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cohort/data/read_table.hpp>
#include <cohort/random/stream.hpp>
#include <cstdio>
#include <cstdlib>

#include "refused.hpp"

namespace read_table_test {

using namespace cohort;
using floats = std::vector<float>;
using codes = std::vector<std::int32_t>;
using strings = std::vector<std::string>;

template <class Span>
auto list(Span span) {
  return std::vector<std::remove_const_t<typename Span::element_type>>(span.begin(), span.end());
}

/// A column's texts, "<missing>" if missing.
strings texts(data_table const& table, std::string const& column) {
  text_column const found = table.texts(column);
  strings all;
  for (std::int32_t const code : found.codes)
    all.push_back(code < 0 ? "<missing>" : found.vocabulary[static_cast<std::size_t>(code)]);
  return all;
}

strings columns_of(data_table const& table) { return table.columns(); }

std::string refusal_of(std::string_view text, table_settings const& settings = {},
                       std::string const& where = "t.csv") {
  return refused<data_error>([&] { parse_table(text, where, settings); });
}

TEST(read_table, reads_columns_of_numbers_and_texts) {
  data_table const table = parse_table("age,city\r\n31.5,Rome\r\n\r\n-4e1,Bern\n7,Rome", "t.csv");
  EXPECT_EQ(table.rows(), 3);
  EXPECT_EQ(table.columns(), (strings{"age", "city"}));
  EXPECT_EQ(list(table.numbers("age")), (floats{31.5F, -40, 7}));
  EXPECT_EQ(list(table.texts("city").vocabulary), (strings{"Bern", "Rome"}));
  EXPECT_EQ(list(table.texts("city").codes), (codes{1, 0, 1}));
  EXPECT_TRUE(table.has_texts("city"));
  EXPECT_FALSE(table.has("City"));
}

TEST(read_table, reads_quoted_fields) {
  data_table const table =
      parse_table("\xef\xbb\xbf\"a,\"\"b\",c,d\n\"x\ny\",\"1.5\",\"\"\"\"\n\"p,q\",2,5\" pipe\n", "t",
                  {.missing_texts = {}});
  EXPECT_EQ(table.columns(), (strings{"a,\"b", "c", "d"}));
  EXPECT_EQ(texts(table, "a,\"b"), (strings{"x\ny", "p,q"}));
  EXPECT_EQ(list(table.numbers("c")), (floats{1.5F, 2}));
  EXPECT_EQ(texts(table, "d"), (strings{"\"", "5\" pipe"}));
}

TEST(read_table, infers_the_separator_from_the_file_name_or_the_settings) {
  for (char const* const name : {"t.tsv", "t.tab", "t.tsv.gz"})
    EXPECT_EQ(columns_of(parse_table("a\tb\n1\t2\n", name)), (strings{"a", "b"}));
  EXPECT_EQ(columns_of(parse_table("a;b\n1;2\n", "t.tsv", {.separator = ';'})), (strings{"a", "b"}));
  EXPECT_EQ(columns_of(parse_table("a\tb\n1\t2\n", "t.csv")), (strings{"a\tb"}));
  for (char const wrong : {'"', '\n', '\r', '5', '.', '-', 'e', '\xe4'})
    expect_parts(refused<setting_error>([&] { parse_table("a\n1\n", "t", {.separator = wrong}); }),
                 {"separator"});
}

TEST(read_table, reads_decimal_commas_thousands_comments_and_runs_of_blanks) {
  data_table const euro = parse_table("a;b\n1,5;-2,25\n2,5;3e2\n", "t.csv", {.decimal = ','});
  EXPECT_EQ(list(euro.numbers("a")), (floats{1.5F, 2.5F}));
  EXPECT_EQ(list(euro.numbers("b")), (floats{-2.25F, 300}));
  data_table const groups = parse_table("a\n\"1,234\"\n\"5,678,901.5\"\n-12\n", "t.csv", {.thousands = ','});
  EXPECT_EQ(list(groups.numbers("a")), (floats{1234, 5678901.5F, -12}));
  data_table const german = parse_table("a\n1.234,5\n", "t.csv", {.decimal = ',', .thousands = '.'});
  EXPECT_EQ(list(german.numbers("a")), (floats{1234.5F}));
  for (char const* const wrong : {"12,34", "1,2345", ",123", "1,,234", "1,234,", "1.234,567", "0x1,234"})
    EXPECT_TRUE(parse_table("a\n\"" + std::string(wrong) + "\"\n", "t", {.thousands = ','}).has_texts("a"))
        << wrong;
  EXPECT_TRUE(parse_table("a\n1.5\n", "t", {.decimal = ','}).has_texts("a"));
  data_table const comments = parse_table("# by tool\n#\na,b\n1,2\n#x\n3,4#\n", "t", {.comment = '#'});
  EXPECT_EQ(list(comments.numbers("a")), (floats{1, 3}));
  EXPECT_EQ(texts(comments, "b"), (strings{"2", "4#"}));
  data_table const blanks = parse_table("  0.5   1 x  \n   \n2 3   y\n4  5 \"z z\" \n", "t",
                                        {.separator = ' ', .merge_separators = true, .header = false});
  EXPECT_EQ(blanks.columns(), (strings{"c0", "c1", "c2"}));
  EXPECT_EQ(list(blanks.numbers("c0")), (floats{0.5F, 2, 4}));
  EXPECT_EQ(texts(blanks, "c2"), (strings{"x", "y", "z z"}));
  expect_parts(refused<data_error>([&] {
                 parse_table("a b\n1  2\n\n3\n", "t", {.separator = ' ', .merge_separators = true});
               }),
               {"t:4:2", "expected 2 columns, got 1"});
}

TEST(read_table, refuses_characters_with_two_meanings) {
  auto const refusal = [](table_settings const& settings) {
    return refused<setting_error>([&] { parse_table("a\n1\n", "t.csv", settings); });
  };
  expect_parts(refusal({.separator = ',', .decimal = ','}), {"table_settings::decimal"});
  expect_parts(refusal({.decimal = '5'}), {"table_settings::decimal"});
  expect_parts(refusal({.decimal = '\0'}), {"table_settings::decimal"});
  expect_parts(refusal({.thousands = '.'}), {"table_settings::thousands"});
  expect_parts(refusal({.comment = ','}), {"table_settings::comment"});
}

TEST(read_table, generates_column_names_for_a_file_without_a_header) {
  data_table const table = parse_table("1,x\n2,y\n", "t", {.header = false});
  EXPECT_EQ(table.columns(), (strings{"c0", "c1"}));
  EXPECT_EQ(list(table.numbers("c0")), (floats{1, 2}));
  EXPECT_EQ(columns_of(parse_table(",b\n1,2\n", "t")), (strings{"c0", "b"}));
}

TEST(read_table, refuses_numbers_as_column_names_by_default) {
  expect_parts(refusal_of("a,5.1\n1,2\n"), {"t.csv:1:3", "name", ".header = false", "\"5.1\""});
  EXPECT_EQ(columns_of(parse_table("1990,1991\n1,2\n", "t", {.header = true})), (strings{"1990", "1991"}));
}

TEST(read_table, refuses_missing_values_by_default) {
  for (char const* const text : {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "?", " NA ", "\"\""})
    expect_parts(refusal_of("age,city\n1,x\n" + std::string(text) + ",y\n"),
                 {"a value is missing", "t.csv:3:1, column age", "a number; see table_settings::missing"});
  expect_parts(refusal_of("age,city\n1,x\n2,\n"), {"t.csv:3:3, column city", "a text", "got nothing"});
}

TEST(read_table, keeps_missing_values) {
  data_table const table = parse_table("a,b,c\n1,x,?\n,,\n3,y,\n", "t", {.missing = missing_values::keep});
  EXPECT_EQ(table.rows(), 3);
  EXPECT_TRUE(std::isnan(table.numbers("a")[1]));
  EXPECT_EQ(table.numbers("a")[2], 3);
  EXPECT_EQ(texts(table, "b"), (strings{"x", "<missing>", "y"}));
  EXPECT_TRUE(std::isnan(table.numbers("c")[0]));
}

TEST(read_table, drops_rows_with_missing_values) {
  data_table const table = parse_table("a,b\n1,x\n2,?\nNA,z\n4,y\n", "t", {.missing = missing_values::drop});
  EXPECT_EQ(list(table.numbers("a")), (floats{1, 4}));
  EXPECT_EQ(list(table.texts("b").vocabulary), (strings{"x", "y"}));
  expect_parts(refusal_of("a\n?\n", {.missing = missing_values::drop}), {"no rows"});
  // A missing value in a column that is not selected is not missing.
  EXPECT_EQ(parse_table("a,b\n1,?\n2,3\n", "t", {.columns = {"a"}, .missing = missing_values::drop}).rows(),
            2);
}

TEST(read_table, drops_all_values_of_a_row_with_a_missing_value) {
  data_table const table =
      parse_table("a,b,c\n1,2,3\n4,,6\n7,8,?\n,x,9\n5,6,7\n", "t", {.missing = missing_values::drop});
  EXPECT_EQ(list(table.numbers("a")), (floats{1, 5}));
  EXPECT_EQ(list(table.numbers("c")), (floats{3, 7}));
  EXPECT_EQ(texts(table, "b"), (strings{"2", "6"}));
}

TEST(read_table, treats_configured_texts_as_missing_values) {
  table_settings const settings{.missing = missing_values::keep, .missing_texts = {"-"}};
  data_table const table = parse_table("a,b\n-,NA\n2,-\n", "t", settings);
  EXPECT_TRUE(std::isnan(table.numbers("a")[0]));
  EXPECT_EQ(texts(table, "b"), (strings{"NA", "<missing>"}));
  std::string const longest(100, '-');
  table_settings const several{.missing = missing_values::keep, .missing_texts = {"-", longest, "--"}};
  EXPECT_EQ(texts(parse_table("a\n--\n---\n" + longest + "\n" + longest + "-\n-\n-a\n", "t", several), "a"),
            (strings{"<missing>", "---", "<missing>", longest + "-", "<missing>", "-a"}));
}

TEST(read_table, treats_numbers_listed_in_missing_texts_as_missing) {
  table_settings settings{.missing = missing_values::keep, .missing_texts = {"-999", "1e999"}};
  data_table const table =
      parse_table("a,b\n-999,x\n1e999,-999\n-9990,y\n -999 ,z\n\"-999\",u\n", "t", settings);
  for (std::size_t const row : {0, 1, 3, 4}) EXPECT_TRUE(std::isnan(table.numbers("a")[row])) << row;
  EXPECT_EQ(table.numbers("a")[2], -9990);
  EXPECT_EQ(texts(table, "b"), (strings{"x", "<missing>", "y", "z", "u"}));
  settings.missing = missing_values::refuse;
  EXPECT_EQ(refusal_of("a\n1\n-999\n", settings),
            "a value is missing (t.csv:3:1, column a): expected a number; see table_settings::missing, got "
            "\"-999\"");
}

TEST(read_table, selects_columns_in_the_given_order) {
  data_table const table = parse_table("a,b,c\n1,2,3\n4,5,6\n", "t", {.columns = {"c", "a"}});
  EXPECT_EQ(table.columns(), (strings{"c", "a"}));
  EXPECT_EQ(list(table.numbers("c")), (floats{3, 6}));
  EXPECT_EQ(list(table.numbers("a")), (floats{1, 4}));
  expect_parts(refused<setting_error>([] { parse_table("a,b\n1,2\n", "t.csv", {.columns = {"x"}}); }),
               {"t.csv", "one of a, b", "got x"});
  EXPECT_THROW(parse_table("a,b\n1,2\n", "t", {.columns = {"a", "a"}}), setting_error);
}

TEST(read_table, detects_a_text_late_in_a_column) {
  for (int const row : {0, 10, 63, 64, 200, 499}) {
    std::string text = "a,b,c\n";
    for (int i = 0; i < 500; ++i)
      text += std::to_string(i % 7) + (i == row ? ",x," : ",1,") + std::to_string(i) + '\n';
    data_table const table = parse_table(text, "t.csv");
    EXPECT_EQ(table.rows(), 500);
    EXPECT_EQ(list(table.texts("b").vocabulary), (strings{"1", "x"}));
    EXPECT_EQ(list(table.texts("b").codes)[static_cast<std::size_t>(row)], 1);
    EXPECT_EQ(table.numbers("c")[499], 499);
    EXPECT_EQ(table.numbers("a").size(), 500U);
    expect_parts(refused<data_error>([&] { table.numbers("b"); }),
                 {"column b", "\"x\" at t.csv:", std::to_string(row + 2).c_str()});
  }
}

TEST(read_table, reads_columns_with_a_configured_type) {
  data_table const table = parse_table("zip,x\n01234,1\n99,2\n", "t", {.text_columns = {"zip"}});
  EXPECT_EQ(texts(table, "zip"), (strings{"01234", "99"}));
  expect_parts(refusal_of("zip,x\n1,1\n1x,2\n", {.number_columns = {"zip"}}),
               {"not a number", "t.csv:3:1, column zip", "\"1x\""});
  EXPECT_THROW(parse_table("a\n1\n", "t", {.number_columns = {"a"}, .text_columns = {"a"}}), setting_error);
  EXPECT_THROW(parse_table("a\n1\n", "t", {.text_columns = {"b"}}), setting_error);
  // Equal names in a list are not an error, whether the column is read or not.
  EXPECT_EQ(parse_table("a,b\n1,2\n", "t", {.columns = {"a"}, .number_columns = {"a", "b", "a", "b"}}).rows(),
            1);
}

TEST(read_table, reports_the_existing_columns_if_a_column_is_missing) {
  EXPECT_EQ(refused<setting_error>([] { parse_table("a,b\n1,2\n", "t.csv", {.columns = {"x"}}); }),
            "the table has no such column (t.csv): expected one of a, b, got x");
  std::string many = "a0";
  for (int c = 1; c < 60; ++c) many += ",a" + std::to_string(c);
  std::string const message =
      refused<setting_error>([&] { parse_table(many + "\n1\n", "t.csv", {.columns = {"x"}}); });
  expect_parts(message, {"one of a0, a1, ", ", a49, … (60 columns), got x"});
  EXPECT_EQ(message.find("a50"), std::string::npos);
}

TEST(read_table, trims_blanks_if_trim_is_set) {
  std::string const text = "a, b\n x , 1\n y,2 \n\"z \" ,3\n";
  data_table const plain = parse_table(std::string(text.substr(0, text.size() - 9)), "t");
  EXPECT_EQ(plain.columns(), (strings{"a", " b"}));
  EXPECT_EQ(texts(plain, "a"), (strings{" x ", " y"}));
  EXPECT_EQ(list(plain.numbers(" b")), (floats{1, 2}));
  data_table const trimmed = parse_table(text, "t", {.trim = true});
  EXPECT_EQ(texts(trimmed, "a"), (strings{"x", "y", "z "}));
  EXPECT_EQ(list(trimmed.numbers("b")), (floats{1, 2, 3}));
}

TEST(read_table, reads_numbers_as_f64) {
  data_table const table = parse_table("a\n0.1\n1e300\n", "t", {.number_type = element_type::f64});
  EXPECT_EQ(list(table.numbers<double>("a")), (std::vector<double>{0.1, 1e300}));
  expect_parts(refused<shape_error>([&] { table.numbers<float>("a"); }), {"f64", "f32"});
  EXPECT_THROW(parse_table("a\n1\n", "t", {.number_type = element_type::i32}), setting_error);
}

TEST(read_table, rounds_numbers_to_the_nearest_floating_point_number) {
  std::string text = "a\n";
  random_stream const random(7, "decimals");
  strings written = {"0", "-0", "1.", ".5", "+3", "1e22", "1e23", "9007199254740993", "1e-400", "4.9e-324",
                     "1e-45", "-1e-46", "16777217", "16777219", "1.00000005960464477539062", "3.4028235e38",
                     "0.000000000000000000000000000123456789", "123456789012345678901234567890",
                     "2.2250738585072011e-308", "1.17549435e-38", "0e999",
                     // rounded to f64, these lie midway between two f32
                     "4.87423375248909e-1", "6.83970756654162e-5", "8.91822436824441e-3",
                     "00000000000000000000001.5", "8.5e-46", "0.1e1", "5e-7"};
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    char digits[64];
    int const precision = static_cast<int>(random.below(3 * i, 20));
    double const value = random.normal<double>(3 * i + 1)
                         * std::pow(10.0, static_cast<double>(random.below(3 * i + 2, 40)) - 20);
    std::snprintf(digits, sizeof digits,
                  i % 3 == 0   ? "%.*e"
                  : i % 3 == 1 ? "%.*g"
                               : "%.*f",
                  precision, value);
    written.emplace_back(digits);
  }
  for (std::string const& one : written) text += one + '\n';
  data_table const doubles = parse_table(text, "t", {.number_type = element_type::f64}),
                   singles = parse_table(text, "t");
  ASSERT_EQ(doubles.rows(), static_cast<int>(written.size()));
  for (std::size_t i = 0; i < written.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(doubles.numbers<double>("a")[i]),
              std::bit_cast<std::uint64_t>(std::strtod(written[i].c_str(), nullptr)))
        << written[i];
    EXPECT_EQ(std::bit_cast<std::uint32_t>(singles.numbers("a")[i]),
              std::bit_cast<std::uint32_t>(std::strtof(written[i].c_str(), nullptr)))
        << written[i];
  }
}

TEST(read_table, reads_long_numbers_in_every_format) {
  std::string const zeros(100, '0');
  data_table const euro = parse_table("a\n0,25" + zeros + "\n" + zeros + "1,5\n", "t.csv", {.decimal = ','});
  EXPECT_EQ(list(euro.numbers("a")), (std::vector<float>{0.25F, 1.5F}));
  std::string groups = "1";
  for (int group = 0; group < 30; ++group) groups += ",000";
  data_table const large =
      parse_table("a\n\"" + groups + "\"\n", "t", {.thousands = ',', .number_type = element_type::f64});
  EXPECT_EQ(large.numbers<double>("a")[0], 1e90);
}

TEST(read_table, refuses_numbers_out_of_range) {
  expect_parts(refusal_of("a,b\n1,1e39\n"), {"t.csv:2:3, column b", "out of range", "f32", "\"1e39\""});
  for (char const* const large : {"1e309", "-1e999999999999", "123e400", "0.001e320", "\"1e400\""})
    expect_parts(refusal_of("a\n" + std::string(large) + "\n", {.number_type = element_type::f64}),
                 {"out of range", "f64"});
  // The error reports the first such number of the text, after all rows have been read.
  EXPECT_EQ(refusal_of("a,b\n1,2\n3,-1e39\n1e40,4\n"),
            "a number is out of range (t.csv:3:3, column b): expected a number of type f32, got \"-1e39\"");
}

TEST(read_table, reads_a_column_of_texts_that_begins_with_numbers_out_of_range) {
  for (std::size_t const rows : {1, 100}) {
    std::string text = "id,x\n";
    for (std::size_t row = 0; row < rows; ++row) text += "12e4567,1\n";
    data_table const table = parse_table(text + "ab12,2\n", "t");
    EXPECT_EQ(list(table.texts("id").vocabulary), (strings{"12e4567", "ab12"}));
    EXPECT_EQ(table.numbers("x")[rows], 2);
  }
  expect_parts(refusal_of("id\n12e4567\nab12\n", {.number_columns = {"id"}}),
               {"out of range (t.csv:2:1, column id)"});
}

TEST(read_table, reads_fields_that_are_not_numbers_as_texts) {
  for (char const* const text :
       {"inf", "infinity", "1x", "+-1", "0x10", "1e", "1e+", ".", "-", "e5", "1 2", "--1", "1.2.3", "1,"})
    EXPECT_EQ(texts(parse_table("a\n\"" + std::string(text) + "\"\n2\n", "t"), "a"), (strings{text, "2"}));
}

TEST(read_table, refuses_rows_of_another_number_of_columns) {
  expect_parts(refusal_of("a,b,c\n1,2,3\n4,5\n"), {"t.csv:3:4", "3 columns", "got 2"});
  expect_parts(refusal_of("a,b\n1,2\n3,4,\n"), {"t.csv:3:5", "2 columns", "got more"});
  expect_parts(refusal_of("a,b\n\"x\ny\",2\n3\n"), {"t.csv:4:2", "2 columns", "got 1"});
}

TEST(read_table, refuses_damaged_quotes) {
  expect_parts(refusal_of("a,b\n1,\"x\n2,y\n3,z\n"), {"t.csv:2:3", "does not end", "a closing quote"});
  expect_parts(refusal_of("a\n\"x\"y\n"), {"t.csv:2:4", "continues after its closing quote", "\"y"});
  expect_parts(refusal_of("a\n\""), {"t.csv:2:1", "does not end"});
}

TEST(read_table, refuses_nul_bytes_lone_carriage_returns_and_invalid_utf_8) {
  using namespace std::string_view_literals;
  expect_parts(refusal_of("a,b\n1,x\0y\n"sv), {"t.csv:2:4", "NUL"});
  expect_parts(refusal_of("a,b\n1,\"x\0\"\n"sv), {"t.csv:2:5", "NUL"});
  expect_parts(refusal_of("a,b\n1\0,x\n"sv), {"t.csv:2:2", "NUL"});
  expect_parts(refusal_of("a,b\n1,x\ry\n"), {"t.csv:2:4", "carriage return"});
  expect_parts(refusal_of("a,b\r1,2\r"), {"t.csv:1:4", "carriage return"});
  expect_parts(refusal_of("a,b\n1\r2,3\n"), {"t.csv:2:2", "carriage return"});
  expect_parts(refusal_of("a,b\nZ\xfcrich,1\n"), {"t.csv:2:1, column a", "UTF-8"});
  expect_parts(refusal_of("Gr\xf6\xdf"
                          "e,b\n1,1\n"),
               {"t.csv:1:1", "UTF-8"});
}

TEST(read_table, finds_separators_and_quotes_at_every_offset) {
  for (std::size_t size = 1; size < 30; ++size)
    for (std::size_t at = 0; at < size; ++at) {
      std::string plain(size, 'x'), quotes = plain, separated = plain;
      plain[at] = "\t\x01\x0b\x7f\x8d"[at % 4];  // not the end of a field
      quotes[at] = '"';
      separated[at] = at % 2 ? ',' : '\n';
      std::string doubled = quotes;
      doubled.insert(at, 1, '"');
      std::string const row = plain + ",\"" + doubled + "\",\"" + separated + "\"";
      data_table const table = parse_table("a,b,c\n" + row + "\r\n" + row, "t", {.missing_texts = {}});
      EXPECT_EQ(texts(table, "a"), (strings{plain, plain}));
      EXPECT_EQ(texts(table, "b"), (strings{quotes, quotes}));
      EXPECT_EQ(texts(table, "c"), (strings{separated, separated}));
    }
}

TEST(read_table, refuses_invalid_bytes_at_every_offset) {
  for (std::size_t size = 1; size < 30; ++size)
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'x');
      std::string const column = ":" + std::to_string(at + 1);
      text[at] = '\xff';
      expect_parts(refusal_of("a,b\n1," + text + "\n"), {"t.csv:2:3, column b", "UTF-8"});
      text[at] = '\0';
      expect_parts(refusal_of("a\n" + text + "\n"), {("t.csv:2" + column + ")").c_str(), "NUL"});
      expect_parts(refusal_of("a\n\"" + text + "\"\n"),
                   {("t.csv:2:" + std::to_string(at + 2) + ")").c_str(), "NUL"});
      text[at] = '\r';
      expect_parts(refusal_of("a\n" + text + "x\n"), {("t.csv:2" + column + ")").c_str(), "carriage return"});
    }
  EXPECT_EQ(texts(parse_table("a\n12345678\xc3\xbc\nx\xc3\xbc\n", "t"), "a"),
            (strings{"12345678\xc3\xbc", "x\xc3\xbc"}));
}

TEST(read_table, reports_positions_in_characters_not_bytes) {
  expect_parts(refusal_of("a,b\nZürich,\n"), {"t.csv:2:8, column b"});
  expect_parts(refusal_of("\xef\xbb\xbf"
                          "ä,ä\n"),
               {"t.csv:1:3", "ä in columns 1 and 2"});
}

TEST(read_table, reports_the_position_of_the_first_text_in_each_column) {
  std::string text = "a0", row = "x";
  for (int c = 1; c < 300; ++c) text += ",a" + std::to_string(c), row += c % 3 == 0 ? ",ü" : ",1";
  data_table const table = parse_table(text + '\n' + row + "\n\ny" + row.substr(1) + "\n", "t.csv");
  expect_parts(refused<data_error>([&] { table.numbers("a0"); }), {"got \"x\" at t.csv:2:1"});
  expect_parts(refused<data_error>([&] { table.numbers("a3"); }), {"got \"ü\" at t.csv:2:7"});
  expect_parts(refused<data_error>([&] { table.numbers("a297"); }), {"got \"ü\" at t.csv:2:595"});
}

TEST(read_table, reads_a_carriage_return_at_the_end_as_the_end_of_a_line) {
  for (char const* const end : {"\r", "\r\n\r", "\n\r", "\n\n\r\n\r"})
    for (missing_values const missing : {missing_values::refuse, missing_values::keep}) {
      data_table const table = parse_table(std::string("a\n1\n2") + end, "t", {.missing = missing});
      EXPECT_EQ(list(table.numbers("a")), (floats{1, 2}));
    }
}

TEST(read_table, limits_the_number_of_columns_and_the_size_of_fields) {
  std::string many;
  for (int c = 0; c < 1'000'000; ++c) many += "a" + std::to_string(c) + ',';
  expect_parts(refusal_of(many + "z\n1\n"), {"too many columns", "at most 65536", "t.csv:1:"});
  std::string const large(std::size_t{3} << 20, 'x');
  expect_parts(refusal_of("a\n" + large + "\n"), {"t.csv:2:1", "too long", "at most 1048576", "got 3145728"});
  expect_parts(refusal_of("a\n\"" + large + "\"\n"), {"too long"});
  EXPECT_EQ(parse_table("a\n" + large + "\n", "t", {.max_field_bytes = large.size()}).rows(), 1);
  data_table const digits = parse_table("a\n" + std::string(10'000, '1') + "e-9999\n", "t");
  EXPECT_EQ(digits.numbers("a")[0], 1.11111111F);
}

TEST(read_table, refuses_duplicate_column_names_and_tables_without_rows) {
  expect_parts(refusal_of("a,b,a\n1,2,3\n"), {"t.csv:1:5", "same name", "a in columns 1 and 3"});
  for (char const* const text : {"", "\n\r\n", "a,b\n", "\xef\xbb\xbf"})
    EXPECT_EQ(refusal_of(text), "the table has no rows (t.csv): expected at least 1 row, got 0");
  EXPECT_EQ(refusal_of("a,b\n1,?\n,2\n", {.missing = missing_values::drop}),
            "the table has no rows (t.csv): expected at least 1 row, got 0, and 2 dropped because of missing "
            "values");
}

TEST(read_table, reads_a_file_and_reports_errors_with_the_path) {
  std::string const path = fresh_path("t.tsv");
  std::ofstream(path) << "a\tb\n1\tx\n\t5\n";
  expect_parts(refused<data_error>([&] { read_table(path); }), {(path + ":3:1").c_str(), "column a"});
  EXPECT_EQ(read_table(path, {.missing = missing_values::drop}).rows(), 1);
  int calls = 0;
  read_table("t.csv", {}, [&](std::string const& name) {
    EXPECT_EQ(name, "t.csv");
    ++calls;
    std::vector<std::byte> bytes;
    for (char const c : std::string("a\n1\n")) bytes.push_back(static_cast<std::byte>(c));
    return bytes;
  });
  EXPECT_EQ(calls, 1);
  EXPECT_THROW(read_table(path + ".none"), file_error);
  std::ofstream(path, std::ios::trunc).close();
  EXPECT_EQ(refused<data_error>([&] { read_table(path); }),
            "the table has no rows (" + path + "): expected at least 1 row, got 0");
}

TEST(read_table, suggests_gzip_read_file_for_a_compressed_file) {
  std::string const path = fresh_path("t.csv.gz");
  std::ofstream(path, std::ios::binary) << std::string("\x1f\x8b\x08\0\0\0\0\0\0\3", 10);
  EXPECT_EQ(
      refused<data_error>([&] { read_table(path); }),
      "the file is compressed (" + path
          + "): expected text, or gzip::read_file of cohort/zlib.hpp as the third argument of read_table, "
            "got a gzip file");
}

/// Writes a field as Python's csv module does: in quotes if it has to be, or at random.
std::string field(std::string const& text, bool in_quotes) {
  if (!in_quotes && !text.empty() && text.find_first_of("\",;\t\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char const c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

TEST(read_table, reads_back_random_tables) {
  char const* const pieces[] = {"a",    "\"", ",",   ";",    "\n", "\r\n", "\t", " ", "é",
                                "日本", "'",  "x y", "\"\"", "0",  "-1.5", "NA", "\\"};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_stream const random(seed, "table");
    std::uint64_t draws = 0;
    auto const below = [&](std::uint64_t bound) { return random.below(draws++, bound); };
    std::size_t const columns = 1 + below(5), rows = 1 + below(12);
    char const separator = ",;\t"[below(3)];
    std::string const line_end = below(2) ? "\r\n" : "\n";
    std::vector<strings> cells(columns);
    strings names;
    std::string text = below(2) ? "\xef\xbb\xbf" : "";
    for (std::size_t c = 0; c < columns; ++c) {
      names.push_back("n" + std::to_string(c) + pieces[below(std::size(pieces))]);
      text += field(names[c], below(2)) + (c + 1 < columns ? std::string(1, separator) : line_end);
    }
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c) {
        std::string cell;
        for (std::uint64_t n = below(5); n > 0; --n) cell += pieces[below(std::size(pieces))];
        cells[c].push_back(cell);
        text += field(cell, below(2));
        if (c + 1 < columns) text += separator;
      }
      if (r + 1 < rows || below(2)) text += line_end;
      if (below(4) == 0 && r + 1 < rows) text += line_end;
    }
    data_table const table =
        parse_table(text, "t", {.separator = separator, .text_columns = names, .missing_texts = {}});
    EXPECT_EQ(table.columns(), names);
    for (std::size_t c = 0; c < columns; ++c) EXPECT_EQ(texts(table, names[c]), cells[c]);
  }
}

TEST(read_table, refuses_or_reads_randomly_damaged_text) {
  std::string const sound = "a,b,c\n1,\"x,\"\"y\",2.5e3\n-7,z,0.125\n\"4\",\"l\n\",1e-9\n";
  int refusals = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    random_stream const random(seed, "damage");
    std::string text = sound;
    for (std::uint64_t k = 0; k <= seed % 4; ++k) {
      auto const at = static_cast<std::size_t>(random.below(3 * k, text.size()));
      if (random.below(3 * k + 1, 3) == 0)
        text.erase(at, 1 + random.below(3 * k + 2, 8));
      else
        text[at] = static_cast<char>(random.below(3 * k + 2, 256));
    }
    // An allocation of the exact size, so that sanitizers find reads beyond the end.
    std::vector<char> const exact(text.begin(), text.end());
    try {
      parse_table({exact.data(), exact.size()}, "t");
    } catch (data_error const&) {
      ++refusals;
    }
  }
  EXPECT_GT(refusals, 500);
}

}  // namespace read_table_test
