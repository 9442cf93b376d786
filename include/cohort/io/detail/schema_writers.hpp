// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/json_writer.hpp>
#include <span>
#include <string>
#include <string_view>

/// Parts of a JSON Schema.
namespace cohort::detail {

inline void write_type(io::json_writer& out, std::string_view type) {
  out.begin_object(io::json_lines::one).field("type", type).end_object();
}
inline void write_enum(io::json_writer& out, std::span<std::string_view const> names) {
  out.begin_object(io::json_lines::one).key("enum").begin_array(io::json_lines::one);
  for (std::string_view const name : names) out.value(name);
  out.end_array().end_object();
}
inline void write_reference(io::json_writer& out, std::string_view definition) {
  out.begin_object(io::json_lines::one).field("$ref", "#/$defs/" + std::string(definition)).end_object();
}

/// Writes the schema of an object that may have only the fields that `properties` writes, and must have the
/// `required` ones.
template <class Properties>
void write_object_schema(io::json_writer& out, Properties properties,
                         std::span<std::string_view const> required = {}) {
  out.begin_object().field("type", "object").field("additionalProperties", false);
  if (!required.empty()) {
    out.key("required").begin_array(io::json_lines::one);
    for (std::string_view const name : required) out.value(name);
    out.end_array();
  }
  out.key("properties").begin_object();
  properties();
  out.end_object().end_object();
}

/// Writes the schema of a choice: one of `names`, or an object with exactly one field. This field is written
/// by `properties`, or is one of `names` with the value null.
template <class Properties>
void write_choice_schema(io::json_writer& out, std::span<std::string_view const> names,
                         Properties properties) {
  auto const object = [&](auto write_fields) {
    out.begin_object().field("type", "object").field("additionalProperties", false);
    out.field("minProperties", 1).field("maxProperties", 1).key("properties").begin_object();
    write_fields();
    out.end_object().end_object();
  };
  out.begin_object().key("anyOf").begin_array();
  write_enum(out, names);
  object(properties);
  object([&] {
    for (std::string_view const name : names) write_type(out.key(name), "null");
  });
  out.end_array().end_object();
}

}  // namespace cohort::detail
