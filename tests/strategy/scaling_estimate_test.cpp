// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/strategy/scaling_estimate.hpp>
#include <vector>

namespace scaling_estimate_test {

using namespace cohort;

constexpr link_cost slow{.latency = 1e-3, .bytes_per_second = 1e6};

constexpr bool near(double a, double b) { return a - b < 1e-12 && b - a < 1e-12; }
constexpr double step(scaling_costs const& of, int ranks) { return estimate_scaling(of, ranks).step_seconds; }

// Computed by hand for a latency of 1 ms, 1 MB/s and a step of 1 s.
constexpr scaling_costs ring{.step_seconds = 1, .bytes = 4e6, .decode_seconds = 0.5, .link = slow};
static_assert(near(step(ring, 4), 1 + 12e-3 + 6 + 0.5));  // 2 segments, 2·3 messages each, 2·3/4·4 s
static_assert(near(step(ring, 3), 1 + 12e-3 + 16.0 / 3 + 0.5));  // 3 segments, 2·2 messages each, 2·2/3·4 s
constexpr scaling_costs halving{.step_seconds = 1, .bytes = 64e3, .link = slow};
static_assert(near(step(halving, 8), 1 + 6e-3 + 0.112));                 // 2·3 messages, 2·7/8·64 ms
static_assert(near(step(halving, 6), 1 + 4e-3 + 0.096 + 2e-3 + 0.128));  // among 4, plus within pairs
constexpr scaling_costs doubling{.step_seconds = 1, .bytes = 1e4, .link = slow};
static_assert(near(step(doubling, 8), 1 + 3e-3 + 0.03));
static_assert(near(step(doubling, 9), 1 + 3e-3 + 0.03 + 2e-3 + 0.02));

constexpr scaling_costs to_all{.step_seconds = 1,
                               .bytes = 1e3,
                               .encode_seconds = 0.1,
                               .decode_seconds = 0.01,
                               .sharing = route::to_all,
                               .elements = 1'000'000,
                               .link = slow};
static_assert(near(step(to_all, 5), 1 + 0.1 + 8e-3 + 4e-3 + 5 * 0.01));
constexpr scaling_costs merged = [] {
  scaling_costs of = to_all;
  of.sharing = route::merged;
  return of;
}();
static_assert(near(step(merged, 5), 1 + 0.1 + 6e-3 + (4 + 15) * 1e-3 + 13 * 0.01));  // 3 rounds
// A merged message has at most 96 + 20'000/4 = 5096 bytes. The root receives 1000 + 2000 + 4000 + 5096.
constexpr scaling_costs merged_to_most = [] {
  scaling_costs of = merged;
  of.elements = 20'000;
  return of;
}();
static_assert(near(step(merged_to_most, 16),
                   1 + 0.1 + 8e-3 + (12.096 + 4 * 5.096) * 1e-3 + (2 * 12.096 + 5.096) * 0.01));

// Costs with hideable time and a period.
constexpr scaling_costs with(scaling_costs of, double hideable, double every) {
  of.hideable_seconds = hideable;
  of.every = every;
  return of;
}
static_assert(near(step(with(ring, 2, 1), 4), 1 + 4.012 + 0.5));
static_assert(near(step(with(ring, 100, 1), 4), 1 + 0.5));
static_assert(near(step(with(ring, 0, 5), 4), 1 + 6.512 / 5));

// The example of Deeplearning4j's documentation: 550, 50, 5 and 20 ms.
constexpr deeplearning4j_costs documented{
    .step_seconds = 0.55, .encode_seconds = 0.05, .decode_seconds = 0.005, .server_seconds = 0.02};
constexpr scaling_estimate of_documented = estimate_scaling(documented, 8, 4);
static_assert(of_documented.ranks == 32);
static_assert(near(of_documented.step_seconds, 0.78));
static_assert(of_documented.efficiency > 0.70512 && of_documented.efficiency < 0.70513);
static_assert(of_documented.speed_up > 22.564 && of_documented.speed_up < 22.565);

TEST(scaling_estimate, of_deeplearning4j_uses_the_costs_of_a_step) {
  deeplearning4j_costs const costs = as_deeplearning4j_costs(with(to_all, 0.5, 2));
  EXPECT_EQ(costs.step_seconds, 1);
  EXPECT_EQ(costs.encode_seconds, 0.05);
  EXPECT_EQ(costs.decode_seconds, 0.005);
  EXPECT_DOUBLE_EQ(costs.server_seconds, (2e-3 + 2e-3) / 2);
}

TEST(scaling_estimate, of_one_rank_is_the_time_of_a_step) {
  for (scaling_costs const& of : {ring, halving, doubling, to_all, merged}) {
    scaling_estimate const one = estimate_scaling(of, 1);
    EXPECT_EQ(one.step_seconds, 1);
    EXPECT_EQ(one.speed_up, 1);
    EXPECT_EQ(one.efficiency, 1);
  }
}

TEST(scaling_estimate, efficiency_improves_with_the_link_and_never_exceeds_1) {
  for (scaling_costs of : {ring, halving, doubling, to_all, merged})
    for (int ranks = 2; ranks <= 40; ++ranks) {
      of.link = slow;
      double before = 0;
      for (int k = 0; k < 20; ++k, of.link.bytes_per_second *= 2, of.link.latency /= 2) {
        scaling_estimate const now = estimate_scaling(of, ranks);
        EXPECT_GE(now.efficiency, before);
        EXPECT_LE(now.efficiency, 1);
        EXPECT_DOUBLE_EQ(now.speed_up, ranks * now.efficiency);
        EXPECT_DOUBLE_EQ(now.efficiency, 1 / now.step_seconds);
        before = now.efficiency;
      }
    }
}

TEST(scaling_estimate, by_size_uses_the_route_selected_by_message_size) {
  scaling_costs of = to_all;
  of.sharing = route::by_size;
  for (std::uint64_t const elements : {1'000'000ULL, 100'000'000ULL})
    for (int ranks = 2; ranks <= 64; ++ranks) {
      of.elements = elements;
      scaling_costs as = of;
      as.sharing = detail::merges_by_size(ranks, elements) ? route::merged : route::to_all;
      EXPECT_EQ(step(of, ranks), step(as, ranks));
    }
}

TEST(scaling_estimate, uses_the_costs_measured_by_strategies) {
  std::vector<measurement> const dense{{"message_bytes", 4000, true},
                                       {"dense_bytes", 8000, true},
                                       {"encode_seconds", 3, true},
                                       {"hideable_seconds", 20, true},
                                       {"apply_seconds", 5, true}};
  scaling_costs const summed = costs_of(dense, 10, 4, 0.25, slow);
  EXPECT_FALSE(summed.sharing);
  EXPECT_EQ(summed.step_seconds, 0.25);
  EXPECT_EQ(summed.bytes, 400);
  EXPECT_EQ(summed.encode_seconds, 0);  // packing is a part of backward
  EXPECT_EQ(summed.decode_seconds, 0.5);
  EXPECT_EQ(summed.hideable_seconds, 2);
  EXPECT_EQ(summed.every, 1);
  EXPECT_EQ(summed.link.latency, slow.latency);

  std::vector<measurement> averaged = dense;
  averaged.insert(averaged.begin(), {"exchanges", 2, true});
  EXPECT_EQ(costs_of(averaged, 10, 4, 1, slow).every, 5);
  EXPECT_EQ(costs_of(averaged, 10, 4, 1, slow).bytes, 2000);

  std::vector<measurement> shared = dense;
  shared.push_back({"sent_elements", 100, true});
  scaling_costs const messages = costs_of(shared, 10, 4, 1, slow);
  EXPECT_EQ(messages.sharing, route::by_size);
  EXPECT_EQ(messages.elements, 200U);
  EXPECT_DOUBLE_EQ(messages.encode_seconds, 0.3);
  EXPECT_EQ(messages.decode_seconds, 0.125);  // of one of four

  EXPECT_EQ(costs_of({}, 10, 4, 1, slow).bytes, 0);
  EXPECT_EQ(estimate_scaling(costs_of(dense, 0, 4, 1, slow), 1).efficiency, 1);
}

}  // namespace scaling_estimate_test
