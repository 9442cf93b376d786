// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/communicator/launch.hpp>
#include <cohort/strategy/detail/message_exchange.hpp>
#include <string>
#include "message_cases.hpp"

namespace message_exchange_test {

using namespace message_cases;

struct rank_route {
  int ranks;
  route way;
};
std::string name_of(testing::TestParamInfo<rank_route> const& one) {
  return std::to_string(one.param.ranks) + (one.param.way == route::merged ? "_merged" : "_to_all");
}

class message_exchange : public testing::TestWithParam<rank_route> {
 protected:
  template <class Body>
  void on_all(Body body) {
    launch<threads>(GetParam().ranks, {.deadline = std::chrono::seconds(60)}, body);
  }
};
INSTANTIATE_TEST_SUITE_P(ranks, message_exchange,
                         testing::Values(rank_route{1, route::to_all}, rank_route{2, route::to_all},
                                         rank_route{3, route::to_all}, rank_route{4, route::to_all},
                                         rank_route{2, route::merged}, rank_route{3, route::merged},
                                         rank_route{4, route::merged}, rank_route{7, route::merged},
                                         rank_route{8, route::merged}),
                         name_of);

TEST_P(message_exchange, conserves_the_gradient_sum_with_thresholds) {
  for (bool const per_tensor : {false, true})
    on_all([&](communicator& world) {
      nothing_is_lost(detail::process_group(world), GetParam().way,
                      threshold_compressor(tensors, {.threshold = threshold::quantile{.density = 0.01},
                                                     .per_tensor = per_tensor}));
    });
  on_all([&](communicator& world) {
    nothing_is_lost(detail::process_group(world), GetParam().way,
                    threshold_compressor(tensors, {.threshold = threshold::adaptive{.initial = 0.05}}));
  });
}

TEST_P(message_exchange, conserves_the_gradient_sum_with_top_k) {
  on_all([&](communicator& world) {
    nothing_is_lost(detail::process_group(world), GetParam().way,
                    top_k_compressor(tensors, {.density = 0.01}));
  });
}

/// Rank r sends t for element r only, and has r examples. Rank 0 has none, so its residual is unchanged.
TEST_P(message_exchange, weighs_gradients_by_examples) {
  on_all([&](communicator& world) {
    constexpr float t = 0.5F;
    detail::message_exchange made(world, threshold_compressor(tensors, {.threshold = threshold::fixed{t}}),
                                  GetParam().way, combination::weighted_mean, 1);
    int const rank = world.rank(), size = world.size();
    double const weights = size * (size - 1) / 2.0;
    std::fill(made.mine().span().begin(), made.mine().span().end(), 0.0F);
    float const weighed = GetParam().way == route::merged ? 4.0F / static_cast<float>(std::max(rank, 1)) : 1;
    made.mine().span()[static_cast<std::size_t>(rank)] = t * weighed;  // so that t is sent
    step_info now = step_of(world, 0, rank);
    agreement agreed;
    exchange(made, now, agreed);
    EXPECT_EQ(agreed.examples, weights);
    EXPECT_EQ(agreed.weight, weights);
    for (int r = 0; r < size; ++r) {
      double const share = weights == 0 || r == 0            ? 0
                           : GetParam().way == route::to_all ? r / weights
                                                             : 4 / weights;
      EXPECT_NEAR(made.all().span()[static_cast<std::size_t>(r)], double{t} * share, 1e-7) << r;
    }
    for (float const left : made.residual()) ASSERT_EQ(left, 0);
  });
}

TEST_P(message_exchange, collects_the_votes_of_all_ranks) {
  on_all([&](communicator& world) {
    detail::message_exchange made(world, threshold_compressor(tensors), GetParam().way,
                                  combination::weighted_mean, 1);
    agreement agreed;
    bool const last = world.rank() == world.size() - 1;
    for (int step = 0; step < 4; ++step) {
      step_info now = step_of(world, step, step == 3 ? 0 : 4);
      now.mine = {.stop = last && step == 1, .save = last && step == 2};
      exchange(made, now, agreed);
      EXPECT_EQ(agreed.all, (votes{.stop = step == 1, .save = step == 2}));
      EXPECT_EQ(agreed.examples, step == 3 ? 0 : 4 * world.size());
    }
  });
}

TEST_P(message_exchange, is_deterministic) {
  auto const run = [&] {
    std::vector<std::vector<float>> ends(static_cast<std::size_t>(GetParam().ranks));
    on_all([&](communicator& world) {
      detail::message_exchange made(world, threshold_compressor(tensors), GetParam().way,
                                    combination::weighted_mean, 1);
      agreement agreed;
      random_stream const noise(5, "gradients", static_cast<std::uint64_t>(world.rank()));
      for (int step = 0; step < 5; ++step) {
        for (std::size_t i = 0; i < n; ++i)
          made.mine().span()[i] = noise.uniform01(static_cast<std::uint64_t>(step) * n + i) - 0.5F;
        exchange(made, step_of(world, step, 3), agreed);
      }
      auto& end = ends[static_cast<std::size_t>(world.rank())];
      end.assign(made.residual().begin(), made.residual().end());
      end.insert(end.end(), made.all().span().begin(), made.all().span().end());
    });
    return ends;
  };
  EXPECT_EQ(run(), run());
}

/// Pairs of ranks, of which the last may be a single rank; or all ranks as one group.
TEST(group_message_exchange, conserves_the_gradient_sum_of_groups) {
  for (route const way : {route::to_all, route::merged})
    for (int const ranks : {2, 3, 6})
      launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
        auto const pair = static_cast<std::uint64_t>(world.rank() / 2);
        nothing_is_lost(detail::process_group(world, pair), way, threshold_compressor(tensors));
        nothing_is_lost(detail::process_group(world, 1), way, top_k_compressor(tensors, {.density = 0.01}));
      });
}

