// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/detail/chrono.hpp>
#include <cohort/error/detail/nearest_name.hpp>
#include <cohort/error/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/json_string.hpp>
#include <cohort/io/detail/schema_writers.hpp>
#include <cohort/io/json_value.hpp>
#include <cohort/io/json_writer.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

/// Fields of a document: one table per struct, which reading, writing and the JSON Schema use.
///
/// A table is a function `document_fields(visitor, value)` that calls `visitor.field(name, member, codec)`
/// for each field. A codec has three functions: read(json_value, T&), write(json_writer&, T const&) and
/// schema(json_writer&). `read` does not change members that the JSON value omits.
namespace cohort::detail {

/// Throws data_error for a name that is none of `known`, which may be empty.
[[noreturn]] inline void refuse_name(io::json_value at, std::string_view what, std::string_view got,
                                     std::span<std::string_view const> known) {
  if (known.empty()) at.refuse("no field", quote_for_error(got));
  at.refuse("one of the " + std::string(what) + ' ' + names_and_nearest(got, known), quote_for_error(got));
}

/// Calls `work`. A setting_error becomes a data_error with the value's line and path.
template <class Work>
void with_path(io::json_value value, Work work) {
  try {
    work();
  } catch (setting_error const& refused) {
    refusal const& why = refused.why();
    std::string got = why.where.empty() ? why.what : why.where;
    if (!why.got.empty()) got += ' ' + why.got;
    value.refuse(why.expected.empty() ? std::string("valid settings") : std::string(why.expected),
                 std::move(got));
  }
}

/// A name, or an object whose only field has that name: adam, {adam: {rate: 0.1}}, or {adam: null}.
struct chosen_name {
  std::string_view name;
  std::optional<io::json_value> fields;  // none: only the name is given

  /// Index of the name in `known`.  Errors: data_error for another name.
  std::size_t index(io::json_value value, std::string_view what,
                    std::span<std::string_view const> known) const {
    for (std::size_t k = 0; k < known.size(); ++k)
      if (known[k] == name) return k;
    refuse_name(value, what, name, known);
  }
};
inline chosen_name read_chosen_name(io::json_value value, std::string_view what) {
  if (value.kind() == io::json_kind::string) return {value.string(), std::nullopt};
  if (value.kind() != io::json_kind::object || value.size() != 1)
    value.refuse("one of the " + std::string(what) + ": a name, or an object with one field of that name");
  io::json_value const fields = *value.items().begin();
  if (fields.is_null()) return {fields.key(), std::nullopt};
  return {fields.key(), fields};
}

/// Reads the fields of an object into a struct.
class fields_reader {
 public:
  explicit fields_reader(io::json_value object) : object_(object) {
    if (object.kind() != io::json_kind::object) object.refuse("an object");
  }

  template <class T, class Codec>
  void field(std::string_view name, T& value, Codec const& codec) {
    known_.push_back(name);
    if (auto const given = object_.find(name)) codec.read(*given, value);
  }

  /// Throws data_error for a field that the table does not have.
  void finish() const {
    for (io::json_value const one : object_.items()) {
      bool is_known = false;
      for (std::string_view const name : known_) is_known = is_known || name == one.key();
      if (!is_known) refuse_name(one, "fields", one.key(), known_);
    }
  }

 private:
  io::json_value object_;
  std::vector<std::string_view> known_;
};

/// A text that is read and ignored: for other programs, such as the field $schema.
struct ignored_codec {
  static void read(io::json_value from, std::string&) { from.string(); }
  static void schema(io::json_writer& out) { write_type(out, "string"); }
};

/// Writes all fields of a struct.
struct fields_writer {
  io::json_writer& out;

  template <class T, class Codec>
  void field(std::string_view name, T const& value, Codec const& codec) {
    if constexpr (!std::same_as<Codec, ignored_codec>) codec.write(out.key(name), value);
  }
};

/// Writes the schemas of all fields of a struct.
struct fields_schema {
  io::json_writer& out;

