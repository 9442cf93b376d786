// SPDX-License-Identifier: Apache-2.0
// A struct with a table of fields is read, written, described by a schema, listed, and set by flags. A field
// that is added to the table works in all these uses.
#include <gtest/gtest.h>
#include <cohort/io/detail/field_codecs.hpp>
#include <cohort/io/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "members_of.hpp"

namespace field_table_test {

using namespace cohort;
using namespace cohort::detail;

struct constant_speed {
  double speed = 2;
  bool operator==(constant_speed const&) const = default;
};
struct standing {
  bool operator==(standing const&) const = default;
};
using movement = std::variant<standing, constant_speed>;

/// A struct without the new field.
struct small_ship {
  std::string name{};
  int sailors = 3;
  bool operator==(small_ship const&) const = default;
};
struct ship {
  std::string name{};
  int sailors = 3;
  movement moves{};
  std::vector<small_ship> boats{};
  std::optional<double> depth{};
  std::vector<std::string> flags{};
  bool is_old = false;
  std::uint64_t key = 0;
  int planted = 7;  // the new field
  bool operator==(ship const&) const = default;
};

constexpr std::array<std::string_view, 2> movement_names{"standing", "constant_speed"};

template <class Visitor>
void field_table(Visitor&, standing&) {}
template <class Visitor>
void field_table(Visitor& v, constant_speed& s) {
  v.field("speed", s.speed, real_codec{});
}
template <class Visitor>
void field_table(Visitor& v, small_ship& s) {
  v.field("name", s.name, mandatory<text_codec>{});
  v.field("sailors", s.sailors, integer_codec<int>{1});
}
template <class Visitor>
void field_table(Visitor& v, ship& s) {
  v.field("name", s.name, text_codec{});
  v.field("sailors", s.sailors, per_rank<integer_codec<int>>{{1}});
  v.field("moves", s.moves, alternatives_codec<movement>{{movement_names, "movements"}});
  v.field("boats", s.boats, list_codec<object_codec<small_ship>>{});
  v.field("depth", s.depth, nullable_codec<real_codec>{});
  v.field("flags", s.flags, texts_codec);
  v.field("is_old", s.is_old, sparse<boolean_codec>{});
  v.field("key", s.key, integer_codec<std::uint64_t>{});
  v.field("planted", s.planted, integer_codec<int>{});
}

ship const all_set{.name = "a",
                   .sailors = 5,
                   .moves = constant_speed{0.5},
                   .boats = {{"b", 1}, {"c"}},
                   .depth = 3,
                   .flags = {"x", "y"},
                   .is_old = true,
                   .key = 18446744073709551615U,
                   .planted = 8};

std::string written(ship const& value) {
  io::json_writer out;
  object_codec<ship>().write(out, value);
  return out.text();
}
ship read(std::string const& text, ship start = {}) {
  io::json_document const parsed = io::parse_json(text, "ship.json");
  object_codec<ship>().read(parsed.root(), start);
  return start;
}
std::string refusal_of(std::string const& text, bool is_complete = false) {
  try {
    io::json_document const parsed = io::parse_json(text, "ship.json");
    if (is_complete)
      read_complete<ship>(parsed.root());
    else
      read(text);
  } catch (data_error const& refused) {
    return refused.what();
  }
  return {};
}
std::string listed(ship const& value, bool shared_only = false) {
  return text_of_fields(list_fields(value, shared_only));
}

TEST(field_table, lists_every_member_of_a_struct) {
  EXPECT_EQ(members_without_field<ship>(), 0);
  EXPECT_EQ(members_without_field<small_ship>(), 0);
  EXPECT_EQ(names_of_fields<small_ship>().mandatory, std::vector<std::string_view>{"name"});
}

TEST(field_table, writes_and_reads_a_new_field) {
  EXPECT_EQ(read(written(all_set)), all_set);
  EXPECT_EQ(read(written(ship())), ship());
  EXPECT_NE(written(ship()).find("\"planted\":7"), std::string::npos);
  EXPECT_EQ(read(R"({"planted": 9})").planted, 9);
}

TEST(field_table, keeps_the_values_of_omitted_fields) {
  ship changed = all_set;
  changed.moves = constant_speed{4};
  EXPECT_EQ(read(R"({"moves": {"constant_speed": {"speed": 4}}})", all_set), changed);
  EXPECT_EQ(read(R"({"moves": "constant_speed"})", all_set), all_set);
  EXPECT_EQ(read(R"({"moves": {"standing": null}})", all_set).moves, movement(standing{}));
}

TEST(field_table, omits_sparse_fields_with_their_default) {
  EXPECT_EQ(written(ship()).find("is_old"), std::string::npos);
  EXPECT_NE(written(all_set).find("\"is_old\":true"), std::string::npos);
}

TEST(field_table, reports_line_path_and_nearest_name_of_an_unknown_field) {
  EXPECT_EQ(
      refusal_of("{\n \"plantd\": 1}"),
      "cannot read JSON (ship.json:2:12, $.plantd): expected one of the fields name, sailors, moves, boats, "
      "depth, flags, is_old, key, planted; the nearest name is planted, got \"plantd\"");
  EXPECT_NE(refusal_of(R"({"planted": -1})").find("$.planted"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"boats": [{"sailors": 2}]})").find("$.boats[0]): expected a field \"name\""),
            std::string::npos);
  EXPECT_NE(refusal_of(R"({"moves": "standng"})").find("the nearest name is standing"), std::string::npos);
}

