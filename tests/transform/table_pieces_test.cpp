// SPDX-License-Identifier: Apache-2.0
#include <cohort/transform/table_pieces.hpp>

#include "../data/refused.hpp"

namespace table_pieces_test {

using namespace cohort;
using strings = std::vector<std::string>;

table_schema const schema{{{.name = "age"},
                           {.name = "city", .type = column_type::text},
                           {.name = "when", .type = column_type::time}}};

TEST(table_pieces, are_read_from_files_once_per_call) {
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

}  // namespace table_pieces_test
