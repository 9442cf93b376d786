// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/layer/bounded_activations.hpp>
#include <cohort/layer/rectifying_activations.hpp>
#include <cohort/onednn/detail/activation_simd.hpp>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace activation_simd_test {

using namespace cohort;
using detail::curve;

constexpr curve curves[]{curve::softplus, curve::gelu, curve::gelu_tanh, curve::mish};

double exact(curve of, double x, bool derivative) {
  namespace f = detail::formula;
  auto const choose = [&](auto formula) {
    double const y = formula.value(x);
    return derivative ? formula.derivative(x, y) : y;
  };
  switch (of) {
    case curve::softplus:
      return choose(f::softplus{});
    case curve::gelu:
      return choose(f::gelu{});
    case curve::gelu_tanh:
      return choose(f::gelu_tanh{});
    default:
      return choose(f::mish{});
  }
}

template <class F>
void for_each_isa(F f) {
  for (isa const which : {isa::baseline, isa::avx2, isa::avx512})
    if (which <= machine_isa())
      for (curve const of : curves) {
        SCOPED_TRACE(std::string(name_of(which)) + ", curve " + std::to_string(static_cast<int>(of)));
        f(detail::activation_passes_for(of, which, false), of);
      }
}

TEST(activation_simd, is_within_the_documented_errors) {
  std::vector<float> x;
  for (float at = -120; at < 120; at += 0.0037F) x.push_back(at);
  for (float at = 1e-6F; at < 1; at *= 1.01F) x.insert(x.end(), {at, -at});
  std::vector<float> const ones(x.size(), 1);
  std::vector<float> y(x.size()), dx(x.size());
  for_each_isa([&](detail::activation_passes const& passes, curve of) {
    double const relative = of == curve::gelu_tanh ? 2.5e-5 : 1e-6;
    passes.forward(x.data(), y.data(), x.size());
    passes.backward(x.data(), ones.data(), dx.data(), x.size());
    int failures = 0;
    for (std::size_t i = 0; i < x.size() && failures < 5; ++i) {
      double const value = exact(of, x[i], false), slope = exact(of, x[i], true);
      constexpr double denormal = 1e-44;
      bool const is_near =
          std::abs(y[i] - value) <= relative * std::abs(value) + denormal * (1 + std::abs(x[i]));
      EXPECT_TRUE(is_near) << x[i] << ": " << y[i] << ", wanted " << value;
      bool const is_steep = std::abs(dx[i] - slope) <= relative * std::abs(slope) + 1e-6;
      EXPECT_TRUE(is_steep) << x[i] << ": derivative " << dx[i] << ", wanted " << slope;
      failures += !is_near + !is_steep;
      if (of == curve::softplus && x[i] > -103) {
        EXPECT_GT(y[i], 0) << x[i];
      }
    }
  });
}

TEST(activation_simd, has_no_cancellation_in_derivatives_far_below_0) {
  std::vector<float> x, ones, dx;
  for (float at = -80; at < -3; at += 0.01F) x.push_back(at);
  ones.assign(x.size(), 1);
  dx.resize(x.size());
  for_each_isa([&](detail::activation_passes const& passes, curve of) {
    passes.backward(x.data(), ones.data(), dx.data(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      double const slope = exact(of, x[i], true);
      if (std::abs(slope) < 1e-37) continue;
      ASSERT_NEAR(dx[i], slope, 3e-5 * std::abs(slope)) << x[i];
    }
  });
}

TEST(activation_simd, works_in_place_and_for_any_length) {
  for_each_isa([&](detail::activation_passes const& passes, curve of) {
    for (std::size_t n = 0; n < 70; ++n) {
      std::vector<float> x(n + 1), dy(n + 1), y(n + 1), dx(n + 1);
      for (std::size_t i = 0; i <= n; ++i) {
        x[i] = static_cast<float>(i) / 7 - 5;
        dy[i] = static_cast<float>(i % 5) - 2;
      }
      passes.forward(x.data(), y.data(), n);
      passes.backward(x.data(), dy.data(), dx.data(), n);
      std::vector<float> same = x, gradient = dy;
      passes.forward(same.data(), same.data(), n);
      passes.backward(x.data(), gradient.data(), gradient.data(), n);
      EXPECT_EQ(same[n], x[n]) << "beyond the end";
      EXPECT_EQ(gradient[n], dy[n]) << "beyond the end";
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(same[i], y[i]);
        EXPECT_EQ(gradient[i], dx[i]);
        EXPECT_NEAR(y[i], exact(of, x[i], false), 1e-5);
        EXPECT_NEAR(dx[i], dy[i] * exact(of, x[i], true), 1e-5);
      }
    }
  });
}

TEST(activation_simd, propagates_non_finite_numbers) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  float const x[]{std::nanf(""), infinity, 0}, ones[]{1, 1, 1};
  for_each_isa([&](detail::activation_passes const& passes, curve) {
    float y[3], dx[3];
    passes.forward(x, y, 3);
    passes.backward(x, ones, dx, 3);
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_TRUE(std::isnan(dx[0]));
    EXPECT_EQ(y[1], infinity);
  });
}

}  // namespace activation_simd_test
