// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/json_value.hpp>
#include <cohort/checkpoint/json_writer.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/optimizer/optimizer.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

namespace detail {

inline void write_numbers(json_writer& out, named_numbers const& numbers) {
  out.key("fields").begin_object();
  for (named_number const& one : numbers) out.field(one.name, one.value);
  out.end_object();
}

inline void write_schedule(json_writer& out, std::string_view key, rate_schedule const& schedule) {
  out.key(key).begin_object().field("name", schedule.name());
  write_numbers(out, schedule.fields());
  out.end_object();
}

inline void write_updater(json_writer& out, std::string_view key, updater const& rule) {
  out.key(key).begin_object().field("name", rule.name());
  write_schedule(out, "rate", rule.rate());
  if (rule.has_momentum() && !rule.momentum().is_fixed()) write_schedule(out, "momentum", rule.momentum());
  write_numbers(out, rule.fields());
  out.end_object();
}

inline std::vector<named_number> read_numbers(json_value fields) {
  if (fields.kind() != json_kind::object) fields.refuse("an object of numbers");
  std::vector<named_number> numbers;
  for (json_value const one : fields.items()) numbers.push_back({one.key(), one.number()});
  return numbers;
}

/// What `make` makes of a JSON value; what it refuses is refused with the value's path.
template <class Make>
auto made_from(json_value value, Make make) {
  try {
    auto made = make();
    made.check();
    return made;
  } catch (setting_error const& refused) {
    refusal const& why = refused.why();
    value.refuse(why.expected.empty() ? "fields that it has" : why.expected,
                 (why.where.empty() ? why.what : why.where) + ' ' + why.got);
  }
}

inline rate_schedule read_schedule(json_value value) {
  value.expect_only({"name", "fields"});
  return made_from(value, [&] {
    return rate_schedule::from(value.at("name").string(), read_numbers(value.at("fields")));
  });
}

inline updater read_updater(json_value value) {
  value.expect_only({"name", "rate", "momentum", "fields"});
  rate_schedule const rate = read_schedule(value.at("rate"));
  auto const momentum = value.find("momentum");
  return made_from(value, [&] {
    updater const rule = updater::from(value.at("name").string(), rate, read_numbers(value.at("fields")));
    return momentum ? rule.with_momentum(read_schedule(*momentum)) : rule;
  });
}

inline gradient_normalisation read_normalisation(json_value value) {
  value.expect_only({"name", "at"});
  auto const at = value.find("at");
  return made_from(
      value, [&] { return gradient_normalisation::from(value.at("name").string(), at ? at->number() : 0); });
}

}  // namespace detail

/// How a network's parameters are updated, as JSON in one line.
inline std::string to_json(optimizer_settings const& settings) {
  json_writer out;
  out.begin_object();
  detail::write_updater(out, "updater", settings.updater);
  if (settings.bias_updater) detail::write_updater(out, "bias_updater", *settings.bias_updater);
  out.field("l1", settings.l1).field("l2", settings.l2);
  out.field("bias_l1", settings.bias_l1).field("bias_l2", settings.bias_l2);
  if (gradient_normalisation const& how = settings.normalisation; how != gradient_normalisation()) {
    out.key("normalisation").begin_object().field("name", how.name());
    if (how.has_threshold()) out.field("at", how.at);
    out.end_object();
  }
  return out.end_object().text();
}

/// The inverse.
///
/// Errors    data_error with the path of what is unknown, missing, or makes no sense.
inline optimizer_settings optimizer_from_json(json_value value) {
  value.expect_only({"updater", "bias_updater", "l1", "l2", "bias_l1", "bias_l2", "normalisation"});
  optimizer_settings settings;
  settings.updater = detail::read_updater(value.at("updater"));
  if (auto const bias = value.find("bias_updater")) settings.bias_updater = detail::read_updater(*bias);
  settings.l1 = value.at("l1").number();
  settings.l2 = value.at("l2").number();
  settings.bias_l1 = value.at("bias_l1").number();
  settings.bias_l2 = value.at("bias_l2").number();
  if (auto const how = value.find("normalisation")) settings.normalisation = detail::read_normalisation(*how);
  return detail::made_from(value, [&] { return settings; });
}

}  // namespace cohort
