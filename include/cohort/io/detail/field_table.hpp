// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/schema_writers.hpp>
#include <cohort/io/json_value.hpp>
#include <cohort/io/json_writer.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// One table of fields per struct. The table defines the struct's JSON (documents, checkpoints, model files)
/// and JSON Schema, the settings that ranks compare, and the hyperparameters of monitors.
///
/// A table is a function `field_table(visitor, value)` beside the struct. It calls
/// `visitor.field(name, member, codec)` for each field. A codec has three functions: read(json_value, T&),
/// write(json_writer&, T const&) and schema(json_writer&). `read` does not change members that the JSON value
/// omits.
namespace cohort::detail {

// ---- marks of a field: field("name", s.name, mandatory<text_codec>{}) ------------------------------------

/// A field that JSON objects must contain.
template <class Codec>
struct mandatory : Codec {
  static constexpr bool is_mandatory = true;
};
/// A field that is not written if its value is T{}.
template <class Codec>
struct sparse : Codec {
  static constexpr bool is_sparse = true;
};
/// A field that may differ between ranks.
template <class Codec>
struct per_rank : Codec {
  static constexpr bool is_per_rank = true;
};
/// A text for other programs, such as the field $schema. It is read and ignored.
struct ignored_codec {
  static constexpr bool is_ignored = true;
  static void read(io::json_value from, std::string&) { from.string(); }
  static void schema(io::json_writer& out) { write_type(out, "string"); }
};

// ---- reading --------------------------------------------------------------------------------------------

/// Throws data_error: the name `got` is not among `known`, which may be empty.
[[noreturn]] void refuse_name(io::json_value at, std::string_view what, std::string_view got,
                              std::span<std::string_view const> known);

/// Returns the index of a name in `known`.  Errors: data_error for another name.
std::size_t index_of_name(io::json_value at, std::string_view what, std::string_view name,
                          std::span<std::string_view const> known);

/// Throws data_error with the value's line and path, for a setting_error.
[[noreturn]] void refuse_setting(io::json_value value, setting_error const& refused);

/// Calls `work`. A setting_error becomes a data_error with the value's line and path.
template <class Work>
void with_path(io::json_value value, Work work) {
  try {
    work();
  } catch (setting_error const& refused) {
    refuse_setting(value, refused);
  }
}

/// A name, or an object whose only field has that name: adam, {adam: {learning_rate: 0.1}}, or {adam: null}.
struct chosen_name {
  std::string_view name;
  std::optional<io::json_value> fields;  // none: only the name is given
};
chosen_name read_chosen_name(io::json_value value, std::string_view what);

/// Reads the fields of an object into a struct. `is_complete`: the object must have all fields.
class fields_reader {
 public:
  explicit fields_reader(io::json_value object, bool is_complete = false);

  template <class T, class Codec>
  void field(std::string_view name, T& value, Codec const& codec) {
    known_.push_back(name);
    bool const may_omit = requires { Codec::is_ignored; }
    || requires { Codec::is_sparse; };
    if (auto const given = object_.find(name))
      codec.read(*given, value);
    else if (missing_ < 0 && (requires { Codec::is_mandatory; } || (is_complete_ && !may_omit)))
      missing_ = static_cast<int>(known_.size()) - 1;
  }

  /// Throws data_error if the object has a field that is not in the table, or lacks a mandatory field.
  void finish() const;

 private:
  io::json_value object_;
  bool is_complete_;
  int missing_ = -1;  // index in known_ of the first mandatory field that the object lacks
  std::vector<std::string_view> known_;
};

// ---- writing --------------------------------------------------------------------------------------------

/// Writes all fields of a struct. `shared_only`: omits fields of this struct that may differ between ranks;
/// nested structs have no such fields.
struct fields_writer {
  io::json_writer& out;
  bool shared_only = false;

  template <class T, class Codec>
  void field(std::string_view name, T const& value, Codec const& codec) {
    if constexpr (!requires { Codec::is_ignored; }) {
      if constexpr (requires { Codec::is_sparse; })
        if (value == T{}) return;
      if (shared_only && requires { Codec::is_per_rank; }) return;
      codec.write(out.key(name), value);
    }
  }
};

/// Writes the schemas of all fields of a struct.
struct fields_schema {
  io::json_writer& out;

  template <class T, class Codec>
  void field(std::string_view name, T& value, Codec const& codec) {
    out.key(name);
    if constexpr (requires { codec.schema(out); })
      codec.schema(out);
    else
      codec.schema(out, value);
  }
};

/// Lists the names of the fields of a struct.
struct field_names {
  std::vector<std::string_view> all, mandatory;

