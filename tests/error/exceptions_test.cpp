// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/error/exceptions.hpp>

#include <type_traits>

namespace exceptions_test {

using namespace cohort;

std::string said(refusal why) { return error(std::move(why)).what(); }

TEST(exceptions, contain_what_where_expected_and_got) {
  EXPECT_EQ(said({.what = "cannot read", .where = "a.idx, byte 4", .expected = "2051", .got = "7"}),
            "cannot read (a.idx, byte 4): expected 2051, got 7");
  EXPECT_EQ(said({.what = "cannot read"}), "cannot read");
  EXPECT_EQ(said({.what = "cannot read", .got = "7"}), "cannot read: 7");
  EXPECT_EQ(said({.what = "cannot read", .expected = "2051"}), "cannot read: expected 2051");
  EXPECT_EQ(said({.what = "cannot read", .where = "a.idx"}), "cannot read (a.idx)");
}

TEST(exceptions, are_caught_as_errors_and_keep_their_fields) {
  try {
    throw shape_error({.what = "wrong shape", .got = "3x4"});
  } catch (error const& caught) {
    EXPECT_EQ(caught.why().what, "wrong shape");
    EXPECT_EQ(caught.why().got, "3x4");
    return;
  }
  FAIL();
}

static_assert(std::is_base_of_v<std::runtime_error, error>);
static_assert(
    std::is_base_of_v<error, graph_error> && std::is_base_of_v<error, data_error> && std::is_base_of_v<error, file_error> && std::is_base_of_v<error, setting_error> && std::is_base_of_v<error, backend_error> && std::is_base_of_v<error, memory_error> && std::is_base_of_v<error, numeric_error> && std::is_base_of_v<error, deadline_error>);

}  // namespace exceptions_test
