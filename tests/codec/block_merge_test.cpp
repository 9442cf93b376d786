// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/codec/threshold_compressor.hpp>
#include <vector>

#include "gradients.hpp"

namespace block_merge_test {

using namespace cohort;

/// A message about 70,000 elements with one threshold, and the values that it contains.
struct sent {
  std::vector<float> x;
  message_bytes bytes;

  sent(std::vector<std::pair<std::size_t, float>> elements, float t, std::uint32_t rank) : x(70'000) {
    for (auto const& [at, value] : elements) x[at] = value;
    threshold_compressor codec({{"all", x.size()}}, {.threshold = threshold::fixed{t}});
    std::vector<float> r(x.size());
    bytes = kept(codec.encode({.rank = rank}, r, x));
  }
};

struct merged {
  std::vector<float> r, brings;
  merged(sent const& lower, sent const& upper, std::vector<std::pair<std::size_t, float>> residual)
      : r(70'000), brings(70'000) {
    for (auto const& [at, value] : residual) r[at] = value;
    threshold_compressor codec({{"all", r.size()}}, {.threshold = threshold::fixed{1}});
    message_bytes const both = kept(codec.merge(lower.bytes, upper.bytes, {.ranks = 4}, r));
    codec.decode_add(both, {.ranks = 4}, 1, brings);
  }
};

TEST(block_merge, sends_entries_above_the_larger_threshold_and_keeps_the_rest) {
  sent const lower({{3, 1}, {10, -1}, {11, 1}, {65'536, 1}, {69'999, 1}}, 1, 0);
  sent const upper({{3, 0.5}, {10, -0.5}, {11, -0.5}, {20, 0.5}, {21, 0.5}, {69'999, -0.5}}, 0.5, 1);
  merged const both(lower, upper, {{10, -0.25}, {20, 0.5}, {40, 7}});
  auto const expect = [&](std::size_t at, float brings, float stays) {
    EXPECT_EQ(both.brings[at], brings) << at;
    EXPECT_EQ(both.r[at], stays) << at;
  };
  expect(3, 1, 0.5);
  expect(10, -1, -0.75);
  expect(11, 0, 0.5);
  expect(20, 1, 0);
  expect(21, 0, 0.5);
  expect(40, 0, 7);  // not accessed, because no message has elements in this block
  expect(65'536, 1, 0);
  expect(69'999, 0, 0.5);
}

TEST(block_merge, adds_multiples_to_the_entries_of_the_other_message) {
  sent const lower({{3, 131'072}, {10, 1}, {69'999, -131'072}}, 1, 0);
  sent const upper({{3, 1}, {10, 131'072}, {11, 1}, {69'999, 131'072}}, 1, 1);
  merged const both(lower, upper, {});
  EXPECT_EQ(both.brings[3] + both.r[3], 131'073);
  EXPECT_GE(both.brings[3], 131'072);
  EXPECT_EQ(both.brings[10] + both.r[10], 131'073);
  EXPECT_EQ(both.brings[11], 1);
  EXPECT_EQ(both.brings[69'999], 0);
  EXPECT_EQ(both.r[69'999], 0);
}

}  // namespace block_merge_test
