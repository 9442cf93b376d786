// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cohort/communicator/detail/combine.hpp>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace combine_test {

using namespace cohort;

template <class T>
std::vector<T> combined(std::vector<T> dst, std::vector<T> const& src, reduction how) {
  detail::combine(best_isa(), std::span(dst), reinterpret_cast<std::byte const*>(src.data()), how);
  return dst;
}

TEST(combine, wraps_integer_sums_on_overflow) {
  EXPECT_EQ(combined<std::uint8_t>({250, 3}, {10, 4}, reduction::sum), (std::vector<std::uint8_t>{4, 7}));
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(combined<std::int32_t>({most, -5}, {1, 3}, reduction::sum),
            (std::vector<std::int32_t>{-most - 1, -2}));
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(combined<std::int64_t>({least}, {-1}, reduction::sum),
            (std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max()}));
  EXPECT_EQ(combined<std::uint64_t>({~std::uint64_t{0}}, {2}, reduction::sum),
            (std::vector<std::uint64_t>{1}));
}

TEST(combine, computes_the_maximum_of_signed_numbers) {
  EXPECT_EQ(combined<std::int32_t>({-3, 2}, {-4, 7}, reduction::maximum), (std::vector<std::int32_t>{-3, 7}));
  EXPECT_EQ(combined<float>({-3, 2}, {-4, 7}, reduction::maximum), (std::vector<float>{-3, 7}));
  EXPECT_EQ(combined<std::uint8_t>({200}, {100}, reduction::maximum), (std::vector<std::uint8_t>{200}));
}

TEST(combine, propagates_a_nan_from_either_side) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinite = std::numeric_limits<float>::infinity();
  for (reduction const how : {reduction::sum, reduction::maximum})
    for (float const x : combined<float>({nan, infinite, nan}, {1, nan, nan}, how))
      EXPECT_TRUE(detail::is_nan(x));
  EXPECT_FALSE(detail::is_nan(infinite));
  EXPECT_FALSE(detail::is_nan(-std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(detail::is_nan(-std::numeric_limits<double>::quiet_NaN()));
}

TEST(combine, rounds_bf16_to_nearest_even) {
  auto const bits = [](float x) { return bf16::nearest(x).pattern; };
  EXPECT_EQ(bits(1.0F), 0x3f80);
  EXPECT_EQ(bits(1.0F + 0x1p-8F), 0x3f80);             // halfway between 1 and the next number
  EXPECT_EQ(bits(1.0F + 0x1p-8F + 0x1p-20F), 0x3f81);  // above halfway
  EXPECT_EQ(bits(1.0F + 0x3p-8F), 0x3f82);             // halfway, the other neighbour is even
  EXPECT_EQ(bits(-1.0F - 0x3p-8F), 0xbf82);
  EXPECT_EQ(bits(std::numeric_limits<float>::max()), 0x7f80);  // rounds to infinity
  EXPECT_EQ(bits(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_TRUE(
      detail::is_nan(bf16::nearest(std::bit_cast<float>(0x7f80'0001U)).value()));  // not rounded to infinity
  for (std::uint32_t pattern = 0; pattern < 0x1'0000; ++pattern) {
    bf16 const same{static_cast<std::uint16_t>(pattern)};
    ASSERT_TRUE(detail::is_nan(same.value()) || bits(same.value()) == pattern) << pattern;
  }
}

TEST(combine, adds_bf16_in_f32) {
  bf16 dst[] = {bf16::nearest(256), bf16::nearest(1)};
  bf16 const src[] = {bf16::nearest(1), bf16::nearest(0x1p-7F)};
  detail::combine(best_isa(), {reinterpret_cast<std::byte*>(dst), element_type::bf16, 2},
                  reinterpret_cast<std::byte const*>(src), reduction::sum);
  EXPECT_EQ(dst[0].value(), 256.0F);  // 257 is halfway to 258
  EXPECT_EQ(dst[1].value(), 1 + 0x1p-7F);
}

}  // namespace combine_test
