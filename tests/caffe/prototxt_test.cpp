// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/caffe/prototxt.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "../checkpoint/refusals.hpp"

namespace prototxt_test {

using namespace cohort;

prototxt_message parsed(std::string const& text) { return parse_prototxt(text, "a.prototxt"); }
std::string refused(std::string const& text) {
  return refusal_of<data_error>([&] { parsed(text); });
}

TEST(prototxt, reads_values_of_all_types) {
  prototxt_message const made = parsed(R"(
# a comment
name: "lenet" rate: 1e-2 count: 0x10, octal: 017; negative: - 3
on: true off: False mode: MAX joined: 'a' "b\n\x41\101" big: 1.5f none: -inf)");
  EXPECT_EQ(made.text("name"), "lenet");
  EXPECT_EQ(made.number("rate", 0), 0.01);
  EXPECT_EQ(made.integer("count", 0), 16);
  EXPECT_EQ(made.integer("octal", 0), 15);
  EXPECT_EQ(made.integer("negative", 0), -3);
  EXPECT_TRUE(made.boolean("on", false));
  EXPECT_FALSE(made.boolean("off", true));
  EXPECT_EQ(made.text("mode"), "MAX");
  EXPECT_EQ(made.text("joined"), "ab\nAA");
  EXPECT_EQ(made.number("big", 0), 1.5);
  EXPECT_LT(made.number("none", 0), -1e300);
  EXPECT_EQ(made.integer("missing", 7), 7);
  EXPECT_EQ(made.where("rate"), "a.prototxt:3:21");
}

TEST(prototxt, reads_nested_and_repeated_messages) {
  prototxt_message const made =
      parsed("layer { name: 'a' top: 'x' top: 'y' p < dim: [1, 2, 3] > } layer: { name: 'b' } list: []");
  ASSERT_EQ(made.messages("layer").size(), 2U);
  prototxt_message const& first = *made.messages("layer")[0];
  EXPECT_EQ(first.texts("top"), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(first.message("p").integers("dim"), (std::vector<std::int64_t>{1, 2, 3}));
  prototxt_message const missing = first.message("missing");
  EXPECT_EQ(missing.fields().size(), 0U);
  EXPECT_EQ(made.messages("layer")[1]->text("name"), "b");
  EXPECT_FALSE(made.has("list"));
}

template <class Message>
concept returns_pointers = requires(Message message) {
  std::forward<Message>(message).messages("layer");
  std::forward<Message>(message).fields();
};

TEST(prototxt, returns_no_pointers_into_a_temporary_message) {
  EXPECT_TRUE(returns_pointers<prototxt_message const&>);
  EXPECT_FALSE(returns_pointers<prototxt_message>);
}

TEST(prototxt, refuses_malformed_text_with_line_and_column) {
  EXPECT_EQ(refused("a: 1\nb 2"),
            "cannot read the text format of Protocol Buffers (a.prototxt:2:3): expected ':' or '{' after b, "
            "got \"2\"");
  EXPECT_NE(refused("a {\n b: 1").find("(a.prototxt:2:6): expected a field or '}', got the end of the file"),
            std::string::npos);
  EXPECT_NE(refused("a: 'x\n'").find("(a.prototxt:1:6): expected the end of the string"), std::string::npos);
  EXPECT_NE(refused("a: \"\\q\"").find("expected one of the escapes"), std::string::npos);
  EXPECT_NE(refused("[ext]: 1").find("expected the name of a field"), std::string::npos);
  EXPECT_NE(refused("\xef\xbb\xbfname: 'a'")
                .find("got the byte 239; save the file as text, without a byte order mark"),
            std::string::npos);
  EXPECT_NE(refused("a: }").find("expected a value"), std::string::npos);
  EXPECT_NE(refused("a: [1 2]").find("expected ',' or ']'"), std::string::npos);
  std::string deep;
  for (int k = 0; k < 100; ++k) deep += "a {";
  EXPECT_NE(refused(deep).find("nested at most 64 deep"), std::string::npos);
}

TEST(prototxt, refuses_values_of_another_type_and_unknown_fields) {
  prototxt_message const made = parsed("a: 1 a: 2 text: 'x' half: 0.5 m { } flag: 2 octal: 09");
  auto const refusal = [&](auto action) { return refusal_of<data_error>([&] { action(); }); };
  EXPECT_EQ(refusal([&] { made.number("a", 0); }),
            "the field is set twice (a.prototxt:1:9, field a): expected one value, got another value");
  EXPECT_NE(refusal([&] { made.number("text", 0); }).find("expected a number, got \"x\""), std::string::npos);
  EXPECT_NE(refusal([&] { made.number("octal", 0); }).find("expected a number"), std::string::npos);
  EXPECT_NE(refusal([&] { made.integer("half", 0); }).find("expected an integer"), std::string::npos);
  EXPECT_NE(refusal([&] { made.boolean("flag", false); }).find("expected true or false"), std::string::npos);
  EXPECT_NE(refusal([&] { made.text("m"); }).find("expected a text, got a message"), std::string::npos);
  EXPECT_NE(refusal([&] { made.message("text"); }).find("expected a message in { }"), std::string::npos);
  std::vector<std::string_view> const known{"a", "texts"};
  EXPECT_EQ(
      refusal([&] { made.expect_only(known); }),
      "the field is unknown (a.prototxt:1:17, field text): expected a, texts; the nearest name is texts, "
      "got \"text\"");
}

TEST(prototxt, changes_a_message) {
  prototxt_message made = parsed("a: 1 b: 2 a: 3");
  made.remove("a");
  made.add({.name = "b2", .text = "x"});
  EXPECT_FALSE(made.has("a"));
  EXPECT_EQ(made.text("b2"), "x");
  EXPECT_EQ(made.fields().size(), 2U);
}

}  // namespace prototxt_test
