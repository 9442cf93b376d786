// SPDX-License-Identifier: Apache-2.0
#include <cohort/records/table_rows.hpp>
#include <cohort/transform/fitted_pipeline.hpp>
#include <cohort/transform/table_pieces.hpp>

#include "../data/refused.hpp"

namespace table_pieces_test {

using namespace cohort;
using strings = std::vector<std::string>;

table_schema const schema{{{.name = "age"},
                           {.name = "city", .type = column_type::text},
                           {.name = "when", .type = column_type::time}}};

TEST(table_pieces, are_read_once_per_call) {
  std::string const path = fresh_path("rows.csv");
  std::ofstream(path) << "city,extra,age,when\n007,1,20,5\n,2,,\n";
  table_pieces const pieces = pieces_of({path, path}, schema);
  for (int pass = 0; pass < 2; ++pass) {
    int files = 0;
    pieces([&](data_table const& piece) {
      ++files;
      EXPECT_EQ(piece.name(), path);
      EXPECT_EQ(piece.columns(), (strings{"age", "city", "when"}));
      EXPECT_EQ(piece.texts("city")[0], "007");
      EXPECT_EQ(piece.numbers<double>("age")[0], 20);
    });
    EXPECT_EQ(files, 2);
  }
  pieces_of({}, schema)([](data_table const&) { FAIL() << "no file"; });
}

TEST(table_pieces, may_be_blocks_of_a_large_table) {
  std::string const path = fresh_path("blocks.csv");
  std::ofstream out(path);
  out << "extra,city,age,when\n";
  for (int row = 0; row < 300; ++row)
    out << row << ",city " << row % 7 << ',' << (row % 5 == 0 ? "" : std::to_string(row % 83)) << ",2026-11-0"
        << 1 + row % 9 << '\n';
  out.close();
  transform_pipeline const how{
      .schema = schema,
      .steps = {pipeline::impute{.columns = {"age"}, .with = pipeline::replacement::median},
                pipeline::categories{.columns = {"city"}}, pipeline::normalise{{"age", "when"}}}};
  fitted_pipeline const whole(how, read_table(path, format_of(schema)));
  for (std::uint64_t const bytes : {1U, 200U, 1'000'000U}) {
    table_rows const rows({path}, {.format = format_of(schema), .cache = "", .block_bytes = bytes});
    table_pieces const blocks = [&](auto const& use) { rows.for_each_block(use); };
    fitted_pipeline const fitted(how, blocks);
    EXPECT_EQ(fitted, whole) << bytes;
    EXPECT_EQ(fitted.report().rows, 300);
    int count = 0;
    fitted.apply(blocks)([&](data_table const& piece) { count += piece.rows(); });
    EXPECT_EQ(count, 300);
  }
}

}  // namespace table_pieces_test
