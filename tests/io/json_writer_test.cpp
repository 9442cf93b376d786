// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cohort/io/json.hpp>
#include <cohort/io/json_writer.hpp>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "../checkpoint/refusals.hpp"

namespace json_writer_test {

using cohort::io::json_lines;
using cohort::io::json_writer;

json_writer& network(json_writer& out) {
  out.begin_object().field("name", "lenet").key("input").begin_array(json_lines::one);
  out.value(1).value(28).end_array().key("none").begin_array().end_array().key("layers").begin_array();
  out.begin_object(json_lines::one).field("kind", "conv2d").field("rate", 0.02).field("bias", true);
  out.key("pads").begin_array().value(nullptr).end_array().end_object();
  return out.begin_object(json_lines::one).end_object().end_array().end_object();
}

TEST(json_writer, writes_compact_text_without_a_space) {
  json_writer out;
  EXPECT_EQ(network(out).text(), R"({"name":"lenet","input":[1,28],"none":[],)"
                                 R"("layers":[{"kind":"conv2d","rate":0.02,"bias":true,"pads":[null]},{}]})");
}

TEST(json_writer, indents_but_keeps_short_values_on_one_line) {
  json_writer out(2);
  EXPECT_EQ(network(out).text(), R"({
  "name": "lenet",
  "input": [1, 28],
  "none": [],
  "layers": [
    {"kind": "conv2d", "rate": 0.02, "bias": true, "pads": [null]},
    {}
  ]
}
)");
}

TEST(json_writer, writes_the_extremes_of_every_integer_type) {
  json_writer out;
  out.begin_array()
      .value(std::numeric_limits<std::int64_t>::min())
      .value(std::numeric_limits<std::uint64_t>::max());
  out.value(std::uint8_t{200}).value(std::int8_t{-5}).value(-0.0).value(0.1f).end_array();
  EXPECT_EQ(out.text(), "[-9223372036854775808,18446744073709551615,200,-5,-0,0.10000000149011612]");
}

TEST(json_writer, writes_doubles_that_read_back_as_the_same_bits) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 100'000; ++i) {
    double const number = std::bit_cast<double>(std::uint64_t{random()});
    if (!std::isfinite(number)) continue;
    std::string const text = json_writer().value(number).text();
    auto const document = cohort::io::parse_json(text);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(document.root().number()), std::bit_cast<std::uint64_t>(number))
        << text;
  }
}

TEST(json_writer, refuses_numbers_that_json_cannot_represent) {
  for (double number : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                        std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(json_writer().value(number), cohort::numeric_error);
  }
  EXPECT_THROW(json_writer().value(std::numeric_limits<float>::infinity()), cohort::numeric_error);
}

TEST(json_writer, refuses_text_that_is_not_utf8) {
  EXPECT_EQ(refusal_of<cohort::data_error>([] { json_writer().begin_array().value("ab\xff"); }),
            "cannot write JSON (after 1 bytes, byte 2 of \"ab?\"): expected UTF-8, got byte 255");
  EXPECT_THROW(json_writer().begin_object().key("\xed\xa0\x80"), cohort::data_error);
}

TEST(json_writer, refuses_calls_that_produce_invalid_json) {
  using cohort::setting_error;
  EXPECT_THROW(json_writer().text(), setting_error);
  EXPECT_THROW(json_writer().value(1).value(2), setting_error);
  EXPECT_THROW(json_writer().key("a"), setting_error);
  EXPECT_THROW(json_writer().end_array(), setting_error);
  EXPECT_THROW(json_writer().begin_array().key("a"), setting_error);
  EXPECT_THROW(json_writer().begin_array().end_object(), setting_error);
  EXPECT_THROW(json_writer().begin_array().text(), setting_error);
  EXPECT_THROW(json_writer().begin_array().end_array().end_array(), setting_error);
  EXPECT_THROW(json_writer().begin_object().value(1), setting_error);
  EXPECT_THROW(json_writer().begin_object().begin_array(), setting_error);
  EXPECT_THROW(json_writer().begin_object().end_array(), setting_error);
  EXPECT_THROW(json_writer().begin_object().key("a").key("b"), setting_error);
  EXPECT_EQ(
      refusal_of<setting_error>([] { json_writer().begin_object().key("a").end_object(); }),
      "the sequence of json_writer calls does not form JSON (after 5 bytes): expected a value, got '}'");
}

}  // namespace json_writer_test
