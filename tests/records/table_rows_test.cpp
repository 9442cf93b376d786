// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cohort/data/example_view.hpp>
#include <cohort/records/table_rows.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "../data/refused.hpp"

namespace table_rows_test {

using namespace cohort;

std::string written(std::string const& name, std::string const& text) {
  std::string const path = fresh_path(name);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

/// Rows "i,city,i/2,answer" with quotes, line breaks in fields, empty lines and both kinds of line ends.
std::string people(int first, int count) {
  std::string text = "\xef\xbb\xbf\nid,city,half,answer\r\n";
  for (int i = first; i < first + count; ++i) {
    std::string const city = i % 3 == 0 ? "\"a, \"\"b\"\"\n c\"" : i % 3 == 1 ? "Rome" : "it\"s";
    text += std::to_string(i) + ',' + city + ",\"" + std::to_string(i / 2.0) + "\"," + (i % 2 ? "yes" : "no")
            + (i % 5 ? "\n" : "\r\n\n");
  }
  return text;
}

/// The numbers of all parts of example i.
std::vector<float> numbers_of(dataset const& data, std::int64_t i) {
  example_view view;
  view.allocate(data.describe());
  data.get(i, view);
  std::vector<float> made;
  for (std::size_t part = 0; part < data.describe().parts(); ++part) {
    tensor_description const& one = data.describe().part(part);
    auto const count = static_cast<std::size_t>(std::max<std::int64_t>(one.example.elements(), 1));
    for (std::size_t k = 0; k < count; ++k) {
      std::byte const* const at = view.at(part) + k * bytes_of(one.stored);
      float number = 0;
      std::int32_t label = 0;
      if (one.stored == element_type::i32)
        std::memcpy(&label, at, sizeof label);
      else
        std::memcpy(&number, at, sizeof number);
      made.push_back(one.stored == element_type::i32 ? static_cast<float>(label) : number);
    }
  }
  return made;
}

TEST(table_rows, yield_the_same_examples_as_the_table_in_memory) {
  std::string const path = written("people.csv", people(0, 100));
  data_table const whole = read_table(path);
  table_encoder const encoder(whole, {.target = "answer"});
  arrays const expected = encoder.examples(whole);
  for (std::uint64_t const bytes : {1U, 40U, 1000U, 1U << 20}) {
    table_rows const rows({path}, {.cache = "", .block_bytes = bytes, .max_block_bytes = 100});
    ASSERT_EQ(rows.size(), 100);
    EXPECT_EQ(rows.columns(), whole.columns());
    dataset const data = rows.examples(encoder);
    ASSERT_EQ(data.describe().inputs.size(), expected.describe().inputs.size());
    for (std::int64_t i = 99; i >= 0; --i) EXPECT_EQ(numbers_of(data, i), numbers_of(expected, i)) << i;
  }
}

TEST(table_rows, continue_in_the_next_file) {
  std::vector<std::string> const paths{written("0.csv", people(0, 7)), written("1.csv", people(7, 30))};
  table_rows const rows(paths, {.cache = "", .block_bytes = 64});
  ASSERT_EQ(rows.size(), 37);
  table_encoder const encoder(read_table(paths[1]), {.inputs = {"id"}});
  dataset const data = rows.examples(encoder);
  for (std::int64_t i = 0; i < 37; ++i)
    EXPECT_EQ(numbers_of(data, i), std::vector<float>{static_cast<float>(i)});
}

TEST(table_rows, read_the_first_rows) {
  std::string const path = written("people.csv", people(0, 50));
  table_rows const rows({path}, {.cache = "", .block_bytes = 64});
  data_table const first = rows.read(0, 20);
  EXPECT_EQ(first.rows(), 20);
  EXPECT_EQ(first.numbers("id")[19], 19);
  EXPECT_EQ(first.texts("city")[3], "a, \"b\"\n c");
  EXPECT_EQ(rows.read(0, 1000).rows(), 50);
}

TEST(table_rows, read_a_range_of_rows) {
  std::vector<std::string> const paths{written("some-0.csv", people(0, 20)),
                                       written("some-1.csv", people(20, 40))};
  for (std::uint64_t const bytes : {1U, 64U, 1U << 20}) {
    table_rows const rows(paths, {.cache = "", .block_bytes = bytes});
    for (int first : {0, 1, 7, 19, 20, 33, 59})
      for (int count : {0, 1, 5, 100}) {
        data_table const some = rows.read(first, count);
        int const end = first < 20 ? 20 : 60;
        ASSERT_EQ(some.rows(), std::min(count, end - first)) << first << ", " << count;
        for (int row = 0; row < some.rows(); ++row)
          EXPECT_EQ(some.numbers("id")[static_cast<std::size_t>(row)], static_cast<float>(first + row));
      }
    EXPECT_EQ(rows.read(60, 5).rows(), 0);
    expect_parts(refused<setting_error>([&] { rows.read(61, 1); }),
                 {"expected a first row from 0 to 60", "got 61"});
    EXPECT_THROW(rows.read(-1, 1), setting_error);
    EXPECT_THROW(rows.read(0, -1), setting_error);
  }
}

TEST(table_rows, skip_comments_and_merge_separators_like_the_table_in_memory) {
  std::string text = "# a comment \"\n  a b  \n";
  for (int row = 0; row < 40; ++row)
    text += (row % 3 == 0 ? "#\n   \n" : "") + std::string(static_cast<std::size_t>(row % 4), ' ')
            + std::to_string(row) + "   \"x #" + std::to_string(row) + "\""
            + (row % 2 == 0 ? "  \n" : "\r\n");
  std::string const path = written("blanks.data", text + "# the end");
  table_settings const format{.separator = ' ', .merge_separators = true, .comment = '#'};
  data_table const whole = read_table(path, format);
  for (std::uint64_t const bytes : {1U, 50U, 1U << 20}) {
    table_rows const rows({path}, {.format = format, .cache = "", .block_bytes = bytes});
    ASSERT_EQ(rows.size(), whole.rows());
    for (int first : {0, 1, 17, 39}) {
      data_table const some = rows.read(first, 2);
      EXPECT_EQ(some.numbers("a")[0], whole.numbers("a")[static_cast<std::size_t>(first)]);
    }
  }
}

TEST(table_rows, infer_column_types_from_the_rows_read) {
  std::string const path = written("types.csv", "x\n1\n2\nthree\n4\n5,6\n");
  table_rows const rows({path}, {.cache = ""});
  EXPECT_FALSE(rows.read(0, 2).has_texts("x"));
  EXPECT_TRUE(rows.read(0, 3).has_texts("x"));
  EXPECT_FALSE(rows.read(3, 1).has_texts("x"));
  expect_parts(refused<data_error>([&] { rows.read(3, 2); }), {"types.csv:6"});
}

TEST(table_rows, may_be_empty_if_allowed) {
  std::string const empty = written("empty.csv", "x,y\n"), full = written("full.csv", "x,y\n1,2\n3,4\n");
  expect_parts(refused<data_error>([&] {
                 table_rows({full, empty}, {.cache = ""});
               }),
               {"the table has no rows", "empty.csv"});
  table_rows_settings const allowed{.format = {.may_be_empty = true}, .cache = ""};
  table_rows const rows({empty, full, empty, full, empty}, allowed);
  ASSERT_EQ(rows.size(), 4);
  data_table const first = rows.read(0, 10), last = rows.read(3, 10);
  EXPECT_EQ(first.numbers("x")[1], 3);
  EXPECT_EQ(last.numbers("y")[0], 4);
  dataset const data = rows.examples(table_encoder(rows.read(0, 10)));
  EXPECT_EQ(numbers_of(data, 2), (std::vector<float>{1, 2}));
  EXPECT_EQ(numbers_of(data, 3), (std::vector<float>{3, 4}));
  int seen = 0;
  rows.for_each_block([&](data_table const& block) { seen += block.rows(); });
  EXPECT_EQ(seen, 4);
  table_rows const none({empty, empty}, allowed);
  EXPECT_EQ(none.size(), 0);
  data_table const nothing = none.read(0, 10);
  EXPECT_EQ(nothing.columns(), (std::vector<std::string>{"x", "y"}));
  table_encoder const encoder(rows.read(0, 10));
  expect_parts(refused<data_error>([&] { none.examples(encoder); }), {"needs rows", "empty.csv"});
  expect_parts(refused<data_error>([&] { table_rows({written("nothing.csv", "")}, allowed); }),
               {"the table has no rows", "nothing.csv"});
}

TEST(table_rows, may_have_no_column_names) {
  std::string const path = written("numbers.tsv", "1\t2\n3\t4\n5\t6");
  table_rows const rows({path}, {.format = {.header = false}, .cache = "", .block_bytes = 1});
  EXPECT_EQ(rows.size(), 3);
  table_encoder const encoder(rows.read(0, 3));
  EXPECT_EQ(numbers_of(rows.examples(encoder), 2), (std::vector<float>{5, 6}));
}

TEST(table_rows, use_a_cached_index) {
  std::string const path = written("people.csv", people(0, 50)), folder = fresh_path("table-indices");
  for (int repeated = 0; repeated < 2; ++repeated)
    EXPECT_EQ(table_rows({path}, {.cache = folder, .block_bytes = 64}).size(), 50);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()),
            1);
  std::filesystem::remove_all(folder);
}