/// Pending messages that are not applied are returned to the residuals completely, as gradients are at an
/// epoch's end.
TEST(group_message_exchange, returns_a_skipped_message_to_the_residual) {
  constexpr int late = 3;
  launch<threads>(3, [&](communicator& world) {
    detail::message_exchange made(world, threshold_compressor(tensors, {.threshold = threshold::fixed{0.1}}),
                                  route::to_all, combination::weighted_mean, 1, late);
    std::vector<double> given(n), brought(n);
    agreement agreed;
    auto const finish = [&](bool take) {
      made.finish(agreed, take);
      for (std::size_t i = 0; take && i < n; ++i) brought[i] += double{made.all().span()[i]};
    };
    for (int step = 0; step < 5; ++step) {
      random_stream const noise(3, "gradients", static_cast<std::uint64_t>(step * 16 + world.rank()));
      for (std::size_t i = 0; i < n; ++i)
        given[i] += double{made.mine().span()[i] = noise.uniform01(i) - 0.5F};
      made.start(step_of(world, step, 4));  // the same number of examples on each rank
      if (made.pending() > late) finish(true);
    }
    ASSERT_EQ(made.pending(), late);
    while (made.pending() > 0) finish(false);
    std::vector<double> kept(made.residual().begin(), made.residual().end());
    double largest = 1;
    for (double const x : kept) largest = std::max(largest, std::abs(x));
    world.allreduce(std::span(given));
    world.allreduce(std::span(kept));
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_NEAR(given[i], world.size() * brought[i] + kept[i], 30 * 0x1p-24 * largest) << i;
  });
}

