// SPDX-License-Identifier: Apache-2.0
// label: slow
// Compares the reader with nlohmann's reader: both must accept the same texts and read the same values.
#include <gtest/gtest.h>

#include <bit>
#include <cohort/io/json.hpp>
#include <cohort/io/json_writer.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace json_against_nlohmann_test {

using namespace std::string_literals;
using other_json = nlohmann::ordered_json;

std::optional<cohort::io::json_document> ours(std::string const& text) {
  try {
    return cohort::io::parse_json(text);
  } catch (cohort::data_error const&) {
    return std::nullopt;
  }
}

std::optional<other_json> theirs(std::string const& text) {
  // Texts that nlohmann's library accepts on purpose, although RFC 8259 does not require it: a byte order
  // mark, a zero byte as the end.
  if (text.substr(0, 3) == "\xef\xbb\xbf" || text.find('\0') != std::string::npos) return std::nullopt;
  bool repeated = false;
  std::vector<std::vector<std::string>> fields;
  auto watch = [&](int, other_json::parse_event_t event, other_json& value) {
    if (event == other_json::parse_event_t::object_start) fields.emplace_back();
    if (event == other_json::parse_event_t::object_end) fields.pop_back();
    if (event == other_json::parse_event_t::key) {
      for (auto const& known : fields.back()) repeated |= known == value.get<std::string>();
      fields.back().push_back(value.get<std::string>());
    }
    return true;
  };
  try {
    auto result = other_json::parse(text, watch);
    if (repeated) return std::nullopt;
    return result;
  } catch (other_json::exception const&) {
    return std::nullopt;
  }
}

void expect_equal(cohort::io::json_value a, other_json const& b) {
  switch (a.kind()) {
    case cohort::io::json_kind::null:
      ASSERT_TRUE(b.is_null());
      break;
    case cohort::io::json_kind::boolean:
      ASSERT_EQ(a.boolean(), b.get<bool>());
      break;
    case cohort::io::json_kind::string:
      ASSERT_EQ(a.string(), b.get<std::string>());
      break;
    case cohort::io::json_kind::number:
      ASSERT_TRUE(b.is_number());
      if (b.is_number_float()) {
        ASSERT_EQ(std::bit_cast<std::uint64_t>(a.number()), std::bit_cast<std::uint64_t>(b.get<double>()));
      } else if (b.is_number_unsigned()) {
        ASSERT_EQ(a.unsigned_integer(), b.get<std::uint64_t>());
      } else {
        ASSERT_EQ(a.integer(), b.get<std::int64_t>());
      }
      break;
    case cohort::io::json_kind::array:
      ASSERT_TRUE(b.is_array());
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < b.size(); ++i) expect_equal(a.at(i), b[i]);
      break;
    case cohort::io::json_kind::object: {
      ASSERT_TRUE(b.is_object());
      ASSERT_EQ(a.size(), b.size());
      auto field = b.begin();
      for (cohort::io::json_value item : a.items()) {
        ASSERT_EQ(item.key(), field.key());
        expect_equal(item, field.value());
        ++field;
      }
    }
  }
}

bool agree(std::string const& text) {
  auto const mine = ours(text);
  auto const other = theirs(text);
  EXPECT_EQ(mine.has_value(), other.has_value()) << text;
  if (mine && other) expect_equal(mine->root(), *other);
  return mine.has_value();
}

