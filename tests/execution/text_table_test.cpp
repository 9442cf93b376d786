// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/detail/text_table.hpp>
#include <optional>

namespace text_table_test {

using cohort::detail::columns;
using cohort::detail::decimal_text;
using cohort::detail::text_table;

std::string table(columns others) {
  text_table t({.others = others});
  t.add({"Käfer", "1", "200"});
  t.add({"a", "10", ""});
  t.add({"b"});
  return t.text();
}

TEST(text_table, aligns_columns_by_characters_instead_of_bytes) {
  EXPECT_EQ(table(columns::right), "  Käfer   1  200\n  a      10\n  b\n");
  EXPECT_EQ(table(columns::left), "  Käfer  1   200\n  a      10\n  b\n");
  EXPECT_EQ(table(columns::even), "  Käfer    1  200\n  a       10\n  b\n");
  EXPECT_EQ(text_table({.others = columns::even}).text(), "");
  EXPECT_EQ(cohort::detail::characters_in("K\xc3\xa4"), 2u);
}

TEST(text_table, left_aligns_the_first_columns_without_an_indent) {
  text_table t({.others = columns::right, .left = 2, .indent = 0});
  t.add({"a", "b", "c", "d"});
  t.add({"aaa", "bb", "cc", "1"});
  t.add({"", "", "", "22"});
  EXPECT_EQ(t.text(), "a    b    c   d\naaa  bb  cc   1\n             22\n");
}

TEST(text_table, writes_numbers_with_fixed_decimals_and_missing_numbers_as_a_dash) {
  EXPECT_EQ(decimal_text(0.98765, 4), "0.9877");
  EXPECT_EQ(decimal_text(-1e300, 1).size(), 304u);
  EXPECT_EQ(decimal_text(std::nullopt, 4), "-");
}

}  // namespace text_table_test
