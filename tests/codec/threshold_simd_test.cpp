// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cohort/codec/detail/threshold_simd.hpp>
#include <limits>
#include <vector>

#include "../data/refused.hpp"
#include "gradients.hpp"

namespace threshold_simd_test {

using namespace cohort;
using detail::sent_element;

struct taken {
  std::vector<float> r;
  std::vector<sent_element> list;
  std::vector<sent_multiple> multiples;
};

taken take(isa which, std::vector<float> r, std::vector<float> const& x, float t, std::uint64_t first = 0) {
  taken result{std::move(r), std::vector<sent_element>(x.size() + detail::list_slack), {}};
  sent_element* end = result.list.data();
  detail::extract_above_threshold(which, result.r.data(), x.data(), x.size(), t, first, end,
                                  result.multiples);
  result.list.resize(static_cast<std::size_t>(end - result.list.data()));
  return result;
}

/// The value sent for each element.
std::vector<double> sent(taken const& from, std::size_t n, float t, std::uint64_t first) {
  std::vector<double> s(n);
  for (sent_element const one : from.list)
    s[one.index() - first % block_elements] += one.sign() ? -double{t} : double{t};
  for (sent_multiple const& one : from.multiples) s[one.index - first] += one.multiple * double{t};
  return s;
}

void expect_same(taken const& a, taken const& b) {
  for (std::size_t i = 0; i < a.r.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(a.r[i]), std::bit_cast<std::uint32_t>(b.r[i])) << i;
  ASSERT_EQ(a.list.size(), b.list.size());
  for (std::size_t i = 0; i < a.list.size(); ++i) ASSERT_EQ(a.list[i].word, b.list[i].word);
  ASSERT_EQ(a.multiples.size(), b.multiples.size());
  for (std::size_t i = 0; i < a.multiples.size(); ++i) {
    ASSERT_EQ(a.multiples[i].index, b.multiples[i].index);
    ASSERT_EQ(a.multiples[i].multiple, b.multiples[i].multiple);
  }
}

/// Checks the definition, in real numbers: the sent value plus the new residual equals y = r + x. If |y| < t,
/// nothing is sent. If t ≤ |y| ≤ 2¹⁶·t, ±t is sent.
void expect_conserved(isa which, std::vector<float> const& r, std::vector<float> const& x, float t,
                      std::uint64_t first = 0) {
  taken const result = take(which, r, x, t, first);
  std::vector<double> const s = sent(result, x.size(), t, first);
  for (std::size_t i = 0; i < x.size(); ++i) {
    float const y = r[i] + x[i];
    ASSERT_EQ(s[i] + double{result.r[i]}, double{y}) << name_of(which) << " t " << t << " y " << y;
    double const size = std::fabs(double{y});
    if (size <= 65'536 * double{t}) {
      ASSERT_EQ(s[i], size < double{t} ? 0 : std::copysign(double{t}, double{y}));
    } else {
      ASSERT_LT(std::fabs(double{result.r[i]}), std::ldexp(std::fabs(double{y}), -15));
      ASSERT_EQ(double{static_cast<float>(s[i])}, s[i]);
    }
  }
}

TEST(threshold_simd, keeps_unsent_elements_exactly) {
  for (isa const which : usable_isas())
    for (std::size_t const n : {0UL, 1UL, 63UL, 64UL, 65UL, 1000UL})
      for (float const t : {1e-3F, 0.1F, 1.0F, 30.0F, 1e-6F, 1e-12F})
        expect_conserved(which, gradient(n, 1, 0.3F), gradient(n, 2), bf16::nearest(t).value());
}

TEST(threshold_simd, keeps_residuals_exactly_at_every_magnitude_and_threshold) {
  random_stream const stream(3, "patterns");
  for (isa const which : usable_isas())
    for (std::uint64_t round = 0; round < 400; ++round) {
      int const exponent = static_cast<int>(stream.below(2 * round, 180)) - 90;
      float const t = bf16::nearest(std::ldexp(1 + stream.uniform01<float>(2 * round + 1), exponent)).value();
      bool const far = round % 2 != 0;  // whether a quarter of the elements exceeds 2¹⁶·t; otherwise none
      std::vector<float> const zeros(130);
      std::vector<float> y(130);
      for (std::size_t i = 0; i < y.size(); ++i) {  // all significant bits are used
        std::uint64_t const k = 1000 + 200 * round + i;
        int const above = static_cast<int>(stream.bits(k) % (far ? 34 : 24)) - 9;
        y[i] = std::ldexp(1 + stream.uniform01<float>(k), exponent + above);
        if (stream.bits(k) >> 40 & 1) y[i] = -y[i];
      }
      y[5] = t, y[6] = -t, y[7] = most_thresholds * t, y[8] = std::nextafter(t, 0.0F), y[10] = -0.0F;
      y[11] = -most_thresholds * t;
      y[far ? 9 : 100] = std::nextafter(most_thresholds * t, std::numeric_limits<float>::max());
      expect_conserved(which, zeros, y, t);
    }
}

TEST(threshold_simd, is_bitwise_equal_on_every_instruction_set_and_for_any_split) {
  std::size_t const n = 5003;
  std::vector<float> const r = gradient(n, 4), x = gradient(n, 5);
  for (float const t : {1e-5F, 0.25F, 2.0F, 100.0F}) {
    float const rounded = bf16::nearest(t).value();
    taken const expected = take(isa::baseline, r, x, rounded, block_elements - n);
    for (isa const which : usable_isas()) {
      expect_same(take(which, r, x, rounded, block_elements - n), expected);
      taken pieces{r, std::vector<sent_element>(n + detail::list_slack), {}};
      sent_element* end = pieces.list.data();
      for (std::size_t from = 0, size = 1; from < n; from += size, size = size * 2 + 1) {
        size = std::min(size, n - from);
        detail::extract_above_threshold(which, pieces.r.data() + from, x.data() + from, size, rounded,
                                        block_elements - n + from, end, pieces.multiples);
      }
      pieces.list.resize(static_cast<std::size_t>(end - pieces.list.data()));
      expect_same(pieces, expected);
    }
  }
}

TEST(threshold_simd, refuses_a_sum_that_is_not_finite) {
  for (isa const which : usable_isas()) {
    std::vector<float> x(200, 1.0F);
    x[130] = std::numeric_limits<float>::infinity();
    expect_parts(refused<numeric_error>([&] { take(which, std::vector<float>(200), x, 0.5F); }),
                 {"a residual is not finite", "element 130"});
  }
}

}  // namespace threshold_simd_test
