// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/detail/chrono.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/io/detail/field_table.hpp>
#include <cohort/tensor/element.hpp>
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

/// Codecs of the fields of field_table.hpp. The comment of a codec describes the values that it accepts.
namespace cohort::detail {

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
    if constexpr (std::signed_integral<T>) {
      value = static_cast<T>(from.integer(least, most));
    } else {
      value = static_cast<T>(from.unsigned_integer(most));
      if (value < least) from.refuse(text_of({"an integer of at least ", least}));
    }
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

/// A duration from 0.001 to 1e6 seconds; `value` is in milliseconds.
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
    value = static_cast<E>(index_of_name(from, what, from.string(), names));
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
    value = names[index_of_name(from, what, from.string(), names)];
  }
  void write(io::json_writer& out, std::string const& value) const { out.value(value); }
  void schema(io::json_writer& out) const { write_enum(out, names); }
};

/// One of the element types `names`.
struct element_codec {
  std::span<std::string_view const> names;

  void read(io::json_value from, element_type& value) const {
    std::string_view const name = names[index_of_name(from, "element types", from.string(), names)];
    for (element_type const type :
         {element_type::f32, element_type::bf16, element_type::f64, element_type::u8})
      if (name_of(type) == name) value = type;
  }
  void write(io::json_writer& out, element_type value) const { out.value(name_of(value)); }
  void schema(io::json_writer& out) const { write_enum(out, names); }
};

/// The version of a document's format, the only one that this library reads.
struct version_codec {
  int version;

  void read(io::json_value from, int& value) const {
    if (from.kind() != io::json_kind::number || from.number() != version)
      from.refuse(text_of({"version ", version,
                           ", the one that this library reads; convert the document, or "
                           "use a version that reads it"}));
    value = version;
  }
  void write(io::json_writer& out, int value) const { out.value(value); }
  void schema(io::json_writer& out) const {
    out.begin_object(io::json_lines::one).field("const", version).end_object();
  }
};

/// Returns whether there is one name per enumerator up to `last`, or per alternative of a variant.
template <class Enum, std::size_t n>
constexpr bool names_all(std::array<std::string_view, n> const&, Enum last) {
  return static_cast<std::size_t>(last) + 1 == n;
}
template <class Variant, std::size_t n>
constexpr bool names_all(std::array<std::string_view, n> const&) {
  return std::variant_size_v<Variant> == n;
}

/// Returns the member `name` of each row of a table.
template <class Rows>
std::vector<std::string_view> names_of_rows(Rows const& rows) {
  std::vector<std::string_view> names;
  for (auto const& row : rows) names.push_back(row.name);
  return names;
}

/// A list; reading replaces it as a whole.
template <class Codec>
struct list_codec {
  Codec item;

  template <class T>
  void read(io::json_value from, std::vector<T>& value) const {
    if (from.kind() != io::json_kind::array) from.refuse("a list");
    std::vector<T> all;
    for (io::json_value const element : from.items()) item.read(element, all.emplace_back());
    value = std::move(all);
  }
  template <class T>
  void write(io::json_writer& out, std::vector<T> const& value) const {
    out.begin_array(std::is_class_v<T> && !std::same_as<T, std::string> ? io::json_lines::many
                                                                        : io::json_lines::one);
    for (T const& element : value) item.write(out, element);
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

/// One of several structs, selected by name. If a document selects the current alternative, fields that it
/// omits keep their values.
struct variant_codec {
  std::span<std::string_view const> names;
  std::string_view what;
  io::json_lines lines = io::json_lines::many;

  template <class... Alternative>
  void read(io::json_value from, std::variant<Alternative...>& value) const {
    chosen_name const chosen = read_chosen_name(from, what);
    std::size_t const index = index_of_name(from, what, chosen.name, names);
    std::size_t k = 0;
    (void)((k++ == index && (read_alternative<Alternative>(chosen, value), true)) || ...);
  }
  template <class... Alternative>
  void write(io::json_writer& out, std::variant<Alternative...> const& value) const {
    std::visit(
        [&]<class T>(T const& alternative) {
          if constexpr (std::is_empty_v<T>) {
            out.value(names[value.index()]);
          } else {
            out.begin_object(lines);
            object_codec<T>{lines}.write(out.key(names[value.index()]), alternative);
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

/// A variant_codec for the type `Variant` only, so that schema needs no value.
template <class Variant>
struct alternatives_codec : variant_codec {
  void schema(io::json_writer& out) const { schema_of(out, Variant{}); }
};

}  // namespace cohort::detail
