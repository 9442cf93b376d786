// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/launch.hpp>
#include "outer_cases.hpp"

namespace outer_step_test {

using namespace cohort_test;

class outer_steps_over_threads : public testing::TestWithParam<int> {
 protected:
  void on_all(void (*body)(communicator&)) {
    launch<threads>(GetParam(), {.deadline = std::chrono::seconds(60)}, body);
  }
};
INSTANTIATE_TEST_SUITE_P(ranks, outer_steps_over_threads, testing::Values(1, 2, 3, 4));

class outer_steps_over_several_threads : public outer_steps_over_threads {};
INSTANTIATE_TEST_SUITE_P(ranks, outer_steps_over_several_threads, testing::Values(2, 3, 4));

TEST_P(outer_steps_over_threads, follow_the_documented_formula) { on_all(outer_steps_are_those_by_hand); }
TEST_P(outer_steps_over_threads, are_bitwise_equal_on_all_ranks) {
  on_all(every_kind_of_averaging_has_the_same_bits_everywhere);
}
TEST_P(outer_steps_over_threads, save_the_consensus_between_outer_steps) {
  on_all(what_is_shown_between_meetings_is_what_a_meeting_brings);
}
TEST_P(outer_steps_over_threads, stop_all_ranks_if_a_stop_request_is_detected_late) {
  on_all(one_rank_stops_all_that_hear_late);
}
TEST_P(outer_steps_over_several_threads, train_on_streams_of_different_lengths) {
  on_all(overlapped_averaging_ends_with_a_stream);
}
TEST_P(outer_steps_over_several_threads, detect_non_finite_numbers_one_period_later) {
  on_all(a_number_that_is_not_finite_is_heard_late);
}
TEST_P(outer_steps_over_threads, have_no_pending_mean_after_a_failure) {
  on_all(a_mean_under_way_ends_with_its_run);
}

TEST(outer_step, is_bitwise_equal_on_eight_ranks) {
  launch<threads>(8, {.deadline = std::chrono::seconds(60)},
                  every_kind_of_averaging_has_the_same_bits_everywhere);
}

constexpr auto normed = network<[](builder& net) {
  return net.input({1, 8, 8}) | conv2d{.filters = 3, .kernel = 3} | batch_norm{.name = "norm"} | relu{}
         | dense{.units = 4, .name = "kept"} | dense{.units = 3} | softmax_cross_entropy{};
}>();

TEST(outer_step, applies_neither_to_running_statistics_nor_to_frozen_layers) {
  bright_thirds const examples(60);
  launch<threads>(2, [&](communicator& world) {
    training_settings settings = plain_sgd();
    settings.optimizer.layers = {{.layer = "kept", .frozen = true}};
    auto const trained = [&](outer_step how) {
      training made = trainer<wide>(normed, world, parameter_averaging{.every = 100, .outer = how}, settings);
      made.fit(examples.data(), {.batch = 5, .epochs = 1});  // one averaging, at the epoch's end
      return parameters_of(made);
    };
    training fresh = trainer<wide>(normed, settings);
    auto const first = parameters_of(fresh), mean = trained(outer::plain{}), step = trained({.rate = 1e-9});
    int statistics = 0, frozen = 0;
    for (parameter const& p : fresh.parameters().table())
      for (std::int64_t e = 0; e < p.spec.dims.elements(); ++e) {
        auto const i = static_cast<std::size_t>(p.first + e);
        if (p.frozen) {
          EXPECT_EQ(step[i], first[i]);
          ++frozen;
        } else if (p.trains()) {
          EXPECT_NEAR(step[i], first[i], 1e-8);
        } else {
          EXPECT_EQ(step[i], mean[i]);
          EXPECT_NE(step[i], first[i]);
          ++statistics;
        }
      }
    EXPECT_EQ(statistics, 6);
    EXPECT_GT(frozen, 0);
  });
}

TEST(outer_step, continues_from_parameters_loaded_between_two_fits) {
  bright_thirds const examples(40);
  launch<threads>(2, [&](communicator& world) {
    training made =
        trainer<wide>(small, world, parameter_averaging{.every = 4, .outer = {.rate = 1e-9}}, plain_sgd());
    made.fit(examples.data(), {.batch = 5, .epochs = 1});
    std::vector<double> const other(parameters_of(made).size(), 0.25);
    made.parameters().write_all(reinterpret_cast<std::byte const*>(other.data()), made.parameters().master());
    made.parameters().mark_changed();
    made.fit(examples.data(), {.batch = 5, .epochs = 1});
    EXPECT_LT(largest_difference(parameters_of(made), other), 1e-6);
  });
}

TEST(outer_step, of_bmuf_equals_local_training_bitwise_with_a_single_rank) {
  bright_thirds const examples(103);
  training plain = single_rank<narrow>(small, with_state());
  plain.fit(examples.data(), {.batch = 7, .epochs = 2});
  launch<self>([&](communicator& world) {
    EXPECT_EQ(checksum_after(world, parameter_averaging{.every = 3, .outer = outer::bmuf{}}, with_state()),
              plain.checksum());
    EXPECT_EQ(checksum_after(world, parameter_averaging{.every = 3, .overlap = true}, with_state()),
              plain.checksum());
  });
}

TEST(outer_step, is_described_by_the_strategy) {
  launch<self>([](communicator& world) {
    EXPECT_EQ(parameter_averaging{}.on(world)->describe(),
              "parameter averaging every 5 steps, optimizer state averaged");
    parameter_averaging const how{
        .every = 500, .average_optimizer_state = false, .outer = outer::diloco{}, .overlap = true};
    EXPECT_EQ(how.on(world)->describe(),
              "parameter averaging every 500 steps, outer rate 0.7, Nesterov momentum 0.9, overlapped");
    EXPECT_EQ(parameter_averaging{.outer = outer::bmuf{}}.on(world)->describe(),
              "parameter averaging every 5 steps, optimizer state averaged, outer rate 1, momentum 1 "
              "- 1/ranks");
  });
}

TEST(outer_step, preserves_constraints) {
  bright_thirds const examples(96);
  launch<threads>(2, [&](communicator& world) {
    for (bool const overlap : {false, true}) {
      training_settings settings = with_state();
      settings.optimizer.constraint = constraint::non_negative{};
      parameter_averaging const how{.every = 3, .outer = outer::diloco{}, .overlap = overlap};
      training made = trainer<narrow>(small, world, how, settings);
      made.fit(examples.data(), {.batch = 8, .epochs = 2});
      auto const all = parameters_of<float>(made);
      for (parameter const& p : made.parameters().table())
        for (std::int64_t i = p.first;
             p.spec.role == parameter_role::weights && i < p.first + p.spec.dims.elements(); ++i)
          ASSERT_GE(all[static_cast<std::size_t>(i)], 0) << overlap;
    }
  });
}

TEST(strategies, refuse_states_with_invalid_arrays) {
  std::vector<std::byte> const bytes(64);
  launch<self>([&](communicator& world) {
    auto const averaging = parameter_averaging{.outer = outer::diloco{}, .overlap = true}.on(world);
    auto const summing = allreduce{.wire = element_type::bf16}.on(world);
    struct {
      char const* name;
      element_type type;
      std::size_t size;
    } const cases[]{{"late_sum", element_type::f32, 8},  // fewer than its votes
                    {"late_sum", element_type::u8, 64},     {"late_sent", element_type::bf16, 64},
                    {"last_meeting", element_type::u8, 64}, {"velocity", element_type::i32, 64},
                    {"rounded_away", element_type::u8, 64}};
    for (auto const& [name, type, size] : cases) {
      strategy_state const hostile{.arrays = {{name, type, std::span(bytes).first(size)}}};
      std::string said;
      try {
        averaging->restore(hostile);
        summing->restore_from_ranks(hostile, 0, 1);
      } catch (data_error const& why) {
        said = why.what();
      }
      EXPECT_NE(said.find(std::string("strategy/array/") + name), std::string::npos) << name << said;
    }
  });
}

TEST(outer_step, is_refused_with_invalid_settings) {
  launch<self>([](communicator& world) {
    for (outer_step const how : {outer_step{.rate = 0},
                                 {.rate = -1},
                                 {.momentum = 1},
                                 {.momentum = -0.1},
                                 {.rate = std::numeric_limits<double>::infinity()}})
      EXPECT_THROW(parameter_averaging{.outer = how}.on(world), setting_error);
  });
}

}  // namespace outer_step_test
