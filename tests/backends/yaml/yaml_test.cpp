// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/yaml.hpp>

#include <cohort/configuration/run_document.hpp>
#include <cohort/error/exceptions.hpp>
#include <string>
#include <string_view>

#include "../../checkpoint/refusals.hpp"

namespace yaml_test {

using namespace cohort;

/// The text in one line: objects in braces, texts in quotes, other values as in JSON.
std::string shown(io::json_value value) {
  switch (value.kind()) {
    case io::json_kind::null:
      return "null";
    case io::json_kind::boolean:
      return value.boolean() ? "true" : "false";
    case io::json_kind::string:
      return "'" + std::string(value.string()) + "'";
    case io::json_kind::number: {
      char text[40];
      std::snprintf(text, sizeof text, "%.17g", value.number());
      return text;
    }
    default:
      break;
  }
  bool const is_list = value.kind() == io::json_kind::array;
  std::string text;
  for (io::json_value const one : value.items())
    text += (text.empty() ? "" : ", ") + (is_list ? "" : std::string(one.key()) + ": ") + shown(one);
  return (is_list ? "[" : "{") + text + (is_list ? "]" : "}");
}
std::string shown(std::string_view text) {
  io::json_document const parsed = io::parse_yaml(text);
  return shown(parsed.root());
}
std::string refused(std::string_view text, io::json_limits limits = {}) {
  return refusal_of<data_error>([&] { io::parse_yaml(text, "a.yaml", limits); });
}

TEST(yaml, becomes_json_values) {
  EXPECT_EQ(shown("a: 1\nb:\n  - x\n  - c: [1, 2]\n    d: {}\nempty:\n"),
            "{a: 1, b: ['x', {c: [1, 2], d: {}}], empty: null}");
  EXPECT_EQ(shown("{\"version\": 1, \"layers\": [\"relu\", null]}"), "{version: 1, layers: ['relu', null]}");
  EXPECT_EQ(shown("--- # a comment\n- |\n  two\n  lines\n- >-\n  one\n  line\n"),
            "['two\nlines\n', 'one line']");
}

TEST(yaml, has_the_types_of_the_core_schema) {
  EXPECT_EQ(shown("[~, null, Null, NULL]"), "[null, null, null, null]");
  EXPECT_EQ(shown("[true, True, TRUE, false, False, FALSE]"), "[true, true, true, false, false, false]");
  EXPECT_EQ(shown("[yes, no, on, off, y, n, Yes, tRUE]"),
            "['yes', 'no', 'on', 'off', 'y', 'n', 'Yes', 'tRUE']");
  EXPECT_EQ(shown("[0, -12, +3, 0o17, 0x1F, 007]"), "[0, -12, 3, 15, 31, 7]");
  EXPECT_EQ(shown("[0.5, .5, 5e-4, 1., -1.5E+3, 2e400x, 1e-400]"),
            "[0.5, 0.5, 0.00050000000000000001, 1, -1500, '2e400x', 0]");
  EXPECT_EQ(shown("[1_000, 1:30, 12a, 0b1, 0xg, ., -, e5, 1e, 2001-01-01, .infinity]"),
            "['1_000', '1:30', '12a', '0b1', '0xg', '.', '-', 'e5', '1e', '2001-01-01', '.infinity']");
  EXPECT_EQ(shown("['true', \"1\", '~', '']"), "['true', '1', '~', '']");
}

TEST(yaml, reads_integers_exactly) {
  io::json_document const parsed =
      io::parse_yaml("[18446744073709551615, -9223372036854775808, 18446744073709551616]");
  EXPECT_EQ(parsed.root().at(std::size_t{0}).unsigned_integer(), 18446744073709551615u);
  EXPECT_EQ(parsed.root().at(std::size_t{1}).integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parsed.root().at(std::size_t{2}).number(), 18446744073709551616.0);
  EXPECT_THROW(parsed.root().at(std::size_t{2}).unsigned_integer(), data_error);
}

TEST(yaml, reports_errors_with_line_and_column) {
  EXPECT_EQ(refused("a: 1\nb: [1, 2\nc: 3\n"),
            "cannot read YAML (a.yaml:3:2): end of sequence flow not found");
  EXPECT_EQ(refused("a:\n  b: &x [1]\n"),
            "cannot read YAML (a.yaml:2:6): expected a value without an anchor, got an anchor");
  EXPECT_EQ(refused("a: !!str 1\n"),
            "cannot read YAML (a.yaml:1:4): expected a value without a tag, got \"tag:yaml.org,2002:str\"");
  EXPECT_EQ(refused("- .inf\n"), "cannot read YAML (a.yaml:1:3): expected a finite number, got .inf");
  EXPECT_EQ(refused("- 1e400\n"), "cannot read YAML (a.yaml:1:3): expected a finite number, got 1e400");
  EXPECT_EQ(refused("? [1]\n: 2\n"),
            "cannot read YAML (a.yaml:1:3): expected a text as a key, got a list or an object");
  EXPECT_EQ(refused("a: 1\n---\nb: 2\n"),
            "cannot read YAML (a.yaml:2:1): expected one document, got a second one");
  EXPECT_EQ(refused(""), "cannot read YAML (a.yaml:1:1): expected a document, got none");
  EXPECT_EQ(refused("# nothing\n"), "cannot read YAML (a.yaml:1:1): expected a document, got none");
  EXPECT_EQ(refused("ü: \xff\n"), "cannot read YAML (a.yaml:1:4): expected UTF-8, got an invalid byte");
  EXPECT_EQ(refused("a: \x01\n"),
            "cannot read YAML (a.yaml:1:4): expected a printable character, got a control character");
  EXPECT_EQ(refused("a: 1\nb: 2\na: 3\n"),
            "cannot read YAML (a.yaml:3:4): expected unique field names, got a second field \"a\"");
}

TEST(yaml, reads_keys_as_written) {
  EXPECT_EQ(shown("1: a\ntrue: b\n1.50: c\n'': d\n"), "{1: 'a', true: 'b', 1.50: 'c', : 'd'}");
  EXPECT_EQ(refused("1: a\n'1': b\n"),
            "cannot read YAML (a.yaml:2:6): expected unique field names, got a second field \"1\"");
  EXPECT_EQ(refused("~: a\n"), "cannot read YAML (a.yaml:1:1): expected a text as a key, got nothing");
}

TEST(yaml, reads_underflow_as_0_and_refuses_overflow) {
  EXPECT_EQ(shown("[1e-400, 0.0000001e-320, .1e-330, 0e999999999999]"), "[0, 0, 0, 0]");
  EXPECT_EQ(shown("[-1e-400]"), "[-0]");
  for (char const* const one : {"1e400", "-1e400", "10000e308", "1e99999999999999999999"})
    EXPECT_EQ(refused(std::string("- ") + one + '\n'),
              std::string("cannot read YAML (a.yaml:1:3): expected a finite number, got ") + one);
}

/// The parser does not read a second document, whatever it contains.
TEST(yaml, refuses_a_second_document) {
  EXPECT_EQ(refused("a: 1\n--- " + std::string(10'000, '[')),
            "cannot read YAML (a.yaml:2:1): expected one document, got a second one");
  EXPECT_EQ(refused("a: 1\n...\n--- &x\n- *x\n"),
            "cannot read YAML (a.yaml:3:1): expected one document, got a second one");
  EXPECT_EQ(shown("a: 1\n...\n"), "{a: 1}");
}

TEST(yaml, refuses_invalid_limits) {
  for (int const depth : {0, -1, 1001})
    EXPECT_EQ(refusal_of<setting_error>([&] { io::parse_yaml("a: 1", "a.yaml", {.max_depth = depth}); }),
              "cannot read YAML (json_limits::max_depth): expected 1 to 1000, got " + std::to_string(depth));
  EXPECT_EQ(refused("[1]", {.max_depth = 1000}), "");
}

TEST(yaml, refuses_anchors_and_aliases) {
  EXPECT_EQ(refused("a: &a [x, x]\nb: [*a, *a]\n"),
            "cannot read YAML (a.yaml:1:4): expected a value without an anchor, got an anchor");
  EXPECT_NE(refused("b: *a\n"), "");
}

TEST(yaml, refuses_documents_beyond_the_limits) {
  EXPECT_EQ(refused(std::string(1000, '[') + std::string(1000, ']')),
            "cannot read YAML (a.yaml:1:65): expected at most 64 levels of lists and objects, got more");
  EXPECT_NE(refused(std::string(100'000, '[')), "");
  EXPECT_NE(refused(std::string(100'000, '{')), "");
  std::string nested;
  for (int k = 0; k < 300; ++k) nested += std::string(static_cast<std::size_t>(k), ' ') + "a:\n";
  EXPECT_EQ(refused(nested),
            "cannot read YAML (a.yaml:65:65): expected at most 64 levels of lists and objects, got more");
  EXPECT_EQ(refused("[1, 2, 3]", {.max_values = 3}),
            "cannot read YAML (a.yaml:1:8): expected at most 3 values, got more");
  EXPECT_EQ(refused("[1, 2, 3]", {.max_bytes = 8}),
            "cannot read YAML (a.yaml): expected at most 8 bytes, got 9 bytes");
}

TEST(yaml, allocates_enough_memory_for_strings_of_escapes) {
  std::string text = "\"";
  for (int k = 0; k < 1000; ++k) text += "\\L";
  io::json_document const parsed = io::parse_yaml(text + "\"");
  EXPECT_EQ(parsed.root().string().size(), 3000u);
}

TEST(yaml, is_read_as_a_run_document_and_reports_lines) {
  constexpr std::string_view text = R"(version: 1
network:
  layers:
    - input: [1, 28, 28]
    - conv2d: {filters: 20, kernel: 5}
    - relu
    - max_pool: {window: 2}
    - dense: 10
    - softmax_cross_entropy
optimizer:
  rule:
    adam: {learning_rate: 5e-4}
strategy: {averaging: {every: 3}}
)";
  io::json_document const parsed = io::parse_yaml(text, "run.yaml");
  run_document const run = run_document::from(parsed.root());
  EXPECT_EQ(run.training.optimizer.rule, optimizer_rule(adam{.learning_rate = 5e-4}));
  EXPECT_EQ(std::get<parameter_averaging>(run.strategy).every, 3);
  io::json_document const again = io::parse_yaml(to_json(run));
  EXPECT_EQ(run_document::from(again.root()), run);
  std::string wrong(text);
  wrong.replace(wrong.find("rate"), 4, "rade");
  EXPECT_EQ(
      refusal_of<data_error>([&] {
        io::json_document const other = io::parse_yaml(wrong, "run.yaml");
        run_document::from(other.root());
      }),
      "cannot read the document (run.yaml:12:27, $.optimizer.rule.adam.learning_rade): expected one of the "
      "fields learning_rate, beta1, beta2, epsilon, epsilon_hat; the nearest name is learning_rate, got "
      "\"learning_rade\"");
}

}  // namespace yaml_test
