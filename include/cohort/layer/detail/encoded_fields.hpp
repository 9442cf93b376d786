// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/layer/field.hpp>
#include <cohort/layer/layer.hpp>
#include <cstddef>
#include <span>
#include <utility>

/// Conversion between a layer's fields and an array of doubles ("slots"), the form in which graphs store
/// them.
namespace cohort::detail {

template <class L>
inline constexpr auto fields_of = L::fields();
template <class L>
inline constexpr std::size_t field_count = fields_of<L>.size;
template <class L>
inline constexpr bool has_fields = field_count<L> != 0;
template <class L>
inline constexpr int slot_count = fields_of<L>.slots;

template <class L>
inline constexpr auto field_infos = [] {
  std::array<field_info, field_count<L>> infos{};
  if constexpr (has_fields<L>) fields_of<L>.describe(infos.data());
  return infos;
}();

/// Field values of a layer in slots; one unused slot for a layer without fields.
template <class L>
using encoded = std::array<double, static_cast<std::size_t>(slot_count<L> > 0 ? slot_count<L> : 1)>;

template <layer L>
constexpr encoded<L> encode(L const& l) {
  encoded<L> values{};
  if constexpr (has_fields<L>) fields_of<L>.encode(l, values.data());
  return values;
}

template <layer L>
constexpr L decode(double const* values) {
  if constexpr (has_fields<L>)
    return fields_of<L>.decode(values);
  else
    return L{};
}

/// Encoded defaults: the fields up to the last required one are 0, all others have their default.
template <layer L>
constexpr encoded<L> encode_defaults() {
  constexpr std::size_t given = [] {
    std::size_t count = 0;
    for (std::size_t f = 0; f < field_count<L>; ++f)
      if (field_infos<L>[f].required) count = f + 1;
    return count;
  }();
  encoded<L> const zeros{};
  if constexpr (has_fields<L>)
    return encode(fields_of<L>.decode_first(std::make_index_sequence<given>{}, zeros.data()));
  else
    return zeros;
}
template <layer L>
inline constexpr encoded<L> default_values = encode_defaults<L>();

/// Returns whether fields() lists the leading members in their order: encode(decode(values)) == values.
///
/// The patterns distinguish fields of one type. Each boolean is true in one pattern only, and all are false
/// in the last pattern. Every other slot has a distinct number, which alternates between two values from
/// pattern to pattern; a default cannot equal both.
template <layer L>
constexpr bool fields_match_members() {
  int const fields = static_cast<int>(field_count<L>);
  for (int pattern = 0; pattern <= fields; ++pattern) {
    encoded<L> values{};
    for (int f = 0; f < fields; ++f) {
      field_info const& info = field_infos<L>[static_cast<std::size_t>(f)];
      for (int slot = info.first_slot; slot < info.first_slot + info.slots; ++slot)
        values[static_cast<std::size_t>(slot)] =
            info.type == field_type::boolean ? pattern == f : 2 + slot + slot_count<L> * (pattern % 2);
    }
    if (encode(decode<L>(values.data())) != values) return false;
  }
  return true;
}

/// Returns whether fields() lists all members of L except `settings`, `name` and `at`. Checks that the listed
/// fields, followed by values of these three members, can initialise an L.
template <layer L>
constexpr bool fields_are_complete() {
  if constexpr (!has_fields<L>) {
    if constexpr (requires(L const& l) { l.settings; }) return requires(L const& l) {
        L{l.settings, std::string_view(), source_line()};
      };
    else
      return requires { L{std::string_view(), source_line()}; };
  } else if constexpr (requires(L const& l) { l.settings; }) {
    return fields_of<L>.template are_complete_with<decltype(L::settings), std::string_view, source_line>();
  } else {
    return fields_of<L>.template are_complete_with<std::string_view, source_line>();
  }
}

template <layer L>
constexpr bool required_fields_first() {
  for (std::size_t f = 1; f < field_count<L>; ++f)
    if (field_infos<L>[f].required && !field_infos<L>[f - 1].required) return false;
  return true;
}

/// Names of the members that a layer's JSON object has besides the layer's fields.
inline constexpr std::array<std::string_view, 3> layer_members{"name", "inputs", "settings"};

template <layer L>
constexpr bool fields_have_free_names() {
  for (field_info const& info : field_infos<L>)
    for (std::string_view const member : layer_members)
      if (info.name == member) return false;
  return true;
}

/// Returns the field descriptions of L, and checks their order at compile time. decode() assigns fields by
/// position: if fields() listed the members in another order, members would get the values of other fields.
template <layer L>
constexpr std::span<field_info const> checked_fields() {
  static_assert(fields_match_members<L>(),
                "cohort: fields() must list the layer's first members in their order");
  static_assert(
      fields_are_complete<L>(),
      "cohort: fields() must list every member of the layer except settings, name and at: files and "
      "hashes contain the listed ones only");
  static_assert(required_fields_first<L>(), "cohort: required fields must precede fields with defaults");
  static_assert(
      fields_have_free_names<L>(),
      "cohort: in files, a layer has name, inputs and settings beside its fields: choose other names "
      "for the fields");
  return field_infos<L>;
}

}  // namespace cohort::detail
