// SPDX-License-Identifier: Apache-2.0
// covers: error/source
#include <gtest/gtest.h>
#include <cohort/error/finding.hpp>

#include <climits>

namespace finding_test {

using namespace cohort;

constexpr finding kernel{.sentence = "the kernel is larger than its input",
                         .layer = "conv2d",
                         .at = {"net.cpp", 19},
                         .shapes = {{{"input", {1, 4, 4}}, {"kernel", {5, 5}}}}};
static_assert(kernel.found() && !finding{}.found());
static_assert(kernel.text().view()
              == "net.cpp:19: conv2d: the kernel is larger than its input (input 1x4x4, kernel 5x5)");

TEST(finding, reports_the_source_lines_of_the_operands) {
  finding sum = kernel;
  sum.shapes = {{{"left", {20, 4, 4}}, {"right", {20, 6, 6}}}};
  sum.operands = {{{"net.cpp", 17}, {"net.cpp", 18}}};
  EXPECT_EQ(sum.text().view(),
            "net.cpp:19: conv2d: the kernel is larger than its input (left 20x4x4 from line 17, "
            "right 20x6x6 from line 18)");
}

TEST(finding, omits_unknown_parts) {
  finding plain{.sentence = "no", .layer = "add"};
  EXPECT_EQ(plain.text().view(), "graph: add: no");
  plain.shapes[0] = labelled_number("groups", -3);
  EXPECT_EQ(plain.text().view(), "graph: add: no (groups -3)");
}

TEST(fixed_text, writes_numbers_and_shapes_and_truncates_long_text) {
  fixed_text<64> text;
  text.append(INT_MIN);
  text.append(" ");
  text.append(0);
  text.append(" ");
  text.append(shape{});
  EXPECT_EQ(text.view(), "-2147483648 0 scalar");
  EXPECT_EQ(kernel.text<16>().view(), "net.cpp:19: con");
}

static_assert([] {
  source_line const at = source_line::here();
  return at.line == __LINE__ - 1 && std::string_view(at.file).ends_with("finding_test.cpp");
}());

}  // namespace finding_test