std::vector<std::string> const documents = {
    R"({"layers": [{"kind": "conv2d", "filters": 20, "kernel": [5, 5], "bias": true, "rate": 1e-3}], "n": null})",
    R"({"__metadata__": {"format": "pt"}, "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}})",
    R"([0, -0, 0.0, -0.0, 1, -1, 10, 1.5, 1e5, 1E+5, 1e-5, 123456789012345678, 9223372036854775807])",
    R"([9223372036854775808, -9223372036854775808, -9223372036854775809, 18446744073709551615, 18446744073709551616])",
    R"([1e308, 1.7976931348623157e308, 5e-324, 2.2250738585072011e-308, 0.1, 0.30000000000000004, 1e-999])",
    R"(["", "\"\\\/\b\f\n\r\t", "\u0041\u00e4\u20ac\ud83d\ude00", "ä€😀", "\u0000", "\uffff", "\u007f", "/"])",
    "[[[[[[[[[[]]]]]]]]]]",
    "{\"\":{\"\":{\"\":{}}}}",
    " \t\r\n[ \t\r\n1 \t\r\n, \t\r\n2 \t\r\n] \t\r\n",
    "null",
    "true",
    "false",
    "\"x\"",
    "0",
    "-1.5e3",
    "[]",
    "{}",
    "[1e309]",
    "[-1e309]",
    "{\"a\":1,\"a\":2}",
    "[\"\\ud800\"]",
    "[\"\\udc00\"]",
    "[\"\\ud800\\ud800\"]",
    "[\"\\ud83d\\u0041\"]",
    "[\"\x7f\"]",
    "[\"\xc2\x80\"]",
    "[\"\xed\x9f\xbf\xee\x80\x80\"]",
    "[\"\xf4\x8f\xbf\xbf\"]",
    "[\"\xf4\x90\x80\x80\"]",
    "[\"\xc0\xaf\"]",
    "[\"\xe0\x9f\xbf\"]",
    "[01]",
    "[1.]",
    "[.1]",
    "[1e]",
    "[+1]",
    "[-]",
    "[1,]",
    "{\"a\":1,}",
    "[NaN]",
    "//\n1",
};

TEST(json_against_nlohmann, accepts_the_same_documents_with_the_same_values) {
  int accepted = 0;
  for (auto const& text : documents) accepted += agree(text);
  EXPECT_EQ(accepted, 21);
}

TEST(json_against_nlohmann, agrees_on_every_truncation_of_every_document) {
  for (auto const& text : documents) {
    for (std::size_t length = 0; length < text.size(); ++length) agree(text.substr(0, length));
  }
}

TEST(json_against_nlohmann, agrees_on_damaged_documents) {
  std::string const pieces[] = {"[",    "]",    "{",  "}",    ",",    ":",        "\"",   "\\",  "\\u",
                                "d800", "dc00", "0",  "1",    "-",    ".",        "e",    "E5",  "null",
                                "true", " ",    "\n", "\xc3", "\xa4", "\xed\xa0", "\xf4", "\x1f"};
  constexpr std::uint64_t seed = 2024;
  std::mt19937_64 random(seed);
  int accepted = 0;
  for (int round = 0; round < 60'000 && !HasFailure(); ++round) {
    std::string text = documents[random() % documents.size()];
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      std::size_t const at = random() % (text.size() + 1);
      switch (random() % 4) {
        case 0:
          text.insert(at, pieces[random() % std::size(pieces)]);
          break;
        case 1:
          text.erase(at, 1 + random() % 3);
          break;
        case 2:
          text.replace(at, 1, pieces[random() % std::size(pieces)]);
          break;
        default:
          if (at < text.size()) text[at] = static_cast<char>(random());
      }
    }
    accepted += agree(text);
  }
  EXPECT_GT(accepted, 3'000) << "seed " << seed;
}

TEST(json_against_nlohmann, writes_text_that_nlohmann_reads_as_the_same_values) {
  cohort::io::json_writer out(4);
  out.begin_object()
      .field("text", "\"\\/\b\f\n\r\t\x01 ä€😀")
      .field("least", INT64_MIN)
      .field("most", UINT64_MAX);
  out.field("tenth", 0.1)
      .field("tiny", 5e-324)
      .key("list")
      .begin_array()
      .value(nullptr)
      .value(true)
      .end_array();
  std::string const text = out.end_object().text();
  auto const other = other_json::parse(text);
  auto const document = cohort::io::parse_json(text);
  expect_equal(document.root(), other);
  EXPECT_EQ(other.at("text").get<std::string>(), "\"\\/\b\f\n\r\t\x01 ä€😀");
  EXPECT_EQ(other.at("tenth").get<double>(), 0.1);
}

}  // namespace json_against_nlohmann_test