TEST(group_message_exchange, preserves_the_weight_of_a_residual) {
  launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [](communicator& world) {
    using exchange_of = detail::message_exchange<threshold_compressor>;
    threshold_compressor const codec({{"w", 50}}, {.threshold = threshold::fixed{1e-6}});
    auto const own = static_cast<std::uint64_t>(world.rank());
    std::vector<float> const three(50, 3), one(50, 1), none(50);
    for (bool const together : {false, true}) {
      exchange_of made(detail::process_group(world, together ? 7 : own), codec, route::to_all,
                       combination::weighted_mean, 1);
      // Two ranks with 3 and 1 would have contributed 2; one group with 3 would have contributed 3.
      made.restore(together ? (world.rank() == 0 ? three : one) : (world.rank() == 0 ? three : none),
                   codec.state());
      made.resume({}, together ? 1 : world.rank() == 0 ? 2 : 1);
      std::fill(made.mine().span().begin(), made.mine().span().end(), 0.0F);
      agreement agreed;
      made.start({.step = 0, .examples = 4, .weight = 4, .expected = 8});
      made.finish(agreed);
      for (float const brought : made.all().span()) ASSERT_NEAR(brought, together ? 2 : 3, 0.05);
    }
  });
}

/// A checkpoint of three ranks that sent separate messages is restored by one group.
TEST(group_message_exchange, restores_residuals_of_single_ranks) {
  launch<threads>(3, {.deadline = std::chrono::seconds(60)}, [](communicator& world) {
    using exchange_of = detail::message_exchange<threshold_compressor>;
    threshold_compressor const codec({{"w", 50}}, {.threshold = threshold::fixed{1}});
    auto const own = static_cast<std::uint64_t>(world.rank());
    exchange_of made(detail::process_group(world, own), codec, route::to_all, combination::sum, 1, 1);
    std::fill(made.mine().span().begin(), made.mine().span().end(), 1.25F);
    made.start({.step = 0, .examples = 1, .weight = 1, .expected = 3});
    std::vector<std::vector<std::byte>> const waits{
        {made.pending_message(0).begin(), made.pending_message(0).end()}};
    std::vector<float> const residual(made.residual().begin(), made.residual().end());
    for (bool const together : {true, false}) {
      exchange_of again(detail::process_group(world, together ? 7 : own), codec, route::to_all,
                        combination::sum, 1, 1);
      again.restore(residual, made.state());
      again.resume(waits, 1);
      EXPECT_EQ(again.pending(), together ? 0 : 1);
      EXPECT_EQ(again.residual().empty(), together && world.rank() > 0);
      for (float const left : again.residual()) ASSERT_EQ(left, together ? 3.75F : 0.25F);
      agreement agreed;
      if (!together) again.finish(agreed);
    }
    agreement agreed;
    made.finish(agreed);
  });
}

TEST(group_message_exchange, does_not_deliver_votes_of_a_run_that_has_ended) {
  launch<threads>(2, [](communicator& world) {
    using exchange_of = detail::message_exchange<threshold_compressor>;
    threshold_compressor const codec({{"w", 50}}, {.threshold = threshold::fixed{1}});
    std::vector<std::vector<std::byte>> waits;
    agreement agreed;
    {
      exchange_of made(world, codec, route::to_all, combination::sum, 1, 2);
      for (int step = 0; step < 3; ++step) {  // rank r votes in step r
        made.start({.step = step,
                    .examples = 1,
                    .weight = 1,
                    .expected = 2,
                    .mine = {.stop = step >= world.rank()}});
        if (made.pending() > 2) made.finish(agreed);
      }
      EXPECT_TRUE(agreed.all.stop);
      auto const message = made.pending_message(0);
      waits.push_back({message.begin(), message.end()});
      made.finish(agreed);
      made.finish(agreed);
    }
    exchange_of again(world, codec, route::to_all, combination::sum, 1, 2);
    again.resume(waits, 1);
    agreed = {};
    again.finish(agreed);
    EXPECT_FALSE(agreed.all.stop);
  });
}

TEST(group_message_exchange, refuses_a_residual_of_another_size) {
  launch<self>([](communicator& world) {
    detail::message_exchange made(world, threshold_compressor(tensors), route::to_all, combination::sum, 1);
    EXPECT_THROW(made.restore(std::vector<float>(n - 1), made.state()), data_error);
  });
}

}  // namespace message_exchange_test
