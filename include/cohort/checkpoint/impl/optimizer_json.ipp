// SPDX-License-Identifier: Apache-2.0
#include <cohort/checkpoint/optimizer_json.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/json_writer.hpp>
#include <limits>
#include <string_view>
#include <vector>

namespace cohort::detail {

void write_numbers(io::json_writer& out, named_numbers const& numbers) {
  out.key("fields").begin_object();
  for (named_number const& one : numbers) out.field(one.name, one.value);
  out.end_object();
}

void write_schedule(io::json_writer& out, std::string_view key, rate_schedule const& schedule) {
  out.key(key).begin_object().field("name", schedule.name());
  write_numbers(out, schedule.fields());
  out.end_object();
}

void write_rule(io::json_writer& out, std::string_view key, optimizer_rule const& rule) {
  out.key(key).begin_object().field("name", rule.name());
  write_schedule(out, "learning_rate", rule.learning_rate());
  if (rule.has_momentum() && !rule.momentum().is_fixed()) write_schedule(out, "momentum", rule.momentum());
  write_numbers(out, rule.fields());
  out.end_object();
}

std::vector<named_number> read_numbers(io::json_value fields) {
  if (fields.kind() != io::json_kind::object) fields.refuse("an object of numbers");
  std::vector<named_number> numbers;
  for (io::json_value const one : fields.items()) numbers.push_back({one.key(), one.number()});
  return numbers;
}

/// Returns the checked result of `make`. A setting_error becomes a data_error with the value's path.
template <class Make>
auto checked_result(io::json_value value, Make make) {
  try {
    auto made = make();
    made.check();
    return made;
  } catch (setting_error const& refused) {
    refusal const& why = refused.why();
    value.refuse(why.expected.empty() ? "known fields" : why.expected,
                 (why.where.empty() ? why.what : why.where) + ' ' + why.got);
  }
}

rate_schedule read_schedule(io::json_value value) {
  value.expect_only({"name", "fields"});
  return checked_result(value, [&] {
    return rate_schedule::from(value.at("name").string(), read_numbers(value.at("fields")));
  });
}

optimizer_rule read_rule(io::json_value value) {
  value.expect_only({"name", "learning_rate", "momentum", "fields"});
  rate_schedule const rate = read_schedule(value.at("learning_rate"));
  auto const momentum = value.find("momentum");
  return checked_result(value, [&] {
    optimizer_rule const rule =
        optimizer_rule::from(value.at("name").string(), rate, read_numbers(value.at("fields")));
    return momentum ? rule.with_momentum(read_schedule(*momentum)) : rule;
  });
}

gradient_normalisation read_normalisation(io::json_value value) {
  value.expect_only({"name", "at"});
  auto const at = value.find("at");
  return checked_result(
      value, [&] { return gradient_normalisation::from(value.at("name").string(), at ? at->number() : 0); });
}

/// Writes a constraint, including an empty one, because a layer's row may remove the network's constraint.
void write_constraint(io::json_writer& out, std::string_view key, parameter_constraint const& how) {
  out.key(key).begin_object().field("name", how.name());
  if (how.has_parameter()) out.field("at", how.at);
  out.end_object();
}

parameter_constraint read_constraint(io::json_value value) {
  value.expect_only({"name", "at"});
  auto const at = value.find("at");
  return checked_result(
      value, [&] { return parameter_constraint::from(value.at("name").string(), at ? at->number() : 0); });
}

void write_row(io::json_writer& out, layer_override const& row) {
  out.begin_object().field("layer", row.layer);
  if (row.rule) write_rule(out, "rule", *row.rule);
  if (row.bias_rule) write_rule(out, "bias_rule", *row.bias_rule);
  if (row.l1) out.field("l1", *row.l1);
  if (row.l2) out.field("l2", *row.l2);
  if (row.bias_l1) out.field("bias_l1", *row.bias_l1);
  if (row.bias_l2) out.field("bias_l2", *row.bias_l2);
  if (row.constraint) write_constraint(out, "constraint", *row.constraint);
  if (row.bias_constraint) write_constraint(out, "bias_constraint", *row.bias_constraint);
  if (row.frozen) out.field("frozen", *row.frozen);
  if (row.decays) out.field("decays", *row.decays);
  out.end_object();
}

layer_override read_row(io::json_value value) {
  value.expect_only({"layer", "rule", "bias_rule", "l1", "l2", "bias_l1", "bias_l2", "constraint",
                     "bias_constraint", "frozen", "decays"});
  layer_override row{.layer = std::string(value.at("layer").string())};
  if (auto const given = value.find("rule")) row.rule = read_rule(*given);
  if (auto const given = value.find("bias_rule")) row.bias_rule = read_rule(*given);
  if (auto const given = value.find("l1")) row.l1 = given->number();
  if (auto const given = value.find("l2")) row.l2 = given->number();
  if (auto const given = value.find("bias_l1")) row.bias_l1 = given->number();
  if (auto const given = value.find("bias_l2")) row.bias_l2 = given->number();
  if (auto const given = value.find("constraint")) row.constraint = read_constraint(*given);
  if (auto const given = value.find("bias_constraint")) row.bias_constraint = read_constraint(*given);
  if (auto const given = value.find("frozen")) row.frozen = given->boolean();
  if (auto const given = value.find("decays")) row.decays = given->boolean();
  return row;
}

}  // namespace cohort::detail

