// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/tensor/axis_order.hpp>
#include <cohort/tensor/shape.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace cohort {

/// Name of a field as a template argument, which compilers print in errors.
template <std::size_t N>
struct field_name {
  char text[N];
  constexpr field_name(char const (&name)[N]) { std::copy_n(name, N, text); }
};

namespace detail {

/// Whether a value of type U can set a field of type T. A floating-point value cannot set an integer field:
/// `.units = 2.5` does not compile.
template <class U, class T>
inline constexpr bool sets_field =
    std::convertible_to<U, T> && (std::floating_point<T> || !std::floating_point<U>);

}  // namespace detail

/// A field without a default: a layer without a value for it does not compile. The error contains `Name`.
template <class T, field_name Name = "">
struct required {
  T value;
  required() = delete;
  template <class U>
  requires(detail::sets_field<U, T>) constexpr required(U given) : value(given) {}
  /// `.kernel = {3, 5}`
  template <class... U>
  requires(sizeof...(U) > 1 && std::constructible_from<T, U...>) constexpr required(U... given)
      : value(given...) {}
  constexpr operator T() const { return value; }
};

/// Height and width; one number sets both.
struct extent2 {
  int height = 0;
  int width = 0;
  constexpr extent2() = default;
  constexpr extent2(int both) : height(both), width(both) {}
  template <std::floating_point F>
  extent2(F) = delete;
  constexpr extent2(int h, int w) : height(h), width(w) {}
  constexpr bool operator==(extent2 const&) const = default;
};

/// How `padding` is determined.
enum class padding_mode : std::uint8_t { valid, same, strict, sides };

/// Padding of the input of a convolution or pooling.
///
/// valid     no padding; window positions beyond the end of the input are dropped.
/// strict    as valid, but an error if the stride leaves a remainder.
/// same      output = ceil(input / stride). If the padding is odd, its extra element is at the bottom or
///           right (TensorFlow's rule).
/// sides     the given number of elements per side: padding(1), padding(top, bottom, left, right).
struct padding {
  padding_mode mode = padding_mode::valid;
  int top = 0, bottom = 0, left = 0, right = 0;

  constexpr padding() = default;
  constexpr padding(padding_mode m) : mode(m) {}
  template <std::floating_point F>
  padding(F) = delete;
  constexpr padding(int every_side) : padding(every_side, every_side, every_side, every_side) {}
  constexpr padding(int t, int b, int l, int r)
      : mode(padding_mode::sides), top(t), bottom(b), left(l), right(r) {}
  constexpr bool operator==(padding const&) const = default;

  static padding const valid;
  static padding const same;
  static padding const strict;
};
inline constexpr padding padding::valid{padding_mode::valid};
inline constexpr padding padding::same{padding_mode::same};
inline constexpr padding padding::strict{padding_mode::strict};

/// Type of a field, for code that only has the description of a layer: files, hashes, the summary.
enum class field_type : std::uint8_t { integer, boolean, real, extent, padding, shape, axes, choice };

/// An enumeration as the type of a field: `names_of(E{})` returns the names that its values 0, 1, … have in
/// files.
template <class E>
concept choice = std::is_enum_v<E> && requires {
  { names_of(E{}) } -> std::convertible_to<std::span<std::string_view const>>;
};

/// Description of a field. Its encoded value is `slots` doubles from `first_slot`.
struct field_info {
  std::string_view name;
  field_type type = field_type::integer;
  int first_slot = 0;
  int slots = 1;
  bool required = false;
  std::span<std::string_view const> choices{};  ///< names of the values of a choice
};

/// One entry of a field_list: `field{"units", &dense::units}`.
template <class Layer, class T>
struct field {
  std::string_view name;
  T Layer::*member;
};
template <class Layer, class T>
field(std::string_view, T Layer::*) -> field<Layer, T>;
template <class Layer, class T, std::size_t N>
field(char const (&)[N], T Layer::*) -> field<Layer, T>;

