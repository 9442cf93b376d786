// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cohort/transform/detail/exact_sum.hpp>
#include <span>
#include <vector>

namespace cohort::detail {

/// |x| = significand · 2^exponent.
struct number_parts {
  std::uint64_t significand;
  int exponent;
  bool negative;
};

inline number_parts parts_of_number(double number) {
  auto const bits = std::bit_cast<std::uint64_t>(number);
  auto const field = static_cast<int>(bits >> 52 & 0x7ff);
  std::uint64_t const fraction = bits & ((std::uint64_t{1} << 52) - 1);
  return {field == 0 ? fraction : fraction | std::uint64_t{1} << 52, std::max(field, 1) - 1075,
          bits >> 63 != 0};
}

/// Returns Σ magnitude[i] · 2^(32·i − shift), rounded to nearest (ties to even).
scaled_number rounded_magnitude(std::span<std::uint32_t const> magnitude, int shift, bool negative) {
  std::size_t top = magnitude.size();
  while (top > 0 && magnitude[top - 1] == 0) --top;
  if (top == 0) return {};
  auto const digit = [&](std::size_t i) { return i < top ? std::uint64_t{magnitude[top - 1 - i]} : 0; };
  int const zeros = std::countl_zero(magnitude[top - 1]);
  // The highest 64 bits; the lowest of these also represents all lower bits.
  std::uint64_t bits = digit(0) << 32 | digit(1);
  std::uint64_t const rest = digit(2) << 32 | digit(3);
  if (zeros > 0) bits = bits << zeros | rest >> (64 - zeros);
  bool below = (rest << zeros) != 0;
  for (std::size_t i = 4; i < top; ++i) below |= digit(i) != 0;
  bits |= below ? 1 : 0;
  std::uint64_t const kept = bits >> 11, half = bits & 0x7ff;
  std::uint64_t const up = half > 0x400 || (half == 0x400 && (kept & 1) != 0) ? 1 : 0;
  int carried = 0;
  double const fraction = std::frexp(static_cast<double>(kept + up), &carried);  // kept + up is at most 2^53
  int const exponent = 32 * static_cast<int>(top) - zeros - shift + carried - 53;
  return {negative ? -fraction : fraction, exponent};
}

void exact_sum::add_bits(std::uint64_t bits, std::size_t position, bool negative) {
  __extension__ using wide = unsigned __int128;
  wide const shifted = wide{bits} << (position % 32);
  std::size_t const first = position / 32;
  for (std::size_t i = 0; i < 3; ++i) {
    auto const part = static_cast<std::int64_t>(static_cast<std::uint32_t>(shifted >> (32 * i)));
    digits_[first + i] += negative ? -part : part;
  }
  if (++added_ == std::uint32_t{1} << 30) normalise();
}

void exact_sum::add(double number) {
  number_parts const parts = parts_of_number(number);
  add_bits(parts.significand, static_cast<std::size_t>(parts.exponent + 32 * static_cast<int>(unit)),
           parts.negative);
}

void exact_sum::add_square(double number) {
  __extension__ using wide = unsigned __int128;
  number_parts const parts = parts_of_number(number);
  wide const square = wide{parts.significand} * parts.significand;
  auto const position = static_cast<std::size_t>(2 * parts.exponent + 32 * static_cast<int>(unit));
  add_bits(static_cast<std::uint64_t>(square), position, false);
  add_bits(static_cast<std::uint64_t>(square >> 64), position + 64, false);
}

void exact_sum::normalise() {
  std::int64_t carry = 0;
  for (std::size_t i = 0; i + 1 < digits; ++i) {
    std::int64_t const sum = digits_[i] + carry;
    carry = sum >> 32;  // rounds down
    digits_[i] = sum & 0xffffffff;
  }
  digits_.back() += carry;
  added_ = 1;  // one digit of less than 2^32
}

void exact_sum::merge(exact_sum const& other) {
  exact_sum more = other;
  more.normalise();
  normalise();
  for (std::size_t i = 0; i < digits; ++i) digits_[i] += more.digits_[i];
  added_ = 2;
}

/// Digits of a magnitude, lowest first.
using magnitude_digits = std::vector<std::uint32_t>;

/// Returns the product of two magnitudes.
magnitude_digits product_of(magnitude_digits const& a, magnitude_digits const& b) {
  magnitude_digits product(a.size() + b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == 0) continue;
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      carry += product[i + j] + std::uint64_t{a[i]} * b[j];
      product[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    product[i + b.size()] = static_cast<std::uint32_t>(carry);
  }
  return product;
}

/// A sign and a magnitude.
struct signed_magnitude {
  magnitude_digits digits{};
  bool negative = false;
};

/// Converts normalised digits, of which the highest has a sign.
signed_magnitude magnitude_of(std::span<std::int64_t const> digits) {
  signed_magnitude made{.negative = digits.back() < 0};
  std::int64_t carry = 0;
  for (std::int64_t const digit : digits) {
    std::int64_t const sum = (made.negative ? -digit : digit) + carry;
    made.digits.push_back(static_cast<std::uint32_t>(sum & 0xffffffff));
    carry = sum >> 32;
  }
  made.digits.push_back(static_cast<std::uint32_t>(carry));
  return made;
}

scaled_number exact_sum::rounded() const {
  exact_sum copy = *this;
  copy.normalise();
  signed_magnitude const sum = magnitude_of(copy.digits_);
  return rounded_magnitude(sum.digits, 32 * static_cast<int>(unit), sum.negative);
}

scaled_number exact_sum::spread(std::uint64_t n, exact_sum const& squares) const {
  exact_sum sum = *this, more = squares;
  sum.normalise();
  more.normalise();
  magnitude_digits const root = magnitude_of(sum.digits_).digits;
  magnitude_digits const count{static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n >> 32)};
  magnitude_digits minuend(unit);  // n · squares, in the unit of the squared sum
  magnitude_digits const of_squares = product_of(magnitude_of(more.digits_).digits, count);
  minuend.insert(minuend.end(), of_squares.begin(), of_squares.end());
  magnitude_digits subtrahend = product_of(root, root);
  std::size_t const size = std::max(minuend.size(), subtrahend.size());
  minuend.resize(size);
  subtrahend.resize(size);
  std::int64_t borrow = 0;
  for (std::size_t i = 0; i < size; ++i) {  // not negative, by the inequality of Cauchy and Schwarz
    borrow += std::int64_t{minuend[i]} - std::int64_t{subtrahend[i]};
    minuend[i] = static_cast<std::uint32_t>(borrow & 0xffffffff);
    borrow >>= 32;
  }
  return rounded_magnitude(minuend, 2 * 32 * static_cast<int>(unit), false);
}

void exact_sum::write(byte_writer& out) const {
  exact_sum copy = *this;
  copy.normalise();
  std::size_t first = 0, last = digits;
  while (first < digits && copy.digits_[first] == 0) ++first;
  while (last > first && copy.digits_[last - 1] == 0) --last;
  out.word(first).word(last - first);
  for (std::size_t i = first; i < last; ++i) out.word(static_cast<std::uint64_t>(copy.digits_[i]));
}

exact_sum exact_sum::read(byte_reader& in) {
  exact_sum made;
  std::uint64_t const first = in.word(), count = in.word();
  if (first > digits || count > digits - first) in.refuse("digits of a sum", text_of({first, ", ", count}));
  for (std::uint64_t i = first; i < first + count; ++i) {
    std::uint64_t const digit = in.word();
    if (i + 1 < digits && digit >> 32 != 0) in.refuse("a digit below 2^32", text_of({digit}));
    made.digits_[i] = static_cast<std::int64_t>(digit);
  }
  made.added_ = 1;
  return made;
}

}  // namespace cohort::detail