  template <class T, class Codec>
  void field(std::string_view name, T const&, Codec const& codec) {
    codec.schema(out.key(name));
  }
};

struct boolean_codec {
  void read(io::json_value from, bool& value) const { value = from.boolean(); }
  void write(io::json_writer& out, bool value) const { out.value(value); }
  void schema(io::json_writer& out) const { write_type(out, "boolean"); }
};

/// An integer from `least` to `most`.
template <std::integral T>
struct integer_codec {
  T least = 0;
  T most = std::numeric_limits<T>::max();

  void read(io::json_value from, T& value) const {
    if constexpr (std::signed_integral<T>)
      value = static_cast<T>(from.integer(least, most));
    else
      value = static_cast<T>(from.unsigned_integer(most));
  }
  void write(io::json_writer& out, T value) const { out.value(value); }
  void schema(io::json_writer& out) const {
    out.begin_object(io::json_lines::one).field("type", "integer").field("minimum", least);
    out.field("maximum", most).end_object();
  }
};

/// A number from `least` to `most`; without `least`, greater than 0; with `is_below`, less than `most`.
struct real_codec {
  std::optional<double> least = 0.0;
  double most = std::numeric_limits<double>::max();
  bool is_below = false;

  void read(io::json_value from, double& value) const {
    double const number = from.number();
    if (number > most || (is_below && number == most) || (least ? number < *least : number <= 0)) {
      std::string expected = least ? text_of({"a number of at least ", *least}) : "a number above 0";
      if (most != std::numeric_limits<double>::max())
        expected += text_of({is_below ? " and below " : " and at most ", most});
      from.refuse(std::move(expected));
    }
    value = number;
  }
  void write(io::json_writer& out, double value) const { out.value(value); }
  void schema(io::json_writer& out) const {
    out.begin_object(io::json_lines::one).field("type", "number");
    least ? out.field("minimum", *least) : out.field("exclusiveMinimum", 0);
    if (most != std::numeric_limits<double>::max())
      out.field(is_below ? "exclusiveMaximum" : "maximum", most);
    out.end_object();
  }
};
inline constexpr real_codec any_real{-std::numeric_limits<double>::max()};

struct text_codec {
  void read(io::json_value from, std::string& value) const { value = from.string(); }
  void write(io::json_writer& out, std::string const& value) const { out.value(value); }
  void schema(io::json_writer& out) const { write_type(out, "string"); }
};

/// A character, or "" for the character 0.
struct character_codec {
  void read(io::json_value from, char& value) const {
    std::string_view const text = from.string();
    if (text.size() > 1) from.refuse("a string of at most one character");
    value = text.empty() ? '\0' : text[0];
  }
  void write(io::json_writer& out, char value) const {
    out.value(std::string_view(&value, value == '\0' ? 0 : 1));
  }
  void schema(io::json_writer& out) const {
    out.begin_object(io::json_lines::one).field("type", "string").field("maxLength", 1).end_object();
  }
};

/// A duration in milliseconds. Documents contain it in seconds.
struct seconds_codec {
  void read(io::json_value from, std::chrono::milliseconds& value) const {
    double seconds = 0;
    real_codec{.least = 0.001, .most = 1e6}.read(from, seconds);
    value = std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * seconds + 0.5));
  }
  void write(io::json_writer& out, std::chrono::milliseconds value) const {
    out.value(static_cast<double>(value.count()) / 1e3);
  }
  void schema(io::json_writer& out) const { real_codec{.least = 0.001, .most = 1e6}.schema(out); }
};

/// An enumeration whose values are the indices of `names`.
struct enum_codec {
  std::span<std::string_view const> names;
  std::string_view what = "values";

  template <class E>
  void read(io::json_value from, E& value) const {
    std::string_view const name = from.string();
    for (std::size_t k = 0; k < names.size(); ++k)
      if (names[k] == name) return void(value = static_cast<E>(k));
    refuse_name(from, what, name, names);
  }
  template <class E>
  void write(io::json_writer& out, E value) const {
    out.value(names[static_cast<std::size_t>(value)]);
  }
  void schema(io::json_writer& out) const { write_enum(out, names); }
};

/// A text that is one of `names`.
struct name_codec {
  std::span<std::string_view const> names;
  std::string_view what;

