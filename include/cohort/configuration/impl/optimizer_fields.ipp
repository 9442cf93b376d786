// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cohort/configuration/detail/optimizer_fields.hpp>
#include <cstdint>
#include <string>

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

std::vector<std::string_view> names_of_schedules() {
  std::vector<std::string_view> names;
  for (schedule_row const& row : schedule_rows) names.push_back(row.name);
  return names;
}

/// One entry of a map: the key from which a value applies.
struct map_entry {
  std::int64_t from = 0;
  double value = 0;
};
template <class Visitor>
void document_fields(Visitor& v, map_entry& s) {
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
  std::size_t const index = chosen.index(from, "schedules", names_of_schedules());
  schedule_row const& row = schedule_rows[index];
  named_numbers const present = (value.name() == row.name ? value : default_schedules[index]).fields();
  std::vector<named_number> numbers(present.begin(), present.end());
  if (chosen.fields) {
    if (chosen.fields->kind() != io::json_kind::object) chosen.fields->refuse("an object");
    auto const known = schedule_field_names(row);
    for (io::json_value const one : chosen.fields->items()) {
      std::string_view const name = one.key();
      if (std::find(known.begin(), known.end(), name) == known.end()) refuse_name(one, "fields", name, known);
      int unit = 0;
      if (name == "values") {
        read_map(one, numbers);
      } else if (is_unit(name)) {
        enum_codec{unit_names, "units"}.read(one, unit);
        numbers.push_back({name, real(unit)});
      } else {
        numbers.push_back({name, name == "restarts" ? real(int{one.boolean()}) : one.number()});
      }
    }
  }
  with_path(from, [&] {
    rate_schedule const made = rate_schedule::from(row.name, numbers);
    made.check();
    value = made;
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
  write_choice_schema(out, names_of_schedules(), [&] {
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

std::vector<std::string_view> names_of_rules() {
  std::vector<std::string_view> names;
  for (update_row const& row : update_rows) names.push_back(row.name);
  return names;
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
  std::size_t const index = chosen.index(from, "optimizers", names_of_rules());
  update_row const& row = update_rows[index];
  optimizer_rule const present = value.name() == row.name ? value : default_rules[index];
  rate_schedule rate = present.learning_rate();
  rate_schedule momentum = row.momentum ? present.momentum() : rate_schedule(0);
  std::vector<named_number> numbers;
  for (named_number const& one : present.fields())
    if (one.name != "momentum") numbers.push_back(one);
  if (chosen.fields) {
    if (chosen.fields->kind() != io::json_kind::object) chosen.fields->refuse("an object");
    auto const known = rule_field_names(row);
    for (io::json_value const one : chosen.fields->items()) {
      std::string_view const name = one.key();
      if (std::find(known.begin(), known.end(), name) == known.end()) refuse_name(one, "fields", name, known);
      if (name == "learning_rate")
        schedule_codec().read(one, rate);
      else if (name == "momentum")
        schedule_codec().read(one, momentum);
      else
        numbers.push_back({name, one.number()});
    }
  }
  with_path(from, [&] {
    optimizer_rule made = optimizer_rule::from(row.name, rate, numbers);
    if (row.momentum) made = made.with_momentum(momentum);
    made.check();
    value = made;
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
  write_choice_schema(out, names_of_rules(), [&] {
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

/// Name of an initialiser's parameter, as in namespace init; empty if it has none.
std::string_view parameter_name(initialiser const& how) {
  if (how.which == initialiser::kind::constant) return "value";
  if (how.which == initialiser::kind::normal) return "deviation";
  return how.which == initialiser::kind::uniform ? "bound" : "";
}

initialiser default_initialiser(std::size_t index) {
  initialiser how;
  how.which = static_cast<initialiser::kind>(index);
  if (how.which == initialiser::kind::normal) how.parameter = init::normal{}.deviation;
  if (how.which == initialiser::kind::uniform) how.parameter = init::uniform{}.bound;
  return how;
}

void initialiser_codec::read(io::json_value from, initialiser& value) const {
  chosen_name const chosen = read_chosen_name(from, "initialisers");
  std::size_t const index = chosen.index(from, "initialisers", initialiser::names);
  initialiser made = value.name() == chosen.name ? value : default_initialiser(index);
  if (chosen.fields) {
    fields_reader reader(*chosen.fields);
    if (made.has_parameter()) reader.field(parameter_name(made), made.parameter, any_real);
    reader.finish();
  }
  with_path(from, [&] { made.check(); });
  value = made;
}

void initialiser_codec::write(io::json_writer& out, initialiser const& value) const {
  if (!value.has_parameter()) {
    out.value(value.name());
    return;
  }
  out.begin_object(io::json_lines::one).key(value.name()).begin_object();
  out.field(parameter_name(value), value.parameter).end_object().end_object();
}

void initialiser_codec::define(io::json_writer& out) {
  write_choice_schema(out, initialiser::names, [&] {
    for (std::size_t k = 0; k < initialiser::names.size(); ++k) {
      initialiser const how = default_initialiser(k);
      out.key(how.name());
      write_object_schema(out, [&] {
        if (how.has_parameter()) write_type(out.key(parameter_name(how)), "number");
      });
    }
  });
}

inline std::vector<gradient_normalisation> all_of(gradient_normalisation const&) {
  return {normalise::none{},
          normalise::renormalize_l2_per_layer{},
          normalise::renormalize_l2_per_parameter{},
          normalise::clip_elementwise{},
          normalise::clip_l2_per_layer{},
          normalise::clip_l2_per_parameter{},
          normalise::clip_global_norm{}};
}
inline std::vector<parameter_constraint> all_of(parameter_constraint const&) {
  return {{}, constraint::max_norm{}, constraint::unit_norm{}, constraint::non_negative{}};
}
inline bool has_limit(gradient_normalisation const& how) { return how.has_threshold(); }
inline bool has_limit(parameter_constraint const& how) { return how.has_parameter(); }

/// The names of all values of a type, in the order of all_of.
template <class T>
std::vector<std::string_view> names_of_all() {
  std::vector<std::string_view> names;
  for (T const& one : all_of(T{})) names.push_back(one.name());
  return names;
}

template <class T>
void named_limit_codec<T>::read(io::json_value from, T& value) const {
  chosen_name const chosen = read_chosen_name(from, what);
  T made = all_of(T{})[chosen.index(from, what, names_of_all<T>())];
  if (value.name() == made.name()) made = value;
  if (chosen.fields) {
    fields_reader reader(*chosen.fields);
    if (has_limit(made)) reader.field("at", made.at, real_codec{.least = std::nullopt});
    reader.finish();
  }
  with_path(from, [&] { made.check(); });
  value = made;
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
  write_choice_schema(out, names_of_all<T>(), [&] {
    for (T const& one : all_of(T{})) {
      out.key(one.name());
      write_object_schema(out, [&] {
        if (has_limit(one)) real_codec{.least = std::nullopt}.schema(out.key("at"));
      });
    }
  });
}

}  // namespace cohort::detail
