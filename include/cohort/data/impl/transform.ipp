// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/transform.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstdint>
#include <cstring>

namespace cohort::detail {

/// Writes value · scale + offset for each element, computed in the type `Real`.
template <class From, class To, class Real = To>
void scale_row(std::byte const* source, std::byte* destination, std::size_t n, double scale, double offset) {
  // Converts blocks in local arrays, because std::byte pointers may alias, which would prevent vectorisation
  // at -O2.
  constexpr std::size_t block = 16;
  auto const factor = static_cast<Real>(scale);
  auto const summand = static_cast<Real>(offset);
  auto const convert = [=](From value) {
    return static_cast<To>(static_cast<Real>(+value) * factor + summand);
  };
  std::size_t i = 0;
  for (; i + block <= n; i += block) {
    From from[block];
    To to[block];
    std::memcpy(from, source + i * sizeof(From), sizeof from);
    for (std::size_t j = 0; j < block; ++j) to[j] = convert(from[j]);
    std::memcpy(destination + i * sizeof(To), to, sizeof to);
  }
  for (; i < n; ++i) {
    From from;
    std::memcpy(&from, source + i * sizeof(From), sizeof from);
    To const to = convert(from);
    std::memcpy(destination + i * sizeof(To), &to, sizeof to);
  }
}

template <class From, class To>
void cast_row(std::byte const* source, std::byte* destination, std::size_t n, double, double) {
  auto const* from = reinterpret_cast<From const*>(source);
  auto* to = reinterpret_cast<To*>(destination);
  for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]);
}

template <std::size_t Bytes>
void copy_row(std::byte const* source, std::byte* destination, std::size_t n, double, double) {
  if (n == 1)
    std::memcpy(destination, source, Bytes);
  else
    std::memcpy(destination, source, n * Bytes);
}

}  // namespace cohort::detail

namespace cohort {

row_transform transform_of(tensor_description const& part) {
  using enum element_type;
  auto const is = [&](element_type from, element_type to) { return part.stored == from && part.type == to; };
  if (part.stored == part.type && !part.rescaled()) switch (part.type) {
      case u8:
        return detail::copy_row<1>;
      case f32:
      case i32:
        return detail::copy_row<4>;
      case f64:
        return detail::copy_row<8>;
      default:
        break;
    }
  if (is(u8, f32)) return detail::scale_row<std::uint8_t, float>;
  if (is(f32, f32) && !part.channels.empty()) return detail::scale_row<float, float, double>;
  if (is(f32, f32)) return detail::scale_row<float, float>;
  if (is(f64, f32) && !part.channels.empty()) return detail::scale_row<double, float, double>;
  if (is(f64, f32)) return detail::scale_row<double, float>;
  if (is(u8, f64)) return detail::scale_row<std::uint8_t, double>;
  if (is(f32, f64)) return detail::scale_row<float, double>;
  if (is(f64, f64)) return detail::scale_row<double, double>;
  if (!part.rescaled()) {
    if (is(u8, i32)) return detail::cast_row<std::uint8_t, std::int32_t>;
    if (is(i64, i32)) return detail::cast_row<std::int64_t, std::int32_t>;
  }
  throw shape_error({.what = "cannot convert the data set's elements for the batch",
                     .where = part.name,
                     .expected = "u8, f32 or f64 to f32 or f64, or unscaled u8, i32 or i64 to i32",
                     .got = {name_of(part.stored), " to ", name_of(part.type)}});
}

}  // namespace cohort
