// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cohort/optimizer/detail/optimizer_fields.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace cohort::detail {

// ---- schedules ------------------------------------------------------------------------------------------

inline constexpr list_codec<object_codec<schedule::map::entry>> map_entries_codec{};

void map_codec::read(io::json_value from, entries& value) const {
  std::vector<schedule::map::entry> used;
  map_entries_codec.read(from, used);
  if (used.empty() || used.size() > schedule::map::capacity)
    from.refuse("a list of 1 to " + std::to_string(schedule::map::capacity) + " entries");
  used.resize(schedule::map::capacity);
  std::ranges::copy(used, value);
}
void map_codec::write(io::json_writer& out, entries const& value) const {
  auto const end = std::ranges::find(value, -1, &schedule::map::entry::from);
  map_entries_codec.write(out, std::vector<schedule::map::entry>(value, end));
}
void map_codec::schema(io::json_writer& out) const { map_entries_codec.schema(out); }

void numbers_reader::field(std::string_view, map_codec::entries& values, map_codec const&) {
  auto const& names = schedule_rows[static_cast<std::size_t>(schedule_rule::map)].fields;
  for (named_number const& number : numbers) {
    auto const k = static_cast<std::size_t>(std::ranges::find(names, number.name) - names.begin());
    if (k == names.size()) continue;
    if (k % 2 == 0)
      values[k / 2].from = static_cast<std::int64_t>(number.value);
    else
      values[k / 2].value = number.value;
  }
}

rate_schedule schedule_of(any_schedule const& alternative) {
  return std::visit(
      []<class Schedule>(with_warm_up<Schedule> const& s) -> rate_schedule {
        rate_schedule const rate = static_cast<Schedule const&>(s);
        if (s.warm_up == 0) return rate;
        return schedule::warm_up{s.warm_up, rate, s.warm_up_by.value_or(schedule::unit::epoch)};
      },
      alternative);
}

/// Returns the names of the rows of a table, in constant evaluation.
template <std::size_t n, class Row>
constexpr std::array<std::string_view, n> names_in(std::array<Row, n> const& rows) {
  std::array<std::string_view, n> names;
  for (std::size_t k = 0; k < n; ++k) names[k] = rows[k].name;
  return names;
}
inline constexpr auto schedule_names = names_in(schedule_rows);
inline constexpr auto rule_names = names_in(update_rows);

inline constexpr alternatives_codec<any_schedule> any_schedule_codec{
    {schedule_names, "schedules", io::json_lines::one}};
inline constexpr alternatives_codec<any_rule> any_rule_codec{{rule_names, "optimizers"}};

/// Returns `value` as an alternative of the variant.
any_schedule alternative_of(rate_schedule const& value) {
  auto const index = std::ranges::find(schedule_names, value.name()) - schedule_names.begin();
  return alternative_of<any_schedule>(static_cast<std::size_t>(index), value.fields());
}
any_rule alternative_of(optimizer_rule const& value) {
  any_rule chosen = alternative_of<any_rule>(static_cast<std::size_t>(value.rule()), value.fields());
  std::visit(
      [&](auto& rule) {
        if constexpr (requires { rule.learning_rate; }) rule.learning_rate = value.learning_rate();
        if constexpr (requires { rule.momentum; }) rule.momentum = value.momentum();
      },
      chosen);
  return chosen;
}

/// Key of an optimizer of the program in files.
inline constexpr std::string_view own_rule_key = "own";

void schedule_codec::read(io::json_value from, rate_schedule& value) const {
  any_schedule chosen;
  if (from.kind() == io::json_kind::number) {
    chosen = with_warm_up<schedule::fixed>{{from.number()}};
  } else {
    chosen = alternative_of(value);
    any_schedule_codec.read(from, chosen);
  }
  rate_schedule const rate = schedule_of(chosen);
  with_path(from, [&] { rate.check(); });
  value = rate;
}

void schedule_codec::write(io::json_writer& out, rate_schedule const& value) const {
  value.is_fixed() ? (void)out.value(value.value(0, 0))
                   : any_schedule_codec.write(out, alternative_of(value));
}

void schedule_codec::define(io::json_writer& out) {
  out.begin_object().key("anyOf").begin_array();
  real_codec{}.schema(out);
  any_schedule_codec.schema(out);
  out.end_array().end_object();
}

// ---- optimizers -----------------------------------------------------------------------------------------

