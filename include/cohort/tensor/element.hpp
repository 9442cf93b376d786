// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cohort {

/// Type of a tensor's elements. bf16 is the upper half of an f32 (bf16.hpp).
enum class element_type : std::uint8_t { f32, f64, bf16, u8, i32, i64, u64 };

/// Returns the size of one element in bytes.
constexpr std::size_t bytes_of(element_type type) {
  switch (type) {
    case element_type::u8:
      return 1;
    case element_type::bf16:
      return 2;
    case element_type::f32:
    case element_type::i32:
      return 4;
    case element_type::f64:
    case element_type::i64:
    case element_type::u64:
      return 8;
  }
  return 0;
}

/// Returns the type's name: "f32", "bf16", ...
constexpr std::string_view name_of(element_type type) {
  switch (type) {
    case element_type::f32:
      return "f32";
    case element_type::f64:
      return "f64";
    case element_type::bf16:
      return "bf16";
    case element_type::u8:
      return "u8";
    case element_type::i32:
      return "i32";
    case element_type::i64:
      return "i64";
    case element_type::u64:
      return "u64";
  }
  return "?";
}

/// The element_type of a C++ type: element_of<float> == element_type::f32.
template <class T>
inline constexpr element_type element_of = [] {
  static_assert(sizeof(T) == 0, "cohort: this C++ type is not supported as a tensor element");
  return element_type::f32;
}();
template <>
inline constexpr element_type element_of<float> = element_type::f32;
template <>
inline constexpr element_type element_of<double> = element_type::f64;
template <>
inline constexpr element_type element_of<std::uint8_t> = element_type::u8;
template <>
inline constexpr element_type element_of<std::int32_t> = element_type::i32;
template <>
inline constexpr element_type element_of<std::int64_t> = element_type::i64;
template <>
inline constexpr element_type element_of<std::uint64_t> = element_type::u64;

namespace detail {

/// Calls f with a null pointer to the C++ type of `type`: double* for f64, otherwise float*.
template <class F>
decltype(auto) with_real(element_type type, F f) {
  return type == element_type::f64 ? f(static_cast<double*>(nullptr)) : f(static_cast<float*>(nullptr));
}

}  // namespace detail

}  // namespace cohort
