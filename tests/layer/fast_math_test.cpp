// SPDX-License-Identifier: Apache-2.0
// label: long
// flags: -O2 -ffast-math
// parts: detail error execution io tensor codec layer optimizer layer/host_kernels graph backend
// Passes over arrays, softmax, attention and the compressor, compiled with -ffast-math, as a consumer may do.
// The compiler then reorders sums and assumes that NaN and infinity do not occur.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cohort/execution/flat_simd.hpp>
#include <cohort/layer/attention.hpp>
#include <cohort/layer/detail/softmax_row.hpp>
#include <cohort/tensor/finite.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "../codec/threshold_simd_test.cpp"
#include "lone_layer.hpp"
#include "masked_steps.hpp"

namespace fast_math_test {

using namespace cohort;

TEST(fast_math, is_enabled_in_this_program) {
#if defined(__FAST_MATH__)
  constexpr bool has_flag = true;
#else
  constexpr bool has_flag = false;
#endif
  EXPECT_TRUE(has_flag) << "compile this file with -ffast-math";
}

TEST(fast_math, does_not_hide_non_finite_numbers) {
  for (isa const which : {isa::baseline, isa::avx2, isa::avx512}) {
    if (which > machine_isa()) continue;
    for (std::uint32_t const pattern : {0x7f800000U, 0xff800000U, 0x7fc00000U, 0x7f800001U}) {
      std::vector<float> x(50, 1.0F);
      EXPECT_TRUE(all_finite(which, x.data(), x.size()));
      for (std::size_t const at : {std::size_t{3}, std::size_t{49}}) {
        std::vector<float> bad = x;
        std::memcpy(&bad[at], &pattern, sizeof pattern);
        EXPECT_FALSE(all_finite(which, bad.data(), bad.size())) << name_of(which);
      }
    }
  }
  std::vector<double> y(9, 1.0);
  EXPECT_TRUE(all_finite(isa::baseline, y.data(), y.size()));
  std::uint64_t const pattern = 0x7ff8000000000000;
  std::memcpy(&y[8], &pattern, sizeof pattern);
  EXPECT_FALSE(all_finite(isa::baseline, y.data(), y.size()));
  EXPECT_FALSE(is_finite(y[8]));
}

bool is_nan(float x) { return (std::bit_cast<std::uint32_t>(x) & 0x7fffffffU) > 0x7f800000U; }

TEST(fast_math, softmax_is_accurate_and_returns_nan_for_invalid_logits) {
  for (isa const which : {isa::baseline, isa::avx2, isa::avx512}) {
    if (which > machine_isa()) continue;
    SCOPED_TRACE(name_of(which));
    constexpr std::size_t count = 77;
    std::vector<float> x(count), p(count);
    double total = 0;
    for (std::size_t i = 0; i < count; ++i) {
      x[i] = static_cast<float>(10 * std::sin(2.0 * static_cast<double>(i)));
      total += std::exp(static_cast<double>(x[i]));
    }
    detail::softmax_in_vectors(which, x.data(), p.data(), count);
    for (std::size_t i = 0; i < count; ++i) {
      double const wanted = std::exp(static_cast<double>(x[i])) / total;
      EXPECT_NEAR(static_cast<double>(p[i]), wanted, 1e-5 * wanted) << i;
    }
    for (std::uint32_t const invalid : {0x7fc00000U, 0xffc00000U, 0x7f800000U})  // NaN, −NaN, ∞
      for (std::size_t const at : {std::size_t{0}, std::size_t{9}, count - 1}) {
        std::vector<float> one(count, 1.0F);
        one[at] = std::bit_cast<float>(invalid);
        EXPECT_TRUE(is_nan(detail::softmax_in_vectors(which, one.data(), p.data(), count).total)) << at;
      }
  }
}

TEST(fast_math, masked_attention_agrees_with_double_precision) {
  constexpr int batch = 2, steps = 50, columns = 12;
  std::vector<double> exists(std::size_t{batch} * steps, 1);
  exists[0] = exists[1] = exists[17] = 0;
  std::fill_n(exists.begin() + steps, 4, 0.0);
  masked_steps const mask(exists, steps);
  std::vector<double> wide(std::size_t{batch} * steps * 3 * columns),
      diff(std::size_t{batch} * steps * columns);
  for (std::size_t i = 0; i < wide.size(); ++i)
    wide[i] = static_cast<double>(static_cast<float>(std::sin(1.3 * static_cast<double>(i))));
  for (std::size_t i = 0; i < diff.size(); ++i)
    diff[i] = exists[i / columns] * (static_cast<double>(i % 5) - 2);
  for (bool const causal : {false, true}) {  // causal: the first queries read no key
    attention const l{.heads = 2, .causal = causal};
    lone_layer<> exact(l, batch, {{steps, 3 * columns}}, {wide});
    lone_layer<float> made(l, batch, {{steps, 3 * columns}}, {{wide.begin(), wide.end()}});
    exact.mask = made.mask = &mask.mask;
    exact.forward();
    made.forward();
    for (std::size_t i = 0; i < exact.output.size(); ++i)
      ASSERT_NEAR(static_cast<double>(made.output[i]), exact.output[i], 1e-4) << causal << ' ' << i;
    exact.differentiate(diff);
    made.differentiate({diff.begin(), diff.end()});
    for (std::size_t i = 0; i < wide.size(); ++i)
      ASSERT_NEAR(static_cast<double>(made.diff_inputs[0][i]), exact.diff_inputs[0][i], 1e-4)
          << causal << ' ' << i;
  }
}

}  // namespace fast_math_test