TEST(table_rows, are_read_by_several_threads) {
  std::string const path = written("people.csv", people(0, 200));
  table_rows const rows({path}, {.cache = "", .block_bytes = 200, .max_block_bytes = 2000});
  dataset const data = rows.examples(table_encoder(rows.read(0, 50), {.inputs = {"id"}}));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 400; ++k) {
        int const i = (k * 7 + t * 31) % 200;
        wrong += numbers_of(data, i) != std::vector<float>{static_cast<float>(i)};
      }
    });
  for (std::thread& one : threads) one.join();  // bounded: 1200 rows
  EXPECT_EQ(wrong, 0);
}

TEST(table_rows, are_passed_in_blocks_that_cover_the_table) {
  std::string const one = written("blocks-1.csv", people(0, 50)),
                    two = written("blocks-2.csv", people(50, 7));
  table_rows const rows({one, two}, {.cache = "", .block_bytes = 100});
  std::vector<std::string> cities;
  std::vector<float> ids;
  int blocks = 0;
  rows.for_each_block([&](data_table const& block) {
    ++blocks;
    for (float const id : block.numbers("id")) ids.push_back(id);
    for (int row = 0; row < block.rows(); ++row) cities.emplace_back(block.texts("city")[row]);
  });
  EXPECT_GT(blocks, 10);
  ASSERT_EQ(ids.size(), 57U);
  for (std::size_t k = 0; k < ids.size(); ++k) {
    EXPECT_EQ(ids[k], static_cast<float>(k));
    EXPECT_EQ(cities[k], k % 3 == 0 ? "a, \"b\"\n c" : k % 3 == 1 ? "Rome" : "it\"s");
  }
}

