// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/tensor/finite.hpp>
#include <limits>

namespace finite_test {

using cohort::is_finite;

template <class T>
void tells_finite_numbers() {
  using limits = std::numeric_limits<T>;
  for (T const x : {T{0}, -T{0}, T{1}, limits::max(), limits::lowest(), limits::denorm_min()})
    EXPECT_TRUE(is_finite(x)) << x;
  for (T const x : {limits::infinity(), -limits::infinity(), limits::quiet_NaN(), -limits::signaling_NaN()})
    EXPECT_FALSE(is_finite(x)) << x;
}

TEST(is_finite, is_false_only_for_infinities_and_nan) {
  tells_finite_numbers<float>();
  tells_finite_numbers<double>();
}

}  // namespace finite_test
