// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cohort/execution/flat_simd.hpp>
#include <limits>
#include <vector>

namespace flat_simd_test {

using cohort::isa;

std::vector<isa> usable() {
  std::vector<isa> list;
  for (isa const which : {isa::baseline, isa::avx2, isa::avx512})
    if (which <= cohort::machine_isa()) list.push_back(which);
  return list;
}

template <class T>
class flat_simd : public testing::Test {};
using elements = testing::Types<float, double>;
TYPED_TEST_SUITE(flat_simd, elements);

TYPED_TEST(flat_simd, finds_a_non_finite_element_in_any_position) {
  using limits = std::numeric_limits<TypeParam>;
  for (isa const which : usable()) {
    for (std::size_t const n : {1, 7, 15, 16, 17, 33, 64, 100}) {
      std::vector<TypeParam> x(n, TypeParam(1.5));
      x[0] = limits::max();
      x[n - 1] = -limits::max();
      x[n / 2] = limits::denorm_min();
      EXPECT_TRUE(cohort::all_finite(which, x.data(), n));
      for (std::size_t i = 0; i < n; ++i) {
        TypeParam const kept = x[i];
        for (TypeParam const bad : {limits::infinity(), -limits::infinity(), limits::quiet_NaN(),
                                    -limits::quiet_NaN(), limits::signaling_NaN()}) {
          x[i] = bad;
          EXPECT_FALSE(cohort::all_finite(which, x.data(), n)) << name_of(which) << " n " << n << " at " << i;
        }
        x[i] = kept;
      }
    }
    EXPECT_TRUE(cohort::all_finite(which, static_cast<TypeParam const*>(nullptr), 0));
  }
}

TYPED_TEST(flat_simd, sums_parts_in_order_bitwise_equally_on_every_instruction_set) {
  std::size_t const n = 203;
  std::array<std::vector<TypeParam>, 5> parts;
  for (std::size_t p = 0; p < parts.size(); ++p)
    for (std::size_t i = 0; i < n; ++i)  // of different magnitudes, so that another order gives other bits
      parts[p].push_back(
          static_cast<TypeParam>(std::sin(double(i * 7 + p * 13)) * std::pow(10.0, double(p * 3 + i % 5))));
  for (isa const which : usable()) {
    for (int count = 1; count <= 5; ++count) {
      std::array<TypeParam const*, 5> pointers{};
      for (std::size_t p = 0; p < 5; ++p) pointers[p] = parts[p].data();
      std::vector<TypeParam> dst(n + 1, TypeParam(-7));
      cohort::sum_parts(which, dst.data(), pointers.data(), count, n);
      for (std::size_t i = 0; i < n; ++i) {
        TypeParam expected = parts[0][i];
        for (int p = 1; p < count; ++p) expected += parts[static_cast<std::size_t>(p)][i];
        ASSERT_EQ(dst[i], expected) << name_of(which) << " parts " << count << " at " << i;
      }
      EXPECT_EQ(dst[n], TypeParam(-7));
    }
  }
}

TYPED_TEST(flat_simd, sums_in_place_into_the_first_part) {
  for (isa const which : usable()) {
    std::vector<TypeParam> a(37, TypeParam(1));
    std::vector<TypeParam> const b(37, TypeParam(2));
    TypeParam const* const parts[] = {a.data(), b.data(), b.data()};
    cohort::sum_parts(which, a.data(), parts, 3, a.size());
    EXPECT_EQ(a, std::vector<TypeParam>(37, TypeParam(5)));
  }
}

}  // namespace flat_simd_test