TEST(table_rows, continue_after_a_damaged_block_with_an_error_handler) {
  std::string const path = written("damaged.csv", "x,y\n1,2\n3,4,5\n6,7\n8,nine\n");
  table_rows const rows({path}, {.format = {.number_columns = {"x", "y"}}, .cache = "", .block_bytes = 1});
  std::vector<float> read;
  std::vector<std::string> problems;
  rows.for_each_block([&](data_table const& block) { read.push_back(block.numbers("x")[0]); },
                      [&](data_error const& problem) { problems.emplace_back(problem.what()); });
  EXPECT_EQ(read, (std::vector<float>{1, 6}));
  ASSERT_EQ(problems.size(), 2U);
  expect_parts(problems[0], {"damaged.csv:3"});
  expect_parts(problems[1], {"damaged.csv:5"});
  expect_parts(refused<data_error>([&] { rows.for_each_block([](data_table const&) {}); }),
               {"damaged.csv:3"});
  // An error of the caller's function does not count as an error of the block.
  int calls = 0;
  EXPECT_THROW(rows.for_each_block(
                   [&](data_table const&) {
                     ++calls;
                     throw data_error({.what = "of the caller"});
                   },
                   [](data_error const&) { ADD_FAILURE(); }),
               data_error);
  EXPECT_EQ(calls, 1);
}

TEST(table_rows, report_errors_with_line_and_row_of_the_file) {
  std::string text = "a,b\n";
  for (int i = 0; i < 50; ++i) text += i == 40 ? "40,x\n" : i == 45 ? "45,NA\n" : "1,2\n";
  std::string const path = written("table.csv", text);
  table_rows const rows({path},
                        {.format = {.missing = missing_values::keep}, .cache = "", .block_bytes = 16});
  table_encoder const encoder(rows.read(0, 10));
  dataset const data = rows.examples(encoder);
  EXPECT_EQ(numbers_of(data, 30), (std::vector<float>{1, 2}));
  expect_parts(refused<data_error>([&] { numbers_of(data, 40); }),
               {"a field is not a number", "table.csv:42:4, column b"});
  expect_parts(refused<data_error>([&] { numbers_of(data, 45); }), {"table.csv, column b, row 46"});
}

TEST(table_rows, report_changed_rows_in_a_file_of_the_same_size) {
  std::string const path = written("changed.csv", "a,b\n1,2\n3,4\n5,6\n");
  table_rows const rows({path}, {.cache = ""});
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file << "a,b\n1,2\n3,44444\n";
  }
  ASSERT_EQ(std::filesystem::file_size(path), 16U);
  int blocks = 0;
  expect_parts(refused<data_error>([&] { rows.for_each_block([&](data_table const&) { ++blocks; }); }),
               {"the file changed after it was indexed", "changed.csv:2", "expected 3 rows", "got 2"});
  EXPECT_EQ(blocks, 0);
}