/// Reads what write_own wrote. The result has a formula only if `value` is this optimizer.
void read_own(io::json_value from, optimizer_rule& value) {
  rate_schedule rate = 0;
  from.expect_only({"name", "learning_rate", "fields"});
  std::string_view const name = from.at("name").string();
  schedule_codec{}.read(from.at("learning_rate"), rate);
  std::vector<std::string_view> fields;
  std::array<double, 5> numbers{};
  io::json_value const given = from.at("fields");
  if (given.size() > numbers.size()) given.refuse("at most 5 numbers");
  for (io::json_value const& number : given.items()) {
    any_real.read(number, numbers[fields.size()]);
    fields.push_back(number.key());
  }
  own_update const* description = nullptr;
  with_path(from, [&] { description = &described_update(name, fields); });
  if (value.own() && value.name() == name && value.own()->row.fields == description->row.fields)
    description = value.own();
  value = optimizer_rule(*description, rate, numbers);
  with_path(from, [&] { value.check(); });
}

void write_own(io::json_writer& out, optimizer_rule const& value) {
  out.begin_object().key(own_rule_key).begin_object().field("name", value.name());
  schedule_codec{}.write(out.key("learning_rate"), value.learning_rate());
  out.key("fields").begin_object(io::json_lines::one);
  for (named_number const& field : value.fields()) out.field(field.name, field.value);
  out.end_object().end_object().end_object();
}

void rule_codec::read(io::json_value from, optimizer_rule& value) const {
  if (from.kind() == io::json_kind::object && from.find(own_rule_key)) {
    from.expect_only({own_rule_key});
    return read_own(from.at(own_rule_key), value);
  }
  any_rule chosen = value.own() ? any_rule() : alternative_of(value);
  any_rule_codec.read(from, chosen);
  optimizer_rule const rule =
      std::visit([](auto const& settings) { return optimizer_rule(settings); }, chosen);
  with_path(from, [&] { rule.check(); });
  value = rule;
}

void rule_codec::write(io::json_writer& out, optimizer_rule const& value) const {
  value.own() ? write_own(out, value) : any_rule_codec.write(out, alternative_of(value));
}

void rule_codec::define(io::json_writer& out) { any_rule_codec.schema(out); }

// ---- limits ---------------------------------------------------------------------------------------------

/// names_of: the names of all kinds, in the order of the enumerators. default_of: a kind with its defaults.
inline std::vector<std::string_view> names_of(gradient_normalisation const&) {
  return names_of_rows(gradient_normalisation::rows);
}
inline std::vector<std::string_view> names_of(parameter_constraint const&) {
  return {parameter_constraint::names.begin(), parameter_constraint::names.end()};
}
inline gradient_normalisation default_of(gradient_normalisation const&, std::string_view name) {
  return gradient_normalisation::from(name, normalise::clip_global_norm{}.at);
}
inline parameter_constraint default_of(parameter_constraint const&, std::string_view name) {
  return parameter_constraint::from(name, constraint::max_norm{}.at);
}
inline bool has_limit(gradient_normalisation const& value) { return value.has_threshold(); }
inline bool has_limit(parameter_constraint const& value) { return value.has_parameter(); }
inline std::string_view kinds_of(gradient_normalisation const&) { return "gradient normalisations"; }
inline std::string_view kinds_of(parameter_constraint const&) { return "constraints"; }
inline constexpr real_codec limit_codec{.least = std::nullopt};

template <class T>
void named_limit_codec<T>::read(io::json_value from, T& value) const {
  chosen_name const chosen = read_chosen_name(from, kinds_of(value));
  index_of_name(from, kinds_of(value), chosen.name, names_of(value));
  T read = value.name() == chosen.name ? value : default_of(value, chosen.name);
  if (chosen.fields) {
    fields_reader reader(*chosen.fields);
    if (has_limit(read)) reader.field("at", read.at, limit_codec);
    reader.finish();
  }
  with_path(from, [&] { read.check(); });
  value = read;
}

template <class T>
void named_limit_codec<T>::write(io::json_writer& out, T const& value) const {
  if (!has_limit(value)) {
    out.value(value.name());
    return;
  }
  out.begin_object(io::json_lines::one).key(value.name()).begin_object();
  out.field("at", value.at).end_object().end_object();
}

template <class T>
void named_limit_codec<T>::schema(io::json_writer& out) const {
  std::vector<std::string_view> const names = names_of(T{});
  write_choice_schema(out, names, [&] {
    for (std::string_view const name : names) {
      out.key(name);
      write_object_schema(out, [&] {
        if (has_limit(default_of(T{}, name))) limit_codec.schema(out.key("at"));
      });
    }
  });
}

template struct named_limit_codec<gradient_normalisation>;
template struct named_limit_codec<parameter_constraint>;

}  // namespace cohort::detail
