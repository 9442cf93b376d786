// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/codec/residual_pass.hpp>
#include <cohort/layer/dropout.hpp>
#include <cohort/tensor/bf16.hpp>
#include <limits>
#include <vector>

#include "kernel_on_host.hpp"

namespace cudnn_kernels_test {

using namespace cohort;

std::vector<float> normal_numbers(std::size_t n, std::uint64_t seed) {
  random_stream const from(seed, "numbers");
  std::vector<float> numbers(n);
  for (std::size_t i = 0; i < n; ++i) numbers[i] = from.normal<float>(i);
  return numbers;
}

TEST(kernels, draw_the_words_of_random_streams) {
  random_stream const numbers(7, "counters");
  for (std::uint64_t i = 0; i < 1000; ++i) {
    std::uint64_t const low = numbers.bits(3 * i), high = numbers.bits(3 * i + 1),
                        key = numbers.bits(3 * i + 2);
    detail::kernels::random_words const got = detail::kernels::philox(low, high, key);
    detail::philox_words const wanted = detail::philox(low, high, key);
    for (std::size_t k = 0; k < 4; ++k) ASSERT_EQ(got.v[k], wanted[k]) << i;
  }
}

TEST(kernels, drop_what_the_layer_drops) {
  constexpr std::size_t elements = 1030, examples = 3;  // elements: no multiple of 4
  constexpr double rate = 0.3;
  std::vector<long long> const indices{5, 123456789012, 0};
  random_stream const stream(11, "dropout_1", 42);
  std::vector<float> const x = normal_numbers(elements * examples, 1);
  std::vector<float> wanted(x.size());
  auto const factor = static_cast<float>(1 / (1 - rate));
  for (std::size_t n = 0; n < examples; ++n)
    detail::each_of_mask(stream.at(static_cast<std::uint64_t>(indices[n])), rate, elements,
                         [&](std::size_t i, bool kept) {
                           std::size_t const at = n * elements + i;
                           wanted[at] = (kept ? factor : 0.F) * x[at];
                         });
  std::vector<float> got(x.size());
  auto const dropped_below = static_cast<unsigned>(rate * 0x1p32);
  run_on_host(detail::kernels::dropout{x.data(), got.data(), indices.data(), elements, stream.key(),
                                       dropped_below, factor},
              examples * ((elements + 3) / 4));
  EXPECT_EQ(got, wanted);
  EXPECT_NEAR(static_cast<double>(std::count(got.begin(), got.end(), 0.F)) / static_cast<double>(got.size()),
              rate, 0.03);
}

TEST(kernels, clip_residuals_as_the_codec_does) {
  constexpr std::size_t n = 5000;
  std::vector<float> got = normal_numbers(n, 5), wanted = got;
  std::vector<double> chunks(2);
  run_on_host(detail::kernels::clip_residual{got.data(), 0.5F, chunks.data()}, n);
  double const mass = clip_residual(isa::baseline, wanted, 0.5F);
  EXPECT_EQ(got, wanted);
  EXPECT_NEAR(chunks[0] + chunks[1], mass, 1e-3);
}

TEST(kernels, round_to_bf16_and_back) {
  std::vector<float> const x{1, -2.5F, 1.00390625F, 1.01171875F, 3e38F, 3.4e38F, 1e-40F, -0.F};
  std::vector<unsigned short> narrow(x.size());
  std::vector<float> back(x.size());
  run_on_host(detail::kernels::to_bf16{x.data(), narrow.data()}, x.size());
  run_on_host(detail::kernels::from_bf16{narrow.data(), back.data()}, x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(narrow[i], bf16::nearest(x[i]).pattern) << x[i];
    EXPECT_EQ(back[i], bf16::nearest(x[i]).value()) << x[i];
  }
  EXPECT_EQ(back[2], 1.F) << "a tie goes to the even one";
  EXPECT_EQ(back[3], 1.015625F) << "a tie goes to the even one";
}

TEST(kernels, scale) {
  std::vector<float> x = normal_numbers(777, 6);
  std::vector<float> const before = x;
  run_on_host(detail::kernels::scale{x.data(), -2.F}, x.size());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], -2.F * before[i]);
}

}  // namespace cudnn_kernels_test
