// SPDX-License-Identifier: Apache-2.0
#include <cohort/layer/detail/initialiser_fields.hpp>

namespace cohort::detail {

/// Name of an initialiser's parameter, as in namespace init; empty if it has none.
std::string_view parameter_name(initialiser const& value) {
  if (value.which == initialiser::kind::constant) return "value";
  if (value.which == initialiser::kind::normal) return "deviation";
  return value.which == initialiser::kind::uniform ? "bound" : "";
}

initialiser default_initialiser(std::size_t index) {
  initialiser value;
  value.which = static_cast<initialiser::kind>(index);
  if (value.which == initialiser::kind::normal) value.parameter = init::normal{}.deviation;
  if (value.which == initialiser::kind::uniform) value.parameter = init::uniform{}.bound;
  return value;
}

void initialiser_codec::read(io::json_value from, initialiser& value) const {
  chosen_name const chosen = read_chosen_name(from, "initialisers");
  std::size_t const index = index_of_name(from, "initialisers", chosen.name, initialiser::names);
  initialiser read = value.name() == chosen.name ? value : default_initialiser(index);
  if (chosen.fields) {
    fields_reader reader(*chosen.fields);
    if (read.has_parameter()) reader.field(parameter_name(read), read.parameter, any_real);
    reader.finish();
  }
  with_path(from, [&] { read.check(); });
  value = read;
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
      initialiser const value = default_initialiser(k);
      out.key(value.name());
      write_object_schema(out, [&] {
        if (value.has_parameter()) write_type(out.key(parameter_name(value)), "number");
      });
    }
  });
}

}  // namespace cohort::detail
