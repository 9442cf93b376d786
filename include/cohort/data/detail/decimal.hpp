// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <system_error>
#include <type_traits>

namespace cohort::detail {

/// Powers of ten that are exact in T.
template <class T>
inline constexpr auto exact_powers = [] {
  // 10^k is exact if 5^k fits in the significand.
  std::array<T, std::numeric_limits<T>::digits == 64 ? 28 : 23> powers{};
  T power = 1;
  for (T& one : powers) {
    one = power;
    power *= 10;
  }
  return powers;
}();

/// Appends the decimal digits at `p` to `number` and returns their end. The number wraps around after 19
/// digits.
///
/// Source    conversion of eight digits: Lemire, "Number parsing at a gigabyte per second", 2021.
[[gnu::always_inline]] inline char const* append_digits(char const* p, char const* end,
                                                        std::uint64_t& number) {
  static_assert(std::endian::native == std::endian::little);
  static constexpr std::uint64_t powers[] = {1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000};
  auto const value_of = [](std::uint64_t digits) {
    digits = digits * 10 + (digits >> 8);  // pairs of digits in every second byte
    return ((digits & 0x000000ff000000ffU) * 0x000f424000000064U
            + ((digits >> 16) & 0x000000ff000000ffU) * 0x0000271000000001U)
           >> 32;
  };
  while (end - p >= 8) {
    std::uint64_t digits;
    std::memcpy(&digits, p, 8);
    digits ^= 0x3030303030303030U;
    // The lowest marked byte is the first that is not a digit; a carry affects only bytes after it.
    std::uint64_t const others = ((digits + 0x7676767676767676U) | digits) & 0x8080808080808080U;
    if (others == 0) {
      number = number * 100'000'000 + value_of(digits);
      p += 8;
      continue;
    }
    // Adds leading zeros instead of branching on the number of digits, which is hard to predict.
    int const count = std::countr_zero(others) / 8;
    number = number * powers[count] + value_of(digits << (8 * (7 - count)) << 8);
    return p + count;
  }
  for (; p != end && static_cast<unsigned char>(*p - '0') < 10; ++p)
    number = number * 10 + static_cast<std::uint64_t>(*p - '0');
  return p;
}

/// Sets `value` to number · 10^exponent, computed by one operation in Wide and then rounded to T. Returns
/// false if rounding twice, to Wide and to T, might not give the nearest T.
///
/// Before    `number` and 10^|exponent| are exact in Wide.
template <class T, class Wide>
bool round_scaled(std::uint64_t number, std::int64_t exponent, T& value) {
  auto const whole = static_cast<Wide>(static_cast<std::int64_t>(number));
  Wide const scaled = exponent < 0 ? whole / exact_powers<Wide>[static_cast<std::size_t>(-exponent)]
                                   : whole * exact_powers<Wide>[static_cast<std::size_t>(exponent)];
  value = static_cast<T>(scaled);
  if constexpr (std::is_same_v<T, Wide>) return true;
  // Rounding twice is correct, unless the first result is midway between two values of T.
  std::uint64_t significand;
  std::memcpy(&significand, &scaled, sizeof significand);
  constexpr int dropped = std::numeric_limits<Wide>::digits - std::numeric_limits<T>::digits;
  constexpr std::uint64_t tail = (std::uint64_t{1} << dropped) - 1;
  bool const midway = (significand & tail) == (tail >> 1) + 1;
  return !midway
         && (number == 0
             || (scaled >= std::numeric_limits<T>::min() && scaled < std::numeric_limits<T>::max() / 2));
}

/// Returns −value if `negative`, without a branch, because signs are hard to predict.
template <class T>
T with_sign(T value, bool negative) {
  using bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(std::bit_cast<bits>(value) | static_cast<bits>(negative) << (8 * sizeof(T) - 1));
}

/// Parses the decimal number at `p`, such as -1, .5 or 2.5e-3, and returns its end; null if there is none.
///
/// Exact     the nearest T; ±0 for underflow, infinity for overflow.
/// Source    fast cases: Clinger, "How to read floating point numbers accurately", PLDI 1990. Other cases:
///           std::from_chars.
template <class T>
char const* parse_decimal(char const* p, char const* end, T& value) {
  bool const negative = p != end && *p == '-';
  p += p != end && (*p == '-' || *p == '+');
  char const* const first = p;
  std::uint64_t number = 0;
  // Reads one digit per step, because the branch predictor can predict the number of digits before the point.
  for (; p != end && static_cast<unsigned char>(*p - '0') < 10; ++p)
    number = number * 10 + static_cast<std::uint64_t>(*p - '0');
  std::ptrdiff_t digits = p - first;
  std::ptrdiff_t const integral_digits = digits;
  std::int64_t exponent = 0;
  if (p != end && *p == '.') {
    char const* const fraction = ++p;
    p = append_digits(p, end, number);
    exponent = fraction - p;
    digits += p - fraction;
  }
  if (digits == 0) return nullptr;
  std::int64_t written_exponent = 0;
  if (p != end && (*p == 'e' || *p == 'E')) {
    char const* q = p + 1;
    bool const below_one = q != end && *q == '-';
    if (q != end && (*q == '-' || *q == '+')) ++q;
    if (q == end || static_cast<unsigned char>(*q - '0') >= 10) return nullptr;
    for (; q != end && static_cast<unsigned char>(*q - '0') < 10; ++q)
      if (written_exponent < 1'000'000'000) written_exponent = written_exponent * 10 + (*q - '0');
    if (below_one) written_exponent = -written_exponent;
    exponent += written_exponent;
    p = q;
  }
  bool rounded = false;
  if (digits <= 15 && exponent >= -22 && exponent <= 22)  // number < 2^53
    rounded = round_scaled<T, double>(number, exponent, value);
  else if constexpr (std::numeric_limits<long double>::digits == 64)
    if (digits <= 19 && number >> 63 == 0 && exponent >= -27 && exponent <= 27)
      rounded = round_scaled<T, long double>(number, exponent, value);
  if (rounded) {
    value = with_sign(value, negative);
    return p;
  }
  auto const [stop, problem] = std::from_chars(first, p, value);
  if (problem != std::errc()) {
    // from_chars does not distinguish overflow from underflow; the first significant digit's position does.
    char const* leading = first;
    while (leading != p && (*leading == '0' || *leading == '.')) ++leading;
    std::int64_t const position = leading - first < integral_digits ? integral_digits - (leading - first)
                                                                    : integral_digits + 1 - (leading - first);
    value = position + written_exponent > 0 ? std::numeric_limits<T>::infinity() : T(0);
  }
  value = with_sign(value, negative);
  return p;
}

}  // namespace cohort::detail