namespace detail {

/// Conversion of a field's value to and from doubles; defined for each field_type.
template <class T>
struct field_codec;

template <>
struct field_codec<int> {
  static constexpr field_type type = field_type::integer;
  static constexpr int slots = 1;
  static constexpr void encode(int value, double* to) { to[0] = value; }
  static constexpr int decode(double const* from) { return static_cast<int>(from[0]); }
};
template <>
struct field_codec<bool> {
  static constexpr field_type type = field_type::boolean;
  static constexpr int slots = 1;
  static constexpr void encode(bool value, double* to) { to[0] = value ? 1 : 0; }
  static constexpr bool decode(double const* from) { return from[0] != 0; }
};
template <>
struct field_codec<double> {
  static constexpr field_type type = field_type::real;
  static constexpr int slots = 1;
  static constexpr void encode(double value, double* to) { to[0] = value; }
  static constexpr double decode(double const* from) { return from[0]; }
};
template <>
struct field_codec<extent2> {
  static constexpr field_type type = field_type::extent;
  static constexpr int slots = 2;
  static constexpr void encode(extent2 value, double* to) {
    to[0] = value.height;
    to[1] = value.width;
  }
  static constexpr extent2 decode(double const* from) {
    return {static_cast<int>(from[0]), static_cast<int>(from[1])};
  }
};
template <>
struct field_codec<padding> {
  static constexpr field_type type = field_type::padding;
  static constexpr int slots = 5;
  static constexpr void encode(padding value, double* to) {
    to[0] = static_cast<int>(value.mode);
    to[1] = value.top;
    to[2] = value.bottom;
    to[3] = value.left;
    to[4] = value.right;
  }
  static constexpr padding decode(double const* from) {
    padding value(static_cast<int>(from[1]), static_cast<int>(from[2]), static_cast<int>(from[3]),
                  static_cast<int>(from[4]));
    value.mode = static_cast<padding_mode>(static_cast<int>(from[0]));
    return value;
  }
};
template <class PerAxis>
struct per_axis_codec {
  static constexpr int slots = 1 + shape::max_rank;
  static constexpr void encode(PerAxis const& value, double* to) {
    to[0] = value.rank;
    for (int axis = 0; axis < shape::max_rank; ++axis) to[1 + axis] = value[axis];
  }
  static constexpr PerAxis decode(double const* from) {
    PerAxis value;
    value.rank = static_cast<int>(from[0]);
    for (int axis = 0; axis < shape::max_rank; ++axis) value[axis] = static_cast<int>(from[1 + axis]);
    return value;
  }
};
template <>
struct field_codec<shape> : per_axis_codec<shape> {
  static constexpr field_type type = field_type::shape;
};
template <>
struct field_codec<axis_order> : per_axis_codec<axis_order> {
  static constexpr field_type type = field_type::axes;
};
template <choice E>
struct field_codec<E> {
  static constexpr field_type type = field_type::choice;
  static constexpr int slots = 1;
  static constexpr void encode(E value, double* to) { to[0] = static_cast<int>(value); }
  static constexpr E decode(double const* from) { return static_cast<E>(static_cast<int>(from[0])); }
  static constexpr std::span<std::string_view const> choices() { return names_of(E{}); }
};
template <class T, field_name Name>
struct field_codec<required<T, Name>> : field_codec<T> {};

/// Names of the values of a field of type T; empty if T is not a choice.
template <class T>
constexpr std::span<std::string_view const> choices_of() {
  if constexpr (requires { field_codec<T>::choices(); })
    return field_codec<T>::choices();
  else
    return {};
}

template <class T>
inline constexpr bool is_required = false;
template <class T, field_name Name>
inline constexpr bool is_required<required<T, Name>> = true;

/// Field I of a list.
template <std::size_t I, class Layer, class T>
struct listed_field {
  T Layer::*member;
};

template <class Indices, class Layer, class... T>
struct listed_fields;
template <std::size_t... I, class Layer, class... T>
struct listed_fields<std::index_sequence<I...>, Layer, T...> : listed_field<I, Layer, T>... {
  static constexpr int slots = (field_codec<T>::slots + ... + 0);
  std::string_view names[sizeof...(T)];

  constexpr listed_fields(field<Layer, T> const&... all)
      : listed_field<I, Layer, T>{all.member}..., names{all.name...} {}

  constexpr void describe(field_info* to) const {
    int slot = 0;
    ((to[I] = {names[I], field_codec<T>::type, slot, field_codec<T>::slots, is_required<T>, choices_of<T>()},
      slot += field_codec<T>::slots),
     ...);
  }
  constexpr void encode(Layer const& from, double* to) const {
    ((field_codec<T>::encode(from.*(this->listed_field<I, Layer, T>::member), to),
      to += field_codec<T>::slots),
     ...);
  }
  constexpr Layer decode(double const* from) const { return Layer{next<T>(from)...}; }
  /// Decodes the first fields; the others have their defaults.
  template <std::size_t... First>
  constexpr Layer decode_first(std::index_sequence<First...>, [[maybe_unused]] double const* from) const {
    return Layer{next_at<First>(*this, from)...};
  }
  /// Returns whether the fields, followed by values of the types More, can initialise a layer.
  template <class... More>
  static constexpr bool are_complete_with() {
    return requires { Layer{std::declval<T>()..., std::declval<More>()...}; };
  }

 private:
  template <class U>
  static constexpr auto next(double const*& from) {
    auto const value = field_codec<U>::decode(from);
    from += field_codec<U>::slots;
    return value;
  }
  template <std::size_t At, class U>
  static constexpr auto next_at(listed_field<At, Layer, U> const&, double const*& from) {
    return next<U>(from);
  }
};

}  // namespace detail

/// The fields of a layer, in the order of its members: `field_list{field{"units", &dense::units}, …}`.
template <class Layer, class... T>
struct field_list : detail::listed_fields<std::index_sequence_for<T...>, Layer, T...> {
  using detail::listed_fields<std::index_sequence_for<T...>, Layer, T...>::listed_fields;
  static constexpr std::size_t size = sizeof...(T);
};
/// `field_list{}`, of a layer without fields.
template <>
struct field_list<void> {
  static constexpr std::size_t size = 0;
  static constexpr int slots = 0;
};
template <class Layer, class... T>
field_list(field<Layer, T>...) -> field_list<Layer, T...>;
field_list()->field_list<void>;

}  // namespace cohort