TEST(table_rows, limit_cached_blocks_by_the_size_of_the_decoded_examples) {
  std::string text = "t\n";
  for (int i = 0; i < 400; ++i) text += "text" + std::to_string(1000 + i) + "\n";  // 400 numbers for each row
  std::string const path = written("wide.csv", text);
  table_rows const rows({path}, {.cache = "", .block_bytes = 90, .max_block_bytes = 50'000});
  dataset const data = rows.examples(table_encoder(read_table(path)));
  EXPECT_EQ(data.describe().inputs[0].example, shape(400));
  auto const first = std::filesystem::last_write_time(path);
  for (std::int64_t i = 0; i < 400; ++i) EXPECT_EQ(numbers_of(data, i)[static_cast<std::size_t>(i)], 1.0F);
  // A block of 10 rows has 16,000 bytes of numbers, so the first block is no longer in memory.
  std::filesystem::resize_file(path, 10);
  std::filesystem::last_write_time(path, first);
  EXPECT_THROW(numbers_of(data, 0), error);
  EXPECT_EQ(numbers_of(data, 399)[399], 1.0F);
}

TEST(table_rows, refuse_compressed_files) {
  expect_parts(refused<data_error>(
                   [] { table_rows({written("packed.csv", "\x1f\x8b\x08 1,2\n3,4\n")}, {.cache = ""}); }),
               {"the file is compressed", "gunzip"});
}

TEST(table_rows, refuse_invalid_files_and_settings) {
  std::string const path = written("people.csv", people(0, 5));
  auto const says = [&](table_rows_settings how) {
    how.cache = "";
    return refused<setting_error>([&] { table_rows({path}, how); });
  };
  expect_parts(refused<setting_error>([] { table_rows({}); }), {"at least 1 path"});
  expect_parts(says({.format = {.missing = missing_values::drop}}), {"cannot be dropped", "refuse or keep"});
  expect_parts(says({.block_bytes = 0}), {"block_bytes"});
  expect_parts(says({.format = {.number_type = element_type::i32}}), {"number_type", "f32 or f64"});
  expect_parts(refused<file_error>([] { table_rows({"/nowhere/x.csv"}, {.cache = ""}); }),
               {"/nowhere/x.csv"});
  for (char const* text : {"", "a,b\n", "\n\n"})
    expect_parts(refused<data_error>([&] { table_rows({written("none.csv", text)}, {.cache = ""}); }),
                 {"the table has no rows", "none.csv"});
  std::string const other = written("other.csv", "id,town\n1,2\n");
  expect_parts(refused<data_error>([&] {
                 table_rows({path, other}, {.cache = ""});
               }),
               {"the tables have different columns", "other.csv", "id, city, half, answer", "id, town"});
  table_rows const rows({path}, {.cache = ""});
  table_encoder const encoder(read_table(other));
  expect_parts(refused<setting_error>([&] { rows.examples(encoder); }), {"town"});
}

/// x of row `row`, from 0, is `odd`; all other fields are numbers.
std::string measured(int count, int row, std::string const& odd) {
  std::string text = "x,y\n";
  for (int i = 0; i < count; ++i)
    text += (i == row ? odd : std::to_string(i)) + ',' + std::to_string(i) + '\n';
  return text;
}

TEST(table_rows, refuse_a_text_in_a_column_of_numbers) {
  table_rows_settings const how{.format = {.missing = missing_values::keep}, .cache = "", .block_bytes = 256};
  std::string const path = written("odd.csv", measured(400, 5, "\"1,234.5\""));
  table_rows const rows({path}, how);
  std::string const whole = refused<data_error>([&] { table_encoder(rows.read(0, 400), {.target = "y"}); });
  expect_parts(whole, {"a column of numbers contains texts (", "odd.csv, column x)",
                       "got 399 numbers and 1 text, the first \"1,234.5\" at ", "odd.csv:7:1"});
  // In a row after those from which the encoder has learned, the field is refused when its block is read.
  table_encoder const encoder(rows.read(100, 300), {.target = "y", .regression = true});
  EXPECT_EQ(encoder.feature_names(), (std::vector<std::vector<std::string>>{{"x"}}));
  std::string const later = refused<data_error>([&] { numbers_of(rows.examples(encoder), 5); });
  expect_parts(later, {"a field is not a number (", "odd.csv:7:1, column x)", "got \"1,234.5\""});
}

TEST(table_rows, accept_the_text_none_as_a_missing_number) {
  table_rows const rows({written("gap.csv", measured(400, 5, "None"))},
                        {.format = {.missing = missing_values::keep}, .cache = "", .block_bytes = 256});
  table_encoder const encoder(rows.read(0, 400),
                              {.target = "y", .regression = true, .impute = imputation::constant});
  EXPECT_EQ(numbers_of(rows.examples(encoder), 5), (std::vector<float>{0, 5}));
  EXPECT_EQ(numbers_of(rows.examples(encoder), 399), (std::vector<float>{399, 399}));
}

}  // namespace table_rows_test
