// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cohort/optimizer/detail/optimizer_fields.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace cohort::detail {

inline constexpr std::array<std::string_view, 2> unit_names{"step", "epoch"};

/// Returns whether a field of a schedule is a unit: a name in documents, a number in the library's tables.
inline bool is_unit(std::string_view field) { return field == "by" || field == "warm_up_by"; }

/// Names of the fields of a schedule in documents. A map has a list of entries instead of numbered fields.
std::vector<std::string_view> schedule_field_names(schedule_row const& row) {
  std::vector<std::string_view> names;
  if (row.name == "map")
    names.push_back("values");
  else
    for (std::string_view const one : row.fields)
      if (!one.empty()) names.push_back(one);
  if (row.name != "fixed") names.push_back("by");
  names.push_back("warm_up");
  names.push_back("warm_up_by");
  return names;
}

/// One entry of a map: the key from which a value applies.
struct map_entry {
  std::int64_t from = 0;
  double value = 0;
};
template <class Visitor>
void field_table(Visitor& v, map_entry& s) {
  v.field("from", s.from, integer_codec<std::int64_t>{});
  v.field("value", s.value, real_codec{});
}
inline constexpr list_codec<object_codec<map_entry>> map_entries_codec{};

/// Replaces the numbered fields of a map with the entries of a list.
void read_map(io::json_value from, std::vector<named_number>& numbers) {
  std::vector<map_entry> entries;
  map_entries_codec.read(from, entries);
  if (entries.empty() || entries.size() > schedule::map::capacity)
    from.refuse("a list of 1 to " + std::to_string(schedule::map::capacity) + " entries");
  auto const& names = schedule_rows[static_cast<std::size_t>(schedule_rule::map)].fields;
  std::erase_if(numbers, [](named_number const& one) { return !is_unit(one.name) && one.name != "warm_up"; });
  for (std::size_t k = 0; k < entries.size(); ++k) {
    numbers.push_back({names[2 * k], real(entries[k].from)});
    numbers.push_back({names[2 * k + 1], entries[k].value});
  }
}

void schedule_codec::read(io::json_value from, rate_schedule& value) const {
  if (from.kind() == io::json_kind::number) {
    rate_schedule const fixed = from.number();
    with_path(from, [&] { fixed.check(); });
    value = fixed;
    return;
  }
  chosen_name const chosen = read_chosen_name(from, "schedules");
  std::size_t const index = index_of_name(from, "schedules", chosen.name, names_of_rows(schedule_rows));
  schedule_row const& row = schedule_rows[index];
  named_numbers const present = (value.name() == row.name ? value : default_schedules[index]).fields();
  std::vector<named_number> numbers(present.begin(), present.end());
  if (chosen.fields) {
    expect_fields(*chosen.fields, schedule_field_names(row));
    for (io::json_value const field : chosen.fields->items()) {
      std::string_view const name = field.key();
      int unit = 0;
      if (name == "values") {
        read_map(field, numbers);
      } else if (is_unit(name)) {
        enum_codec{unit_names, "units"}.read(field, unit);
        numbers.push_back({name, real(unit)});
      } else {
        numbers.push_back({name, name == "restarts" ? real(int{field.boolean()}) : field.number()});
      }
    }
  }
  with_path(from, [&] {
    rate_schedule const schedule = rate_schedule::from(row.name, numbers);
    schedule.check();
    value = schedule;
  });
}

void schedule_codec::write(io::json_writer& out, rate_schedule const& value) const {
  if (value.is_fixed()) {
    out.value(value.fields().items[0].value);
    return;
  }
  out.begin_object(io::json_lines::one).key(value.name()).begin_object(io::json_lines::one);
  std::vector<map_entry> entries;
  for (named_number const& one : value.fields()) {
    if (one.name.starts_with("from_"))
      entries.push_back({static_cast<std::int64_t>(one.value)});
    else if (one.name.starts_with("value_"))
      entries.back().value = one.value;
    else if (is_unit(one.name))
      out.field(one.name, unit_names[static_cast<std::size_t>(one.value)]);
    else if (one.name == "restarts")
      out.field(one.name, one.value != 0);
    else
      out.field(one.name, one.value);
  }
  if (!entries.empty()) map_entries_codec.write(out.key("values"), entries);
  out.end_object().end_object();
}

void schedule_codec::define(io::json_writer& out) {
  out.begin_object().key("anyOf").begin_array();
  real_codec{}.schema(out);
  write_choice_schema(out, names_of_rows(schedule_rows), [&] {
    for (schedule_row const& row : schedule_rows) {
      out.key(row.name);
      write_object_schema(out, [&] {
        for (std::string_view const name : schedule_field_names(row)) {
          out.key(name);
          if (name == "values")
            map_entries_codec.schema(out);
          else if (is_unit(name))
            write_enum(out, unit_names);
          else
            write_type(out, name == "restarts" ? "boolean" : "number");
        }
      });
    }
  });
  out.end_array().end_object();
}

/// Names of the fields of an optimizer in documents.
std::vector<std::string_view> rule_field_names(update_row const& row) {
  std::vector<std::string_view> names;
  if (row.name != "no_op") names.push_back("learning_rate");
  if (row.momentum) names.push_back("momentum");
  for (std::string_view const one : row.fields)
    if (!one.empty()) names.push_back(one);
  return names;
}

void rule_codec::read(io::json_value from, optimizer_rule& value) const {
  chosen_name const chosen = read_chosen_name(from, "optimizers");
  std::size_t const index = index_of_name(from, "optimizers", chosen.name, names_of_rows(update_rows));
  update_row const& row = update_rows[index];
  optimizer_rule const present = value.name() == row.name ? value : default_rules[index];
  rate_schedule rate = present.learning_rate();
  rate_schedule momentum = row.momentum ? present.momentum() : rate_schedule(0);
  std::vector<named_number> numbers;
  for (named_number const& one : present.fields())
    if (one.name != "momentum") numbers.push_back(one);
  if (chosen.fields) {
    expect_fields(*chosen.fields, rule_field_names(row));
    for (io::json_value const field : chosen.fields->items()) {
      if (field.key() == "learning_rate")
        schedule_codec().read(field, rate);
      else if (field.key() == "momentum")
        schedule_codec().read(field, momentum);
      else
        numbers.push_back({field.key(), field.number()});
    }
  }
  with_path(from, [&] {
    optimizer_rule rule = optimizer_rule::from(row.name, rate, numbers);
    if (row.momentum) rule = rule.with_momentum(momentum);
    rule.check();
    value = rule;
  });
}

void rule_codec::write(io::json_writer& out, optimizer_rule const& value) const {
  if (value.name() == "no_op") {
    out.value(value.name());
    return;
  }
  out.begin_object().key(value.name()).begin_object();
  schedule_codec().write(out.key("learning_rate"), value.learning_rate());
  if (value.has_momentum()) schedule_codec().write(out.key("momentum"), value.momentum());
  for (named_number const& one : value.fields())
    if (one.name != "momentum") out.field(one.name, one.value);
  out.end_object().end_object();
}

void rule_codec::define(io::json_writer& out) {
  write_choice_schema(out, names_of_rows(update_rows), [&] {
    for (update_row const& row : update_rows) {
      out.key(row.name);
      write_object_schema(out, [&] {
        for (std::string_view const name : rule_field_names(row)) {
          out.key(name);
          if (name == "learning_rate" || name == "momentum")
            schedule_codec().schema(out);
          else
            real_codec{}.schema(out);
        }
      });
    }
  });
}

/// The name of each kind, in their order, and a value of each kind with its default.
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
