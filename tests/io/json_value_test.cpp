// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/error/exceptions.hpp>
#include <cohort/io/json.hpp>
#include <string>
#include <utility>

#include "../checkpoint/refusals.hpp"

namespace json_value_test {

using cohort::io::parse_json;

auto const document = parse_json(
    R"({"layers": [{"kind": "conv2d", "kernel": "5", "rate": 1.5, "n": -3, "big": 18446744073709551615}], "x y": []})",
    "net.json");

template <class Action>
std::string refused(Action action) {
  return refusal_of<cohort::data_error>([&] { action(document.root().at("layers").at(0)); });
}

TEST(json_value, reports_the_expected_and_the_actual_kind) {
  EXPECT_EQ(
      refused([](auto layer) { layer.at("kernel").integer(1, 9); }),
      "cannot read JSON (net.json:1:42, $.layers[0].kernel): expected an integer from 1 to 9, got the string "
      "\"5\"");
  EXPECT_EQ(refused([](auto layer) { layer.at("rate").integer(); }),
            "cannot read JSON (net.json:1:55, $.layers[0].rate): expected an integer of 64 bits, got 1.5");
  EXPECT_EQ(refused([](auto layer) { layer.at("n").unsigned_integer(); }),
            "cannot read JSON (net.json:1:65, $.layers[0].n): expected an integer from 0 to "
            "18446744073709551615, got "
            "-3");
  EXPECT_EQ(refused([](auto layer) { layer.at("big").integer(0); }),
            "cannot read JSON (net.json:1:76, $.layers[0].big): expected an integer of at least 0, got "
            "18446744073709551615");
  for (auto read :
       {+[](cohort::io::json_value v) { v.boolean(); }, +[](cohort::io::json_value v) { v.string(); },
        +[](cohort::io::json_value v) { v.number(); }, +[](cohort::io::json_value v) { v.at(0); },
        +[](cohort::io::json_value v) { v.integer(); }}) {
    EXPECT_NE(refused([&](auto layer) { read(layer); }), "");
  }
  EXPECT_NE(refused([](auto layer) { layer.at("kind").at("x"); }), "");
  EXPECT_NE(refused([](auto layer) { layer.at("kind").size(); }), "");
  EXPECT_NE(refused([](auto layer) { layer.at("kind").items(); }), "");
}

TEST(json_value, refuses_integers_outside_the_requested_range) {
  auto const layer = document.root().at("layers").at(0);
  EXPECT_EQ(layer.at("n").integer(-3, -3), -3);
  EXPECT_EQ(layer.at("big").unsigned_integer(), 18446744073709551615u);
  EXPECT_NE(refused([](auto l) { l.at("n").integer(-2); }), "");
  EXPECT_NE(refused([](auto l) { l.at("n").integer(-9, -4); }), "");
  EXPECT_NE(refused([](auto l) { l.at("big").unsigned_integer(5); }), "");
}

TEST(json_value, reads_integers_with_a_point_or_an_exponent) {
  auto const numbers = parse_json(
      "[1e2, 4.0, -2.5e1, -0.0, 9007199254740992.0, 9007199254740994.0, 0.5, 1e300, -1e300, true]");
  auto const at = [&](std::size_t index) { return numbers.root().at(index); };
  EXPECT_EQ(at(0).integer(100, 100), 100);
  EXPECT_EQ(at(0).unsigned_integer(), 100u);
  EXPECT_EQ(at(1).integer(), 4);
  EXPECT_EQ(at(2).integer(), -25);
  EXPECT_EQ(at(3).unsigned_integer(), 0u);
  EXPECT_EQ(at(4).integer(), std::int64_t{1} << 53);
  EXPECT_EQ(refusal_of<cohort::data_error>([&] { at(0).integer(1, 99); }),
            "cannot read JSON (JSON text:1:2, $[0]): expected an integer from 1 to 99, got 100");
  EXPECT_EQ(refusal_of<cohort::data_error>([&] { at(2).unsigned_integer(30); }),
            "cannot read JSON (JSON text:1:12, $[2]): expected an integer from 0 to 30, got -25");
  for (std::size_t index = 5; index < 10; ++index) {
    EXPECT_THROW(at(index).integer(), cohort::data_error) << index;
    EXPECT_THROW(at(index).unsigned_integer(), cohort::data_error) << index;
  }
}

TEST(json_value, reports_a_missing_and_an_unknown_field) {
  EXPECT_EQ(refused([](auto layer) { layer.at("stride"); }),
            "cannot read JSON (net.json:1:13, $.layers[0]): expected a field \"stride\", got no such field");
  EXPECT_EQ(refused([](auto layer) {
              layer.expect_only({"kind", "kernel", "rate", "big"});
            }),
            "cannot read JSON (net.json:1:65, $.layers[0].n): expected one of the fields kind, kernel, rate, "
            "big, got "
            "an unknown field \"n\"");
  EXPECT_EQ(refused([](auto layer) {
              layer.expect_only({"kind", "kernel", "rate", "big", "n", "more"});
            }),
            "");
  EXPECT_FALSE(document.root().find("layer").has_value());
  EXPECT_FALSE(document.root().find("").has_value());
  EXPECT_TRUE(document.root().find("x y").has_value());
}

TEST(json_value, finds_each_of_many_fields) {
  std::string text = "{";
  for (int i = 0; i < 1000; ++i)
    text += (i > 0 ? ",\"" : "\"") + std::to_string(i * 7919 % 1000) + "\":" + std::to_string(i);
  auto const many = parse_json(text + "}");
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(many.root().at(std::to_string(i * 7919 % 1000)).integer(), i);
  EXPECT_FALSE(many.root().find("1000").has_value());
}

TEST(json_value, refuses_an_index_past_the_end) {
  EXPECT_EQ(refusal_of<cohort::data_error>([] { document.root().at("layers").at(1); }),
            "cannot read JSON (net.json:1:12, $.layers): expected an array of at least 2 elements, got an "
            "array of 1");
}

TEST(json_value, quotes_keys_that_are_not_plain_words_in_a_path) {
  EXPECT_EQ(document.root().at("x y").path(), "$[\"x y\"]");
  EXPECT_EQ(document.root().path(), "$");
}

TEST(json_value, remains_valid_when_the_document_is_moved) {
  auto first = parse_json(R"(["short"])");
  auto const value = first.root().at(0);
  auto const second = std::move(first);
  EXPECT_EQ(value.string(), "short");
}

}  // namespace json_value_test
