// SPDX-License-Identifier: Apache-2.0
// Requirements on all compressors.
#include <gtest/gtest.h>

#include <cohort/codec/compressor.hpp>
#include <cohort/codec/threshold_compressor.hpp>
#include <cohort/codec/top_k_compressor.hpp>
#include <vector>

#include "../plan/counted_new.hpp"
#include "gradients.hpp"

namespace compressor_test {

using namespace cohort;

struct not_one {
  std::span<std::byte const> encode(message_stamp const&, std::span<float>, std::span<float const>);
};
static_assert(!compressor<not_one>);
static_assert(!compressor<message_codec>);

constexpr expected_messages any{.last_step = 1000, .ranks = 4};

template <class C>
class every_compressor : public testing::Test {};
using compressors = testing::Types<threshold_compressor, top_k_compressor>;
TYPED_TEST_SUITE(every_compressor, compressors);

TYPED_TEST(every_compressor, conserves_the_sum_of_gradients_over_ranks_and_steps) {
  std::size_t const n = 70'000;
  TypeParam codec({{"all", n}});
  std::vector<std::vector<float>> r(4, std::vector<float>(n));
  std::vector<float> sum(n);
  std::vector<double> given(n);
  for (std::uint64_t step = 0; step < 10; ++step) {
    std::vector<message_bytes> messages;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      std::vector<float> const x = gradient(n, 4 * step + rank);
      for (std::size_t i = 0; i < n; ++i) given[i] += double{x[i]};
      messages.push_back(kept(codec.encode({.step = step, .rank = rank}, r[rank], x)));
    }
    messages[0] = kept(codec.merge(messages[0], messages[1], any, r[0]));
    messages[2] = kept(codec.merge(messages[2], messages[3], any, r[2]));
    codec.decode_add(kept(codec.merge(messages[0], messages[2], any, r[0])), any, 1, sum);
  }
  for (std::size_t i = 0; i < n; ++i) {
    double const left = double{r[0][i]} + double{r[1][i]} + double{r[2][i]} + double{r[3][i]};
    ASSERT_NEAR(double{sum[i]} + left, given[i], 2e-4) << i;
  }
}

TYPED_TEST(every_compressor, merges_in_place_with_the_same_result_as_a_copy) {
  std::size_t const n = 70'000;
  TypeParam codec({{"all", n}}), other({{"all", n}});
  std::vector<float> const x = gradient(n, 1);
  std::vector<float> r(n), again(n), theirs(n);
  std::vector<message_bytes> upper;
  for (std::uint32_t const rank : {1U, 2U}) upper.push_back(kept(other.encode({.rank = rank}, theirs, x)));
  upper.push_back(kept(other.nothing({.rank = 3})));
  upper.push_back(kept(other.encode({.rank = 4}, theirs, x)));
  constexpr expected_messages five{.ranks = 5};
  message_bytes copied = kept(codec.encode({}, r, x));
  for (message_bytes const& one : upper) copied = kept(codec.merge(copied, one, five, r));
  std::span<std::byte const> message = codec.encode({}, again, x);
  for (message_bytes const& one : upper) message = codec.merge(message, one, five, again);
  EXPECT_EQ(kept(message), copied);
  EXPECT_EQ(header_in(message).ranks, 5U);
  EXPECT_EQ(r, again);
}

TYPED_TEST(every_compressor, does_not_allocate_after_the_first_messages) {
  if (!counts_allocations) GTEST_SKIP() << "the sanitizer has its own operator new";
  std::size_t const n = 200'000;
  team workers(2);
  for (team* const by : {static_cast<team*>(nullptr), &workers}) {
    TypeParam codec({{"all", n}}, {}, by);
    TypeParam other({{"all", n}});
    std::vector<float> const x = gradient(n, 1);
    std::vector<float> r(n), mine(n), sum(n);
    message_bytes const upper = kept(other.encode({.rank = 1}, r, x));
    for (int round = 0; round < 3; ++round) {
      std::fill(mine.begin(), mine.end(), 0.0F);
      allocations = 0;
      counting = round == 2;
      codec.encode({}, mine, x);
      counting = false;
      EXPECT_EQ(allocations, 0) << "encode";
      std::fill(mine.begin(), mine.end(), 0.0F);
      message_bytes const lower = kept(codec.encode({}, mine, x));
      counting = round == 2;
      codec.merge(lower, upper, any, mine);
      codec.decode_add(lower, any, 1, sum);
      counting = false;
      EXPECT_EQ(allocations, 0) << "merge or decode";
    }
  }
}

}  // namespace compressor_test
