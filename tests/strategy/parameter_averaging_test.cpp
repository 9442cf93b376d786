// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/launch.hpp>
#include "rank_cases.hpp"

namespace parameter_averaging_test {

using namespace cohort_test;

class averaging_over_threads : public testing::TestWithParam<int> {
 protected:
  template <class Body>
  void on_all(Body body) {
    launch<threads>(GetParam(), {.deadline = std::chrono::seconds(60)}, body);
  }
};
INSTANTIATE_TEST_SUITE_P(ranks, averaging_over_threads, testing::Values(1, 2, 3, 4));

class averaging_over_several_threads : public averaging_over_threads {};
INSTANTIATE_TEST_SUITE_P(ranks, averaging_over_several_threads, testing::Values(2, 3, 4));

TEST_P(averaging_over_threads, in_every_step_with_sgd_equals_allreduce) {
  on_all(averaging_each_step_is_allreduce<>);
}
TEST_P(averaging_over_threads, in_place_with_sgd_in_every_step_equals_allreduce) {
  on_all(averaging_each_step_is_allreduce<broad>);
}
TEST_P(averaging_over_several_threads, trains_on_rank_local_examples) {
  on_all([](communicator& world) {
    for (int const every : {1, 3})
      ranks_train_on_examples_of_their_own(world, parameter_averaging{.every = every});
  });
}
TEST_P(averaging_over_threads, in_every_step_weighs_examples_like_allreduce) {
  on_all(averaging_each_step_weighs_as_allreduce_does);
}
TEST_P(averaging_over_threads, skips_a_step_whose_examples_have_weight_zero) {
  on_all([](communicator& world) { a_step_without_weight_is_left_out(world, parameter_averaging{}); });
}
TEST_P(averaging_over_several_threads, counts_no_steps_without_examples) {
  on_all([](communicator& world) {
    for (int const every : {1, 5, 500})
      steps_without_examples_do_not_count(world, parameter_averaging{.every = every});
    steps_without_examples_do_not_count(world, parameter_averaging{.seconds = 0.1});
    steps_without_examples_do_not_count(world, parameter_averaging{.every = 4, .overlap = true});
  });
}
TEST_P(averaging_over_several_threads, refuses_collective_calls_between_averagings_of_a_stream) {
  on_all(what_ranks_do_together_waits_for_a_meeting);
}
TEST_P(averaging_over_threads, weighs_parameters_by_the_number_of_examples) {
  on_all(averaging_weighs_by_examples<>);
}
TEST_P(averaging_over_threads, in_place_weighs_parameters_by_the_number_of_examples) {
  on_all(averaging_weighs_by_examples<broad>);
}
/// Constraints without an effect force averaging in the canonical view, which has no padding.
TEST_P(averaging_over_threads, in_place_with_frozen_layers_equals_averaging_in_the_canonical_view) {
  static constexpr auto lying = network<[](builder& net) {
    return net.input({1, 8, 8}) | dense{.units = 320} | batch_norm{} | relu{}
           | dense{.units = 64, .name = "kept"} | relu{} | dense{.units = 3} | softmax_cross_entropy{};
  }>();
  on_all([](communicator& world) {
    auto const trained = [&](bool constrained) {
      bright_thirds const examples(103);
      training_settings settings = with_state();
      settings.optimizer.layers = {{.layer = "kept", .frozen = true}};
      if (constrained) settings.optimizer.constraint = constraint::max_norm{1e9};
      training made = trainer<narrow>(lying, world, parameter_averaging{.every = 3}, settings);
      std::uint64_t const before = world.sent().bytes_sent;
      made.fit(examples.data(), {.batch = 7, .epochs = 2});
      return std::pair(parameters_of<float>(made), world.sent().bytes_sent - before);
    };
    auto const [as_they_lie, bytes] = trained(false);
    auto const [canonical, canonical_bytes] = trained(true);
    if (world.size() > 1) {
      EXPECT_GT(bytes, canonical_bytes) << "not as they lie";
    }
    if (world.size() <= 2) {  // larger sums depend on how they are divided
      EXPECT_EQ(as_they_lie, canonical);
    }
    for (std::size_t i = 0; i < canonical.size(); ++i) ASSERT_NEAR(as_they_lie[i], canonical[i], 1e-4) << i;
  });
}

TEST_P(averaging_over_threads, is_not_changed_by_evaluation_between_averagings) {
  on_all(evaluation_between_meetings_changes_nothing);
}
TEST_P(averaging_over_threads, keeps_the_optimizers_state_local_if_requested) {
  on_all(own_state_stays_own_if_it_is_told_to);
}
TEST_P(averaging_over_threads, detects_a_non_finite_number_after_the_last_averaging) {
  on_all(a_number_behind_the_last_meeting_is_heard);
}
TEST_P(averaging_over_threads, skips_non_finite_steps_between_two_averagings) {
  on_all(numbers_between_two_meetings_are_left_out);
}
TEST_P(averaging_over_threads, observes_a_stop_request_at_the_end_of_an_epoch) {
  on_all(a_stop_at_an_epochs_end_is_heard_there);
}
TEST_P(averaging_over_several_threads, stops_all_ranks_for_a_non_finite_number) {
  on_all([](communicator& world) { a_number_that_is_not_finite_stops_all_and_is_named(world, true); });
}
TEST_P(averaging_over_threads, stops_all_ranks_if_one_requests_it) {
  on_all([](communicator& world) { one_rank_stops_all(world, true); });
}

TEST(parameter_averaging, equals_local_training_bitwise_with_a_single_rank) {
  bright_thirds const examples(103);
  training plain = single_rank<narrow>(small, with_state(2));
  plain.fit(examples.data(), {.batch = 7, .epochs = 2});
  launch<self>([&](communicator& world) {
    EXPECT_EQ(checksum_after(world, parameter_averaging{.every = 3}, with_state(2)), plain.checksum());
  });
}

TEST(parameter_averaging, averages_at_time_intervals_in_the_same_steps_on_all_ranks) {
  bright_thirds const examples(400);
  launch<threads>(2, [&](communicator& world) {
    training made = trainer<narrow>(small, world, parameter_averaging{.seconds = 1e-3}, with_state());
    made.fit(examples.data(), {.batch = 2, .epochs = 2});
    EXPECT_TRUE(same_text(world, made.checksum()));
  });
}

TEST(parameter_averaging, refuses_invalid_periods) {
  launch<self>([](communicator& world) {
    EXPECT_THROW(trainer<narrow>(small, world, parameter_averaging{.every = 0}, {}), setting_error);
    EXPECT_THROW(trainer<narrow>(small, world, parameter_averaging{.seconds = -1}, {}), setting_error);
  });
}

}  // namespace parameter_averaging_test
