// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/checkpoint/optimizer_json.hpp>
#include <cohort/io/json.hpp>
#include <string>

#include "refusals.hpp"

namespace optimizer_json_test {

using namespace cohort;

optimizer_settings read(std::string const& text) {
  io::json_document const document = io::parse_json(text, "optimizer");
  return optimizer_from_json(document.root());
}
plateau read_plateau(std::string const& text) {
  io::json_document const document = io::parse_json(text, "plateau");
  return plateau_from_json(document.root());
}

optimizer_settings const everything{
    .rule = adam{},
    .bias_rule = nesterov{.momentum = schedule::map{.values = {{0, 0.8}, {2, 0.9}}}},
    .l1 = 1e-4,
    .bias_l2 = 0.1,
    .normalisation = normalise::clip_global_norm{3},
    .constraint = constraint::max_norm{2.5},
    .bias_constraint = constraint::non_negative{},
    .decay_from_rank = 2,
    .layers = {{.layer = "features_*", .frozen = true},
               {.layer = "features_9",
                .rule = lion{.learning_rate = 0.1},
                .bias_rule = sgd{},
                .l1 = 0,
                .l2 = 1,
                .bias_l1 = 2,
                .bias_l2 = 3,
                .constraint = parameter_constraint(),
                .bias_constraint = constraint::unit_norm{},
                .frozen = false,
                .decays = false},
               {.layer = "\"head\""}}};

TEST(optimizer_json, round_trips_every_field_of_network_and_layers) {
  EXPECT_EQ(read(to_json(everything)), everything);
  EXPECT_EQ(read(to_json(optimizer_settings())), optimizer_settings());
  EXPECT_NE(to_json(everything).find(R"("rule":{"adam":{"learning_rate":)"), std::string::npos)
      << "the grammar of run documents";
}

TEST(optimizer_json, refuses_invalid_rows_and_reports_their_position) {
  std::string const plain = to_json(optimizer_settings());
  std::string const no_rows = "\"layers\":[]}";
  ASSERT_TRUE(plain.ends_with(no_rows)) << plain;
  auto const with = [&](std::string const& rows) {
    return refusal_of<data_error>(
        [&] { read(plain.substr(0, plain.size() - no_rows.size()) + "\"layers\": " + rows + '}'); });
  };
  EXPECT_EQ(with("[{\"layer\": \"a\"}]"), "");
  EXPECT_NE(with("{}").find("a list"), std::string::npos);
  EXPECT_NE(with("[{\"l1\": 1}]").find("layers[0]): expected a field \"layer\""), std::string::npos);
  EXPECT_NE(with("[{\"layer\": \"a\"}, {\"layer\": \"b\", \"rate\": 1}]").find("layers[1].rate"),
            std::string::npos);
  EXPECT_NE(with("[{\"layer\": \"a\", \"frozen\": 1}]").find("frozen"), std::string::npos);
  EXPECT_NE(with("[{\"layer\": \"a\", \"l2\": -1}]").find("layers[0].l2"), std::string::npos);
  EXPECT_NE(with("[{\"layer\": \"a\", \"constraint\": {\"max_norm\": {\"at\": 0}}}]").find("constraint"),
            std::string::npos);
}

TEST(optimizer_json, refuses_text_with_a_missing_field) {
  EXPECT_NE(refusal_of<data_error>([] { read("{}"); }).find("expected a field \"rule\""), std::string::npos);
  std::string text = to_json(optimizer_settings());
  text.replace(text.find("\"l2\":0,"), 7, "");
  EXPECT_NE(refusal_of<data_error>([&] { read(text); }).find("expected a field \"l2\""), std::string::npos);
}

TEST(optimizer_json, round_trips_the_state_of_a_plateau) {
  plateau const seen{.best = 0.1 + 0.2, .not_better = 3, .cooling = 1, .factor = 0.01};
  EXPECT_EQ(read_plateau(to_json(seen)), seen);
  EXPECT_EQ(read_plateau(to_json(plateau())), plateau());
  std::string text = to_json(seen);
  EXPECT_NE(refusal_of<data_error>([&] { read_plateau(text.replace(text.find("0.01"), 4, "1.01")); }), "");
  EXPECT_NE(refusal_of<data_error>([&] { read_plateau("{\"best\": 1}"); }), "");
}

}  // namespace optimizer_json_test
