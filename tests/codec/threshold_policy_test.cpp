// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cohort/codec/threshold_policy.hpp>
#include <limits>
#include <vector>

#include "../data/refused.hpp"
#include "gradients.hpp"

namespace threshold_policy_test {

using namespace cohort;

TEST(threshold_policy, fixed_never_changes) {
  threshold_policy const policy = threshold::fixed{2e-3};
  EXPECT_EQ(policy.next(2e-3, 0), 2e-3);
  EXPECT_EQ(policy.next(2e-3, 1), 2e-3);
}

TEST(threshold_policy, adaptive_moves_if_the_density_is_outside_the_band) {
  threshold_policy const policy = threshold::adaptive{};
  EXPECT_EQ(policy.next(1e-3, 1e-3), 1e-3);
  EXPECT_EQ(policy.next(1e-3, 1e-4), 1e-3);
  EXPECT_EQ(policy.next(1e-3, 1e-2), 1e-3);
  double t = 1e-3;
  for (int message = 0; message < 20; ++message) t = policy.next(t, 9e-5);
  EXPECT_NEAR(t, 5e-4, 1e-12) << "twenty messages halve it";
  for (int message = 0; message < 40; ++message) t = policy.next(t, 1.1e-2);
  EXPECT_NEAR(t, 2e-3, 1e-12);
}

TEST(threshold_policy, target_density_moves_the_threshold_towards_the_requested_density) {
  threshold_policy const policy = threshold::target_density{.density = 1e-2, .initial = 1, .factor = 0.5};
  EXPECT_EQ(policy.next(1, 0.9e-2), 0.5);
  EXPECT_EQ(policy.next(1, 1.1e-2), 2);
  EXPECT_EQ(policy.next(1, 1e-2), 1);
}

TEST(threshold_policy, stays_between_its_bounds) {
  threshold_policy const policy = threshold::adaptive{};
  double t = 1;
  for (int message = 0; message < 5000; ++message) t = policy.next(t, 0);
  EXPECT_EQ(t, double{smallest_threshold});
  for (int message = 0; message < 10'000; ++message) t = policy.next(t, 1);
  EXPECT_EQ(t, double{largest_threshold});
}

TEST(threshold_policy, refuses_invalid_settings) {
  auto const refusal = [](threshold_policy policy) {
    return refused<setting_error>([&] { policy.check(); });
  };
  expect_parts(refusal(threshold::fixed{0}), {"fixed.initial", "got 0"});
  expect_parts(refusal(threshold::fixed{1e40}), {"fixed.initial"});
  expect_parts(refusal(threshold::fixed{std::numeric_limits<double>::quiet_NaN()}), {"fixed.initial"});
  expect_parts(refusal(threshold::adaptive{.lo = 2e-2}), {"adaptive.lo", "at most hi"});
  expect_parts(refusal(threshold::adaptive{.hi = 1.5}), {"adaptive.hi"});
  expect_parts(refusal(threshold::adaptive{.factor = 1}), {"adaptive.factor"});
  expect_parts(refusal(threshold::target_density{.density = 0}), {"target_density.lo"});
  expect_parts(refusal(threshold::quantile{.sample = 0}), {"quantile.sample"});
  for (threshold_policy const good :
       {threshold_policy(), threshold_policy(threshold::fixed{}), threshold_policy(threshold::adaptive{}),
        threshold_policy(threshold::target_density{}), threshold_policy(threshold::quantile{.density = 1})})
    EXPECT_NO_THROW(good.check());
}

double share_above(std::vector<float> const& r, std::vector<float> const& x, float t) {
  double count = 0;
  for (std::size_t i = 0; i < r.size(); ++i) count += std::fabs(r[i] + x[i]) >= t;
  return count / static_cast<double>(r.size());
}

TEST(thresholds, of_a_quantile_have_the_requested_density_from_the_first_message) {
  std::size_t const n = 2'000'000;
  std::vector<float> const r = gradient(n, 1, 0.5F), x = gradient(n, 2);
  std::uint64_t const ends[]{n};
  for (double const density : {1e-3, 1e-2, 0.1}) {
    thresholds all(threshold::quantile{.density = density}, 1);
    for (std::uint64_t step = 0; step < 3; ++step) {
      double const share = share_above(r, x, all.choose(r, x, ends, step)[0].value());
      // Four standard deviations of a binomial sample, and bf16's spacing of 0.8 % in t.
      EXPECT_NEAR(share, density, density * (4 / std::sqrt(32'768 * density) + 0.05)) << density;
    }
  }
}

TEST(thresholds, of_a_quantile_use_all_elements_of_a_small_tensor) {
  std::vector<float> r(100), x(100);
  for (std::size_t i = 0; i < 100; ++i) x[i] = (i % 2 ? -1.0F : 1.0F) * static_cast<float>(i + 1) / 128;
  std::uint64_t const ends[]{100};
  thresholds all(threshold::quantile{.density = 0.1}, 1);
  float const t = all.choose(r, x, ends, 0)[0].value();
  EXPECT_GT(t, 90.0F / 128);
  EXPECT_LE(t, 91.0F / 128);
}

TEST(thresholds, of_a_quantile_send_the_largest_element_of_a_small_tensor) {
  std::vector<float> const r(500);
  std::vector<float> x(500, 0.01F);
  std::uint64_t const ends[]{500};
  thresholds all(threshold::quantile{.density = 1e-3}, 1);
  EXPECT_EQ(share_above(r, x, all.choose(r, x, ends, 0)[0].value()), 1);
  x[3] = 0.5F;
  EXPECT_EQ(share_above(r, x, all.choose(r, x, ends, 1)[0].value()), 1.0 / 500);
}

TEST(thresholds, of_zeros_do_not_change) {
  std::vector<float> const zeros(1000);
  std::uint64_t const ends[]{1000};
  thresholds all(threshold::quantile{}, 1);
  EXPECT_EQ(all.choose(zeros, zeros, ends, 0)[0], bf16::nearest(1e-3F));
}

TEST(thresholds, are_separate_for_each_tensor) {
  std::vector<float> r(3000), x = gradient(3000, 1);
  for (std::size_t i = 1000; i < 3000; ++i) x[i] *= 64;
  std::uint64_t const ends[]{1000, 3000};
  thresholds each(threshold::quantile{.density = 0.01}, 2);
  auto const t = each.choose(r, x, ends, 0);
  EXPECT_GT(t[1].value(), 16 * t[0].value());

  thresholds moved(threshold::target_density{.density = 0.5, .initial = 1, .factor = 0.5}, 2);
  moved.observe(1, 0.75);
  EXPECT_EQ(moved.choose(r, x, ends, 0)[0].value(), 1);
  EXPECT_EQ(moved.choose(r, x, ends, 0)[1].value(), 2);
}

TEST(thresholds, resume_from_their_state_and_refuse_an_invalid_state) {
  thresholds first(threshold::adaptive{}, 2);
  first.observe(0, 0);
  first.observe(1, 1);
  thresholds second(threshold::adaptive{}, 2);
  second.restore(first.state());
  EXPECT_EQ(second.state()[0], first.state()[0]);
  EXPECT_EQ(second.state()[1], first.state()[1]);
  std::vector<double> const few{1.0};
  std::vector<double> const bad{1.0, -1.0};
  expect_parts(refused<data_error>([&] { second.restore(few); }), {"cannot restore thresholds", "got 1"});
  expect_parts(refused<data_error>([&] { second.restore(bad); }), {"out of range"});
}

}  // namespace threshold_policy_test