  void read(io::json_value from, std::string& value) const {
    std::size_t index = 0;
    enum_codec{names, what}.read(from, index);
    value = names[index];
  }
  void write(io::json_writer& out, std::string const& value) const { out.value(value); }
  void schema(io::json_writer& out) const { write_enum(out, names); }
};

/// A list; reading replaces it as a whole.
template <class Codec>
struct list_codec {
  Codec item;

  template <class T>
  void read(io::json_value from, std::vector<T>& value) const {
    if (from.kind() != io::json_kind::array) from.refuse("a list");
    std::vector<T> all;
    for (io::json_value const one : from.items()) item.read(one, all.emplace_back());
    value = std::move(all);
  }
  template <class T>
  void write(io::json_writer& out, std::vector<T> const& value) const {
    out.begin_array(std::is_class_v<T> && !std::same_as<T, std::string> ? io::json_lines::many
                                                                        : io::json_lines::one);
    for (T const& one : value) item.write(out, one);
    out.end_array();
  }
  void schema(io::json_writer& out) const {
    out.begin_object().field("type", "array");
    item.schema(out.key("items"));
    out.end_object();
  }
};
inline constexpr list_codec<text_codec> texts_codec{};

/// A value, or null.
template <class Codec>
struct nullable_codec {
  Codec content;

  template <class T>
  void read(io::json_value from, std::optional<T>& value) const {
    if (from.is_null()) return value.reset();
    T made = value ? *value : T{};
    content.read(from, made);
    value = std::move(made);
  }
  template <class T>
  void write(io::json_writer& out, std::optional<T> const& value) const {
    if (value)
      content.write(out, *value);
    else
      out.value(nullptr);
  }
  void schema(io::json_writer& out) const {
    out.begin_object().key("anyOf").begin_array();
    content.schema(out);
    write_type(out, "null");
    out.end_array().end_object();
  }
};

/// A struct with a table of fields.
template <class T>
struct object_codec {
  void read(io::json_value from, T& value) const {
    fields_reader reader(from);
    document_fields(reader, value);
    reader.finish();
  }
  void write(io::json_writer& out, T const& value) const {
    fields_writer writer{out};
    T copy = value;
    out.begin_object();
    document_fields(writer, copy);
    out.end_object();
  }
  void schema(io::json_writer& out) const {
    fields_schema writer{out};
    T example{};
    write_object_schema(out, [&] { document_fields(writer, example); });
  }
};

/// One of several structs, selected by name. If a document selects the current alternative, fields that it
/// omits keep their values.
struct variant_codec {
  std::span<std::string_view const> names;
  std::string_view what;

  template <class... Alternative>
  void read(io::json_value from, std::variant<Alternative...>& value) const {
    chosen_name const chosen = read_chosen_name(from, what);
    std::size_t const index = chosen.index(from, what, names);
    std::size_t k = 0;
    (void)((k++ == index && (read_alternative<Alternative>(chosen, value), true)) || ...);
  }
  template <class... Alternative>
  void write(io::json_writer& out, std::variant<Alternative...> const& value) const {
    std::visit(
        [&]<class T>(T const& one) {
          if constexpr (std::is_empty_v<T>) {
            out.value(names[value.index()]);
          } else {
            out.begin_object();
            object_codec<T>().write(out.key(names[value.index()]), one);
            out.end_object();
          }
        },
        value);
  }
  template <class... Alternative>
  void schema_of(io::json_writer& out, std::variant<Alternative...> const&) const {
    std::size_t k = 0;
    write_choice_schema(out, names, [&] { (object_codec<Alternative>().schema(out.key(names[k++])), ...); });
  }

 private:
  template <class T, class Variant>
  void read_alternative(chosen_name const& chosen, Variant& value) const {
    T made = std::holds_alternative<T>(value) ? std::get<T>(value) : T{};
    if (chosen.fields) object_codec<T>().read(*chosen.fields, made);
    value = std::move(made);
  }
};

/// A variant_codec for one type.
template <class Variant>
struct alternatives_codec : variant_codec {
  void schema(io::json_writer& out) const { schema_of(out, Variant{}); }
};

}  // namespace cohort::detail