  template <class T, class Codec>
  void field(std::string_view name, T const&, Codec const&) {
    all.push_back(name);
    if (requires { Codec::is_mandatory; }) mandatory.push_back(name);
  }
};

/// Returns the names of the fields of T.
template <class T>
field_names names_of_fields(T example = T{}) {
  field_names names;
  field_table(names, example);
  return names;
}

// ---- structs with a table -------------------------------------------------------------------------------

/// A struct with a table of fields.
template <class T>
struct object_codec {
  io::json_lines lines = io::json_lines::many;

  void read(io::json_value from, T& value) const {
    fields_reader reader(from);
    field_table(reader, value);
    reader.finish();
  }
  void write(io::json_writer& out, T const& value) const { write(fields_writer{out}, value); }
  void write(fields_writer writer, T value) const {
    writer.out.begin_object(lines);
    field_table(writer, value);
    writer.out.end_object();
  }
  void schema(io::json_writer& out) const {
    fields_schema writer{out};
    T example{};
    write_object_schema(
        out, [&] { field_table(writer, example); }, names_of_fields<T>().mandatory);
  }
};

/// An object whose fields are members of a larger struct. `Part`: a struct with a field table and a reference
/// to the larger struct.
template <class Part>
struct part_codec {
  template <class Whole>
  void read(io::json_value from, Whole& value) const {
    fields_reader reader(from);
    field_table(reader, Part{value});
    reader.finish();
  }
  template <class Whole>
  void write(io::json_writer& out, Whole value) const {
    fields_writer writer{out};
    out.begin_object();
    field_table(writer, Part{value});
    out.end_object();
  }
  template <class Whole>
  void schema(io::json_writer& out, Whole& example) const {
    fields_schema writer{out};
    write_object_schema(out, [&] { field_table(writer, Part{example}); });
  }
};

/// Returns a value as one line of JSON.
template <class T>
std::string line_of(T const& value) {
  io::json_writer out;
  object_codec<T>().write(out, value);
  return out.text();
}

/// Throws data_error if the value lacks a field of the JSON text `written`, at any depth. Fields that are
/// null may be missing.
void expect_fields_of(std::string const& written, io::json_value value);

/// Reads an object with expect_fields_of: throws data_error if a field that line_of writes is missing.
template <class T>
T read_complete(io::json_value value) {
  T result;
  object_codec<T>().read(value, result);
  expect_fields_of(line_of(result), value);
  return result;
}

// ---- setting one field ----------------------------------------------------------------------------------

/// Assignment to a field by a flag or an environment variable. Consists of the field's path, such as
/// training.batch, and a value: JSON, or a text if the value is not valid JSON. In a choice, the path selects
/// the alternative.
///
/// Errors    data_error with `origin`, the name of the flag.
class field_assignment {
 public:
  field_assignment(std::string_view path, std::string_view value, std::string_view origin);

  /// Sets the field.  Errors: also data_error with the path. The struct is unchanged after an error.
  template <class T>
  void apply(T& to) const {
    T changed = to;
    try {
      object_codec<T>().read(parsed_.root(), changed);
    } catch (data_error const& problem) {
      refuse(problem.why());
    }
    to = std::move(changed);
  }

 private:
  /// Parses the path and the value as one JSON text: {"training": {"batch": 64}}.
  io::json_document parse(std::string_view path);
  [[noreturn]] void refuse(refusal const& why) const;

  std::string value_, origin_;
  bool is_text_ = false;
  io::json_document parsed_;
};

// ---- listing --------------------------------------------------------------------------------------------

/// A field as text: path optimizer.rule.learning_rate, value 0.1. For a choice, the value is the name of the
/// alternative (optimizer.rule, sgd), and the fields of the alternative follow.
struct field_text {
  std::string path;
  std::string value;
  std::optional<double> number{};  ///< the value, if it is a number
};

/// Lists the fields of a value that was written as JSON.
std::vector<field_text> fields_in_json(std::string const& text);

/// Lists the fields of a struct. `shared_only`: without the fields that may differ between ranks.
template <class T>
std::vector<field_text> list_fields(T const& value, bool shared_only = false) {
  io::json_writer out;
  object_codec<T>().write(fields_writer{out, shared_only}, value);
  return fields_in_json(out.text());
}

/// Joins fields to one text: "optimizer.rule sgd; optimizer.l1 0".
std::string text_of_fields(std::vector<field_text> const& fields);

}  // namespace cohort::detail
