// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/transform/detail/byte_coding.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort::detail {

/// fraction · 2^exponent, where |fraction| is 0 or at least 0.5 and below 1.
struct scaled_number {
  double fraction = 0;
  int exponent = 0;
};

/// The sum of finite doubles, or of their squares, without rounding.
///
/// Exact     sums of the same numbers are equal in every order and for every division into parts.
/// Cost      some 3 ns per number; 1.1 KiB.
/// Source    a small superaccumulator: Neal, Fast exact summation using small and large superaccumulators,
///           arXiv:1505.05571.
class exact_sum {
 public:
  /// Adds a finite number.
  void add(double number);
  /// Adds the square of a finite number.
  void add_square(double number);
  void merge(exact_sum const& other);

  /// Returns the sum with a relative error of at most 2^-53.
  scaled_number rounded() const;
  /// Returns n · `squares` − (this sum)², with a relative error of at most 2^-53: n² times the variance of n
  /// numbers.
  ///
  /// Before    the sums are of the same n numbers.
  scaled_number spread(std::uint64_t n, exact_sum const& squares) const;

  void write(byte_writer& out) const;
  /// Reads a sum.  Errors: data_error.
  static exact_sum read(byte_reader& in);

 private:
  /// The lowest digit has the weight 2^(−32 · unit), so the square of the smallest double is representable.
  static constexpr std::size_t unit = 68, digits = 135;

  void add_bits(std::uint64_t bits, std::size_t position, bool negative);
  /// Propagates carries. All digits except the highest are then from 0 to 2^32 − 1.
  void normalise();

  std::array<std::int64_t, digits> digits_{};  // base 2^32, lowest first
  std::uint32_t added_ = 0;                    // number of additions since the last normalise
};

}  // namespace cohort::detail