namespace cohort {

std::string to_json(optimizer_settings const& settings) {
  io::json_writer out;
  out.begin_object();
  detail::write_rule(out, "rule", settings.rule);
  if (settings.bias_rule) detail::write_rule(out, "bias_rule", *settings.bias_rule);
  out.field("l1", settings.l1).field("l2", settings.l2);
  out.field("bias_l1", settings.bias_l1).field("bias_l2", settings.bias_l2);
  if (gradient_normalisation const& how = settings.normalisation; how != gradient_normalisation()) {
    out.key("normalisation").begin_object().field("name", how.name());
    if (how.has_threshold()) out.field("at", how.at);
    out.end_object();
  }
  if (settings.constraint != parameter_constraint())
    detail::write_constraint(out, "constraint", settings.constraint);
  if (settings.bias_constraint != parameter_constraint())
    detail::write_constraint(out, "bias_constraint", settings.bias_constraint);
  if (settings.decay_from_rank != 0) out.field("decay_from_rank", settings.decay_from_rank);
  if (!settings.layers.empty()) {
    out.key("layers").begin_array();
    for (layer_override const& row : settings.layers) detail::write_row(out, row);
    out.end_array();
  }
  return out.end_object().text();
}

optimizer_settings optimizer_from_json(io::json_value value) {
  value.expect_only({"rule", "bias_rule", "l1", "l2", "bias_l1", "bias_l2", "normalisation", "constraint",
                     "bias_constraint", "decay_from_rank", "layers"});
  optimizer_settings settings;
  settings.rule = detail::read_rule(value.at("rule"));
  if (auto const bias = value.find("bias_rule")) settings.bias_rule = detail::read_rule(*bias);
  settings.l1 = value.at("l1").number();
  settings.l2 = value.at("l2").number();
  settings.bias_l1 = value.at("bias_l1").number();
  settings.bias_l2 = value.at("bias_l2").number();
  if (auto const how = value.find("normalisation")) settings.normalisation = detail::read_normalisation(*how);
  if (auto const how = value.find("constraint")) settings.constraint = detail::read_constraint(*how);
  if (auto const how = value.find("bias_constraint"))
    settings.bias_constraint = detail::read_constraint(*how);
  if (auto const rank = value.find("decay_from_rank"))
    settings.decay_from_rank = static_cast<int>(rank->integer(0, optimizer_settings::largest_decay_rank));
  if (auto const rows = value.find("layers")) {
    if (rows->kind() != io::json_kind::array) rows->refuse("an array");
    for (io::json_value const row : rows->items()) settings.layers.push_back(detail::read_row(row));
  }
  return detail::checked_result(value, [&] { return settings; });
}

std::string to_json(plateau const& seen) {
  io::json_writer out;
  out.begin_object().field("best", seen.best).field("not_better", seen.not_better);
  return out.field("cooling", seen.cooling).field("factor", seen.factor).end_object().text();
}

plateau plateau_from_json(io::json_value value) {
  value.expect_only({"best", "not_better", "cooling", "factor"});
  auto const count = [&](char const* key) {
    return static_cast<int>(value.at(key).integer(0, std::numeric_limits<int>::max()));
  };
  plateau const seen{value.at("best").number(), count("not_better"), count("cooling"),
                     value.at("factor").number()};
  if (!(seen.factor >= 0 && seen.factor <= 1)) value.at("factor").refuse("at least 0 and at most 1");
  return seen;
}

}  // namespace cohort
