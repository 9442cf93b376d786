// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "../checkpoint/refusals.hpp"

namespace json_test {

using namespace std::string_literals;
using cohort::data_error;
using cohort::io::parse_json;

std::string refused(std::string_view text, cohort::io::json_limits limits = {}) {
  return refusal_of<data_error>([&] { parse_json(text, "net.json", limits); });
}

double number_of(std::string_view text) {
  auto const document = parse_json(text);
  return document.root().number();
}

TEST(json, reads_every_kind_of_value) {
  auto const document = parse_json(R"( {"a": [null, true, false, -12, 2.5e1, "x\n"], "b": {}, "": []} )");
  auto const a = document.root().at("a");
  EXPECT_EQ(document.root().size(), 3u);
  EXPECT_TRUE(a.at(0).is_null());
  EXPECT_TRUE(a.at(1).boolean());
  EXPECT_FALSE(a.at(2).boolean());
  EXPECT_EQ(a.at(3).integer(), -12);
  EXPECT_EQ(a.at(4).number(), 25.0);
  EXPECT_EQ(a.at(5).string(), "x\n");
  EXPECT_EQ(document.root().at("b").size(), 0u);
  EXPECT_EQ(document.root().at("").kind(), cohort::io::json_kind::array);
}

TEST(json, keeps_the_order_of_fields) {
  auto const document = parse_json(R"({"z": 1, "a": 2, "m": 3})");
  std::string keys;
  for (auto field : document.root().items()) keys += std::string(field.key());
  EXPECT_EQ(keys, "zam");
}

TEST(json, decodes_escapes_and_surrogates) {
  auto const document = parse_json(R"(["\"\\\/\b\f\n\r\t", "\u00e4\u20AC\ud83d\ude00", "\u0000", "ä€😀"])");
  EXPECT_EQ(document.root().at(0).string(), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(document.root().at(1).string(), "ä€😀");
  EXPECT_EQ(document.root().at(2).string(), "\0"s);
  EXPECT_EQ(document.root().at(3).string(), "ä€😀");
}

TEST(json, rounds_numbers_to_nearest_and_keeps_integers_exact) {
  auto const document = parse_json(
      "[0.1, 9007199254740993, 9223372036854775807, -9223372036854775808, 18446744073709551615, 1e-400, "
      "-1e-400,"
      " 4.9406564584124654e-324, 1.7976931348623157e308, -0, 100000000000000000000, 0e999, "
      "0.0000e99999999999999]");
  auto const root = document.root();
  EXPECT_EQ(root.at(0).number(), 0.1);
  EXPECT_EQ(root.at(1).integer(), 9007199254740993);
  EXPECT_EQ(root.at(2).integer(), 9223372036854775807);
  EXPECT_EQ(root.at(3).integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(root.at(4).unsigned_integer(), 18446744073709551615u);
  EXPECT_EQ(root.at(5).number(), 0.0);
  EXPECT_TRUE(root.at(6).number() == 0.0 && std::signbit(root.at(6).number()));
  EXPECT_EQ(root.at(7).number(), 4.9406564584124654e-324);
  EXPECT_EQ(root.at(8).number(), 1.7976931348623157e308);
  EXPECT_TRUE(std::signbit(root.at(9).number()));
  EXPECT_EQ(root.at(9).integer(), 0);
  EXPECT_EQ(root.at(10).number(), 1e20);
  EXPECT_EQ(root.at(11).number(), 0.0);
  EXPECT_EQ(root.at(12).number(), 0.0);
}

TEST(json, distinguishes_overflow_from_underflow_in_any_notation) {
  std::string const zeros(400, '0');
  EXPECT_EQ(number_of("0." + zeros + "1"), 0.0);
  EXPECT_EQ(number_of("0." + zeros + "1e5"), 0.0);
  EXPECT_EQ(number_of("0." + zeros + "1e401"), 1.0);
  EXPECT_EQ(number_of("1" + zeros + "e-400"), 1.0);
  EXPECT_EQ(number_of("1" + zeros + "e-999999999999999999999"), 0.0);
  EXPECT_NE(refused("1" + zeros + "e-5"), "");
  EXPECT_NE(refused("1" + zeros), "");
  EXPECT_NE(refused("1e309"), "");
  EXPECT_NE(refused("0.1e999999999999999999999"), "");
}

TEST(json, refuses_text_that_rfc_8259_does_not_allow) {
  for (std::string_view text : {"",
                                " ",
                                "nul",
                                "nulll",
                                "True",
                                "NaN",
                                "Infinity",
                                "-Infinity",
                                "+1",
                                ".5",
                                "1.",
                                "01",
                                "-01",
                                "-",
                                "--1",
                                "1e",
                                "1e+",
                                "0x10",
                                "1_000",
                                "1,",
                                "1 2",
                                "[",
                                "]",
                                "[1",
                                "[1,",
                                "[1,]",
                                "[,1]",
                                "[1 2]",
                                "[1}",
                                "{",
                                "}",
                                "{,}",
                                "{\"a\"}",
                                "{\"a\":}",
                                "{\"a\":1,}",
                                "{\"a\" 1}",
                                "{a:1}",
                                "{'a':1}",
                                "{1:2}",
                                "{\"a\":1]",
                                "\"",
                                "\"a",
                                "'a'",
                                "\"\\\"",
                                "\"\\x41\"",
                                "\"\\u12\"",
                                "\"\\u12g4\"",
                                "\"\t\"",
                                "\"\n\"",
                                "\"\x01\"",
                                "//c\n1",
                                "/*c*/1",
                                "[1]]",
                                "{}{}",
                                "\f1",
                                "\v1",
                                "\xc2\xa0"
                                "1",
                                "\xef\xbb\xbf{}",
                                "\"\\ud800\"",
                                "\"\\udc00\"",
                                "\"\\ud800\\u0041\"",
                                "\"\\ud800\\ud800\"",
                                "\"\\udc00\\ud800\"",
                                "\"\xff\"",
                                "\"\xc0\x80\"",
                                "\"\xed\xa0\x80\"",
                                "\"\xf4\x90\x80\x80\"",
                                "\"\xe2\x82\"",
                                "\xff"}) {
    EXPECT_NE(refused(text), "") << text;
  }
  EXPECT_NE(refused("1\0"s), "");
  EXPECT_NE(refused("\0"s), "");
  EXPECT_NE(refused("\"a\0b\""s), "");
}

TEST(json, reports_line_column_and_path_of_an_error) {
  EXPECT_EQ(refused("{\"layers\": [1,\n  {\"kernel\": 5,\n   \"ä\": \"ö\", \"b c\": [tru]}]}"),
            "cannot read JSON (net.json:3:22, $.layers[1][\"b c\"][0]): expected a value, got 't'");
  EXPECT_EQ(refused("[1,\n"),
            "cannot read JSON (net.json:2:1, $[1]): expected a value, got the end of the text");
  EXPECT_EQ(refused("\xef\xbb\xbf{}"),
            "cannot read JSON (net.json:1:1, $): expected a value, got a byte order mark");
  EXPECT_EQ(refused("[\"\xff\"]"), "cannot read JSON (net.json:1:3, $[0]): expected UTF-8, got byte 0xff");
}

TEST(json, refuses_a_repeated_field_even_if_it_is_escaped) {
  EXPECT_EQ(refused(R"({"a": 1, "b": {"c": 1, "\u0063": 2}})"),
            "cannot read JSON (net.json:1:34, $.b.c): expected unique field names, got a second field \"c\"");
  EXPECT_EQ(refused(R"([{"a": 1}, {"a": 1}])"), "");
}

TEST(json, refuses_text_beyond_the_limits_of_depth_values_and_bytes) {
  EXPECT_EQ(refused("[[[]]]", {.max_depth = 3}), "");
  EXPECT_EQ(refused("[[[[]]]]", {.max_depth = 3}),
            "cannot read JSON (net.json:1:4, $[0][0][0]): expected at most 3 levels of arrays and objects, "
            "got more");
  EXPECT_EQ(refused("[[], [], [[]]]", {.max_depth = 3}), "");
  EXPECT_EQ(refused("[1,2,3]", {.max_values = 4}), "");
  EXPECT_EQ(refused("[1,2,3,4]", {.max_values = 4}),
            "cannot read JSON (net.json:1:8, $): expected at most 4 values, got more");
  EXPECT_EQ(refused("[1]", {.max_bytes = 3}), "");
  EXPECT_EQ(refused("[1] ", {.max_bytes = 3}),
            "cannot read JSON (net.json): expected at most 3 bytes, got 4 bytes");
  EXPECT_THROW(parse_json("1", "x", {.max_depth = 0}), cohort::setting_error);
  EXPECT_THROW(parse_json("1", "x", {.max_depth = 100'000}), cohort::setting_error);
}

TEST(json, reads_or_refuses_a_million_brackets_and_digits) {
  for (char const* piece : {"[", "{\"a\":", "[[],", "{\"\":["}) {
    std::string text;
    for (int i = 0; i < 1'000'000; ++i) text += piece;
    EXPECT_NE(refused(text), "");
    EXPECT_NE(refused(text, {.max_depth = 1000}), "");
  }
  EXPECT_NE(refused(std::string(1'000'000, '9')), "");
  EXPECT_EQ(number_of("0." + std::string(1'000'000, '3')), 1.0 / 3.0);
  EXPECT_NE(refused('"' + std::string(1'000'000, 'x')), "");
}

TEST(json, refuses_every_truncation_of_a_document) {
  std::string const whole =
      R"({"layers": [{"kind": "conv2d", "kernel": [5, 5], "rate": -1.5e-3, "bias": true, "n": null, "t": "\u00e4\n"}]})";
  ASSERT_EQ(refused(whole), "");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(refused(std::string_view(whole).substr(0, length)), "") << length;
  }
}

TEST(json, never_reads_past_the_end_of_a_damaged_text) {
  // The text is copied to memory of exactly its size, so that a sanitizer detects any read beyond it.
  std::string const whole =
      R"({"a": [1.5e3, -0, "\ud83d\ude00 \u00e4 ä", true, false, null, {"b": {}}], "c": ""})";
  std::mt19937_64 random(7);
  int accepted = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string text = whole.substr(0, random() % 4 == 0 ? random() % (whole.size() + 1) : whole.size());
    for (auto changes = random() % 4; changes > 0 && !text.empty(); --changes) {
      text[random() % text.size()] =
          random() % 2 == 0 ? whole[random() % whole.size()] : static_cast<char>(random());
    }
    std::vector<char> const exact(text.begin(), text.end());
    std::string const why = refused({exact.data(), exact.size()});
    accepted += why.empty();
    if (!why.empty()) {
      ASSERT_EQ(cohort::detail::invalid_utf8_at(why), why.size()) << why;
    }
  }
  EXPECT_GT(accepted, 10'000);
}

}  // namespace json_test
