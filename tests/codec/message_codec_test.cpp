// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/codec/message_codec.hpp>
#include <cohort/codec/threshold_compressor.hpp>
#include <vector>

#include "gradients.hpp"

namespace message_codec_test {

using namespace cohort;

tensor_table const table{{"a", 70'000}, {"b", 10}};
constexpr expected_messages any{.last_step = 1000, .ranks = 64};

TEST(message_codec, adds_the_entries_of_a_message_scaled_by_a_factor) {
  std::size_t const n = table.elements();
  threshold_compressor codec(table, {.threshold = threshold::fixed{0.5}});
  std::vector<float> r(n);
  message_bytes const message = kept(codec.encode({.rank = 3, .examples = 8}, r, gradient(n, 1)));
  std::vector<float> once(n), sum = gradient(n, 2);
  std::vector<float> const before = sum;
  codec.decode_add(message, any, 1, once);
  message_header const header = codec.decode_add(message, any, 0.3F, sum);
  EXPECT_EQ(header.rank, 3U);
  EXPECT_EQ(header.examples, 8U);
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(sum[i], before[i] + once[i] * 0.3F);
}

TEST(message_codec, reads_messages_with_a_threshold_per_tensor_and_a_partial_block) {
  tensor_table const small{{"a", 3}, {"b", 1}, {"c", 5}};
  std::vector<double> const t{1, 8, 0.25};
  threshold_compressor codec(small, {.threshold = threshold::adaptive{.initial = 1}, .per_tensor = true});
  codec.restore(t);
  std::vector<float> r(9), dense(9);
  codec.decode_add(kept(codec.encode({}, r, std::vector<float>{1, -2, 0.5, 9, 0.5, -0.25, 0.125, 0, 3})), any,
                   1, dense);
  EXPECT_EQ(dense, (std::vector<float>{1, -1, 0, 8, 0.25, -0.25, 0, 0, 0.25}));
}

TEST(message_codec, reports_non_finite_and_empty_gradients) {
  message_codec codec(table);
  std::vector<float> const before = gradient(table.elements(), 2);
  std::vector<float> sum = before;
  message_bytes const bad = kept(codec.not_finite({.rank = 5, .flags = 2}));
  message_bytes const none = kept(codec.nothing({.rank = 6}));
  EXPECT_EQ(bad.size(), 96U);
  EXPECT_EQ(codec.decode_add(bad, any, 1, sum).kind, message_kind::not_finite);
  EXPECT_EQ(codec.decode_add(none, any, 1, sum).kind, message_kind::nothing);
  EXPECT_EQ(header_in(bad).flags, 2U);
  EXPECT_EQ(sum, before);
}

TEST(message_report, computes_the_entropy_of_a_message) {
  message_report const half{.elements = 1000, .sent = 500};
  EXPECT_DOUBLE_EQ(half.entropy_bytes(), 1000 * 1.5 / 8);
  message_report const tenth{.elements = 1000, .sent = 100};
  EXPECT_NEAR(tenth.entropy_bytes(), 1000 * (0.468996 + 0.1) / 8, 1e-3);
  EXPECT_EQ((message_report{.elements = 1000, .sent = 0}).entropy_bytes(), 0);
  EXPECT_EQ((message_report{.elements = 1000, .sent = 1000}).entropy_bytes(), 125);
  EXPECT_EQ(message_report{}.density(), 0);
}

}  // namespace message_codec_test
