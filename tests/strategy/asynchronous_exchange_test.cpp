// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <atomic>
#include <cohort/codec/threshold_compressor.hpp>
#include <cohort/codec/top_k_compressor.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/strategy/detail/asynchronous_exchange.hpp>
#include <limits>
#include <semaphore>
#include <string>
#include <vector>

namespace asynchronous_exchange_test {

using namespace cohort;
using detail::longest_lead;
using std::chrono::seconds;

constexpr int n = 1000;
tensor_table const tensors{{"weights", n - 7}, {"bias", 7}};
using exchange = detail::asynchronous_exchange<threshold_compressor>;

threshold_compressor signs_of(float threshold) {
  return threshold_compressor(tensors, {.threshold = threshold::fixed{threshold}});
}

step_info step_of(int step, int examples = 1) {
  return {.step = step, .examples = examples, .weight = static_cast<double>(examples)};
}

class asynchronous_exchange : public testing::TestWithParam<int> {
 protected:
  template <class Body>
  void on_all(Body body) {
    launch<threads>(GetParam(), {.deadline = seconds(60)}, body);
  }
};
INSTANTIATE_TEST_SUITE_P(ranks, asynchronous_exchange, testing::Values(1, 2, 3, 4));

/// Values are multiples of 2⁻¹⁰ and thresholds are 2⁻², so every sum is exact. Therefore the given values
/// equal the received values plus the residual, bit by bit, on each rank, also if ranks have no examples or
/// non-finite numbers.
template <class Codec>
void nothing_is_lost(communicator& world, Codec codec) {
  constexpr int steps = 3 * longest_lead, spoiled = 5;
  detail::asynchronous_exchange<Codec> made(world, std::move(codec), 1);
  std::vector<double> given(n), came(n);
  agreement agreed;
  auto const take = [&] {
    for (std::size_t i = 0; i < n; ++i) came[i] += double{made.all()[i]};
    made.clear();
  };
  for (int step = 0; step < steps; ++step) {
    random_stream const noise(3, "gradients", static_cast<std::uint64_t>(step * 16 + world.rank()));
    int const examples = (step + world.rank()) % 4;
    bool const bad = step == spoiled && world.rank() == world.size() - 1;
    for (std::size_t i = 0; i < n; ++i) {
      float const x = static_cast<float>(static_cast<int>(noise.below(i, 2001)) - 1000) * 0x1p-10F;
      made.mine()[i] = examples == 0 ? 0 : x;
      if (!bad && examples > 0) given[i] += double{x};
    }
    if (bad) made.mine()[99] = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> const before(made.residual().begin(), made.residual().end());
    made.step(step_of(step, bad ? 2 : examples), agreed);
    if (bad) {
      EXPECT_TRUE(std::ranges::equal(made.residual(), before));
    }
    take();
    if (step == steps / 2) {
      made.synchronise();
      take();
    }
  }
  made.synchronise();
  take();
  made.end();
  EXPECT_EQ(made.ages().messages(), steps * (world.size() - 1));
  EXPECT_LE(made.ages().largest(), longest_lead);
  for (std::size_t i = 0; i < n; ++i) given[i] -= double{made.residual()[i]};
  world.allreduce(std::span(given));
  EXPECT_EQ(came, given);
  EXPECT_NE(std::ranges::count(came, 0.0), n);
}

TEST_P(asynchronous_exchange, conserves_the_gradient_sum_with_thresholds) {
  on_all([](communicator& world) { nothing_is_lost(world, signs_of(0.25F)); });
}
TEST_P(asynchronous_exchange, conserves_the_gradient_sum_with_top_k) {
  on_all([](communicator& world) { nothing_is_lost(world, top_k_compressor(tensors, {.density = 0.1})); });
}

/// The votes of a step reach all ranks in the same later step, once.
TEST_P(asynchronous_exchange, delivers_votes_after_all_ranks_have_sent_the_step) {
  on_all([](communicator& world) {
    constexpr int steps = 2 * longest_lead + 10, told = 5, late = steps - 2;
    int const lead = world.size() > 1 ? longest_lead : 0;
    exchange made(world, signs_of(0.25F), 1);
    agreement agreed{.meetings = 7};
    bool wants_stop = false, wants_save = false;
    std::vector<int> stops, saves;
    for (int step = 0; step < steps; ++step) {
      step_info now = step_of(100 + step, (step + world.rank()) % 4);
      if (world.rank() == world.size() - 1 && step == told) wants_save = true;
      if (world.rank() == 0 && step == late) wants_stop = true;
      now.mine = {.stop = wants_stop, .save = wants_save};
      made.step(now, agreed);
      EXPECT_EQ(agreed.meetings, 7 + std::max(0, step + 1 - lead));
      if (step < lead) continue;
      std::int64_t examples = 0;
      for (int r = 0; r < world.size(); ++r) examples += (step - lead + r) % 4;
      EXPECT_EQ(agreed.examples, examples);
      EXPECT_EQ(agreed.weight, static_cast<double>(examples));
      if (agreed.all.save) saves.push_back(step), wants_save = false;
      if (agreed.all.stop) stops.push_back(step), wants_stop = false;
    }
    EXPECT_EQ(saves, std::vector{told + lead});
    agreement const rest = made.synchronise();
    EXPECT_EQ(stops.size() + (rest.all.stop ? 1U : 0U), 1U);
    EXPECT_FALSE(rest.all.save);
    made.end();
  });
}

/// One of two ranks continues immediately after a synchronisation. The other rank may still be receiving
/// messages that were sent before the synchronisation.
TEST(asynchronous_exchange, applies_later_messages_only_after_the_synchronisation) {
  launch<threads>(2, {.deadline = seconds(60)}, [](communicator& world) {
    exchange made(world, signs_of(1), 1);
    agreement agreed;
    for (int step = 0; step < 3000; ++step) {
      std::ranges::fill(made.mine(), 1.0F);
      made.step(step_of(step), agreed);
      made.synchronise();
      ASSERT_EQ(made.all()[0], 2) << step;
      made.clear();
    }
    made.end();
  });
}

TEST_P(asynchronous_exchange, bounds_the_lead_of_the_fastest_rank) {
  std::atomic<int> begun[4]{};
  on_all([&](communicator& world) {
    exchange made(world, signs_of(0.25F), 1);
    agreement agreed;
    for (int step = 0; step < 10 * longest_lead; ++step) {
      begun[world.rank()].store(step);
      made.step(step_of(step), agreed);
      for (int r = 0; r < world.size(); ++r) ASSERT_GE(begun[r].load(), step - longest_lead);
    }
    made.end();
  });
}

/// One rank pauses after its third step. The other continues until a message that it needs is missing, and no
/// further.
TEST(asynchronous_exchange, continues_up_to_the_longest_lead_while_another_rank_is_stalled) {
  std::binary_semaphore gate(0);
  launch<threads>(2, {.deadline = seconds(60)}, [&](communicator& world) {
    exchange made(world, signs_of(1), 1, 1, true);
    agreement agreed;
    double came = 0;
    for (int step = 0; step < longest_lead + 10; ++step) {
      std::ranges::fill(made.mine(), 0.0F);
      if (world.rank() == 1 && step == 3) {
        ASSERT_TRUE(gate.try_acquire_for(seconds(60)));
        made.mine()[0] = 1;
      }
      made.step(step_of(step), agreed);
      came += double{made.all()[0]};
      made.clear();
      if (world.rank() == 0 && step == 2 + longest_lead) gate.release();
    }
    made.synchronise();
    came += double{made.all()[0]};
    made.end();
    if (world.rank() == 0) {
      EXPECT_EQ(made.ages().largest(), longest_lead);
      EXPECT_EQ(came, 1.0 / longest_lead) << "its age counts";
    } else {
      EXPECT_EQ(came, 1);
    }
  });
}

TEST(asynchronous_exchange, reports_a_stalled_rank_and_step) {
  std::binary_semaphore gate(0);
  auto const beginning = std::chrono::steady_clock::now();
  auto const run = [&](communicator& world) {
    exchange made(world, signs_of(1), 1);
    agreement agreed;
    int step = 0;
    std::string said;
    try {
      for (; step < 1000; ++step) {
        if (world.rank() == 1 && step == 3) {
          ASSERT_TRUE(gate.try_acquire_for(seconds(60)));
        }
        world.note({step, 0});
        made.step(step_of(step), agreed);
      }
    } catch (communicator_error const& why) {
      said = why.what();
    }
    EXPECT_NE(said.find("rank 1"), std::string::npos) << said;
    EXPECT_NE(said.find("step 2"), std::string::npos) << said;
    EXPECT_EQ(step, world.rank() == 0 ? 3 + longest_lead : 3);
    if (world.rank() == 0) gate.release();
  };
  EXPECT_THROW(launch<threads>(2, {.deadline = seconds(2)}, run), communicator_error);
  EXPECT_LT(std::chrono::steady_clock::now() - beginning, seconds(30));
}

TEST(asynchronous_exchange, refuses_messages_of_another_run) {
  launch<threads>(2, {.deadline = seconds(60)}, [](communicator& world) {
    exchange made(world, signs_of(1), world.rank() == 0 ? 1U : 2U);
    agreement agreed;
    auto const exchange_one = [&] {
      made.step(step_of(0), agreed);
      made.receive_all();
    };
    EXPECT_THROW(exchange_one(), data_error);
    world.barrier();
  });
}

TEST(asynchronous_exchange, refuses_a_residual_of_another_size) {
  launch<self>([](communicator& world) {
    exchange made(world, signs_of(1), 1);
    EXPECT_THROW(made.restore(std::vector<float>(n - 1), made.state(), {}), data_error);
    EXPECT_THROW(made.restore(std::vector<float>(n), made.state(), std::vector<float>(n + 1)), data_error);
  });
}

}  // namespace asynchronous_exchange_test
