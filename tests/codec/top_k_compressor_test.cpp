// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cohort/codec/compressor.hpp>
#include <cohort/codec/top_k_compressor.hpp>
#include <limits>
#include <string>
#include <vector>

#include "../data/refused.hpp"
#include "gradients.hpp"

namespace top_k_compressor_test {

using namespace cohort;

static_assert(compressor<top_k_compressor>);

constexpr expected_messages any{.last_step = 1000, .ranks = 64};

std::vector<float> decoded(message_codec& codec, std::span<std::byte const> message) {
  std::vector<float> s(codec.table().elements());
  codec.decode_add(message, any, 1, s);
  return s;
}

TEST(top_k_compressor, sends_the_largest_elements_unchanged_and_keeps_the_rest) {
  for (std::size_t const n : {1UL, 1000UL, 150'001UL})
    for (double const density : {1e-3, 0.05, 0.9, 1.0}) {
      top_k_compressor codec({{"all", n}}, {.density = density});
      std::vector<float> r = gradient(n, 1, 0.1F), y = gradient(n, 2);
      std::vector<float> const x = y;
      for (std::size_t i = 0; i < n; ++i) y[i] = r[i] + x[i];
      message_bytes const message = kept(codec.encode({}, r, x));
      std::vector<float> const s = decoded(codec, message);
      std::size_t sent = 0;
      float smallest_sent = 1e30F, largest_kept = 0;
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(s[i] + r[i], y[i]);
        ASSERT_TRUE(s[i] == 0 || r[i] == 0);
        sent += s[i] != 0;
        if (s[i] != 0) smallest_sent = std::min(smallest_sent, std::fabs(s[i]));
        largest_kept = std::max(largest_kept, std::fabs(r[i]));
      }
      EXPECT_EQ(sent, static_cast<std::size_t>(std::ceil(density * static_cast<double>(n))));
      EXPECT_EQ(codec.report().sent, sent);
      EXPECT_LE(largest_kept, smallest_sent * (1 + 0x1p-7F)) << "magnitudes are told apart by 8 bits";
    }
}

TEST(top_k_compressor, sends_the_first_of_equal_elements_and_never_zeros) {
  top_k_compressor codec({{"all", 100'000}}, {.density = 0.8});
  std::vector<float> r(100'000), x(100'000);
  for (std::size_t i = 0; i < x.size(); i += 2) x[i] = -1;
  std::vector<float> const s = decoded(codec, kept(codec.encode({}, r, x)));
  EXPECT_EQ(s, x) << "fewer than wanted";
  top_k_compressor few({{"all", 100'000}}, {.density = 0.4});
  std::fill(r.begin(), r.end(), 0.0F);
  std::vector<float> const first = decoded(few, kept(few.encode({}, r, x)));
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(first[i], i < 80'000 ? x[i] : 0) << i;
}

TEST(top_k_compressor, writes_the_same_bytes_on_any_instruction_set_and_team) {
  std::size_t const n = 300'000;
  std::vector<float> x = gradient(n, 1);
  for (float& one : x) one = bf16::nearest(one).value();  // many equals
  std::vector<float> expected_r(n);
  top_k_compressor plain({{"all", n}}, {.density = 0.013}, nullptr, isa::baseline);
  message_bytes const a = kept(plain.encode({}, expected_r, x));
  message_bytes const b = kept(plain.encode({.rank = 1}, expected_r, x));
  std::vector<float> const before = expected_r;
  message_bytes const merged = kept(plain.merge(a, b, any, expected_r));
  for (isa const which : usable_isas())
    for (int const size : {2, 5}) {
      team workers(size);
      top_k_compressor codec({{"all", n}}, {.density = 0.013}, &workers, which);
      std::vector<float> r(n);
      EXPECT_EQ(kept(codec.encode({}, r, x)), a);
      EXPECT_EQ(kept(codec.encode({.rank = 1}, r, x)), b);
      EXPECT_EQ(r, before);
      EXPECT_EQ(kept(codec.merge(a, b, any, r)), merged);
      EXPECT_EQ(r, expected_r);
    }
}

TEST(top_k_compressor, conserves_the_gradient_in_a_merge) {
  std::size_t const n = 100'000;
  top_k_compressor codec({{"all", n}}, {.density = 0.01});
  std::vector<float> r(n), other(n);
  message_bytes const a = kept(codec.encode({}, r, gradient(n, 1)));
  message_bytes const b = kept(codec.encode({.rank = 1}, other, gradient(n, 2)));
  std::vector<float> const sa = decoded(codec, a), sb = decoded(codec, b), before = r;
  message_bytes const both = kept(codec.merge(a, b, any, r));
  EXPECT_EQ(codec.report().sent, 1000U);
  std::vector<float> const s = decoded(codec, both);
  for (std::size_t i = 0; i < n; ++i) {
    float const y = before[i] + sa[i] + sb[i];
    ASSERT_EQ(s[i] + r[i], y) << i;
    ASSERT_TRUE(s[i] == 0 || r[i] == 0);
  }
}

TEST(top_k_compressor, refuses_a_residual_that_is_not_finite) {
  for (float const worst : {1e38F, -1e38F, std::numeric_limits<float>::quiet_NaN()}) {
    top_k_compressor codec({{"all", 70'000}}, {.density = 0.01});
    std::vector<float> r(70'000, 1.0F), x(70'000, 1.0F);
    r[66'000] = 3.4e38F;
    x[66'000] = std::copysign(3e38F, worst);
    if (worst != worst) x[66'000] = worst;
    bool const finite = std::isfinite(r[66'000] + x[66'000]);
    try {
      codec.encode({}, r, x);
      EXPECT_TRUE(finite);
    } catch (numeric_error const& why) {
      EXPECT_FALSE(finite);
      EXPECT_NE(std::string(why.what()).find("element 66000"), std::string::npos) << why.what();
    }
  }
}

TEST(top_k_compressor, refuses_invalid_settings) {
  expect_parts(refused<setting_error>([] {
                 top_k_compressor({{"a", 5}}, {.density = 0});
               }),
               {"top_k.density"});
  top_k_compressor codec({{"a", 5}});
  std::vector<double> const state{1};
  expect_parts(refused<data_error>([&] { codec.restore(state); }), {"cannot restore top_k"});
  EXPECT_NO_THROW(codec.restore(codec.state()));
}

}  // namespace top_k_compressor_test