TEST(field_table, requires_all_fields_of_a_complete_object_except_sparse_ones) {
  EXPECT_EQ(refusal_of(written(ship()), true), "");
  EXPECT_EQ(refusal_of(written(all_set), true), "");
  EXPECT_NE(refusal_of(R"({"name": "a"})", true).find("a field \"sailors\""), std::string::npos);
  for (auto const& [field, without, missing] :
       {std::array{R"({"constant_speed":{"speed":0.5}})", R"("constant_speed")",
                   "$.moves): expected an object"},
        std::array{R"({"constant_speed":{"speed":0.5}})", R"({"constant_speed":{}})", "a field \"speed\""},
        std::array{R"({"constant_speed":{"speed":0.5}})", R"({"constant_speed":null})",
                   "constant_speed): expected"},
        std::array{R"("sailors":1)", R"("name":"d")", "name"}}) {
    std::string text = written(all_set);
    std::size_t const place = text.find(field);
    ASSERT_NE(place, std::string::npos) << text;
    text.replace(place, std::string(field).size(), without);
    EXPECT_NE(refusal_of(text, true).find(missing), std::string::npos) << text << '\n'
                                                                       << refusal_of(text, true);
  }
}

TEST(field_table, has_a_schema_with_every_field) {
  io::json_writer out;
  object_codec<ship>().schema(out);
  io::json_document const parsed = io::parse_json(out.text());
  EXPECT_EQ(parsed.root().at("properties").size(), static_cast<std::size_t>(fields_in_table<ship>()));
  EXPECT_EQ(parsed.root().at("properties").at("planted").at("type").string(), "integer");
  EXPECT_FALSE(parsed.root().find("required"));
  io::json_value const boat = parsed.root().at("properties").at("boats").at("items");
  EXPECT_EQ(boat.at("required").at(std::size_t{0}).string(), "name");
}

TEST(field_table, lists_paths_and_values) {
  EXPECT_EQ(listed(all_set),
            "name a; sailors 5; moves constant_speed; moves.speed 0.5; boats[0].name b; boats[0].sailors 1; "
            "boats[1].name c; boats[1].sailors 3; depth 3; flags x, y; is_old true; "
            "key 18446744073709551615; planted 8");
  EXPECT_EQ(listed(ship()),
            "name ; sailors 3; moves standing; boats none; depth none; flags none; key 0; planted 7");
  EXPECT_EQ(list_fields(all_set).back().number, 8);
  EXPECT_EQ(list_fields(all_set).front().number, std::nullopt);
}

TEST(field_table, sets_fields_by_flags) {
  ship changed = all_set;
  field_assignment("planted", "9", "--planted").apply(changed);
  EXPECT_EQ(changed.planted, 9);
  field_assignment("moves.constant_speed.speed", "4", "--speed").apply(changed);
  EXPECT_EQ(changed.moves, movement(constant_speed{4}));
  field_assignment("name", "a ship", "--name").apply(changed);
  EXPECT_EQ(changed.name, "a ship");
  ship const before = changed;
  try {
    field_assignment("planted", "-1", "--planted").apply(changed);
    FAIL() << "accepted";
  } catch (data_error const& refused) {
    EXPECT_EQ(refused.why().where, "--planted, $.planted");
    EXPECT_EQ(refused.why().expected, "an integer from 0 to 2147483647");
  }
  EXPECT_EQ(changed, before);
}

TEST(field_table, omits_fields_that_may_differ_between_ranks) {
  EXPECT_EQ(listed(ship(), true),
            "name ; moves standing; boats none; depth none; flags none; key 0; planted 7");
}

}  // namespace field_table_test
