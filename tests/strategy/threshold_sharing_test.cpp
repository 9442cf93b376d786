// SPDX-License-Identifier: Apache-2.0
#include <cohort/codec/threshold_compressor.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/plan/plan_text.hpp>
#include <cohort/strategy/sharing_by.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <cohort/training/performance_listener.hpp>
#include "sharing_cases.hpp"

namespace threshold_sharing_test {

using namespace cohort_test;

class sharing_over_threads : public testing::TestWithParam<int> {
 protected:
  template <class Body>
  void on_all(Body body) {
    launch<threads>(GetParam(), {.deadline = std::chrono::seconds(60)}, body);
  }
  /// Runs the body for both routes.
  template <class Body>
  void on_all_ways(Body body) {
    for (route const way : {route::to_all, route::merged})
      on_all([&](communicator& world) { body(world, way); });
  }
};
INSTANTIATE_TEST_SUITE_P(ranks, sharing_over_threads, testing::Values(1, 2, 3, 4));

class sharing_over_several_threads : public sharing_over_threads {};
INSTANTIATE_TEST_SUITE_P(ranks, sharing_over_several_threads, testing::Values(2, 3, 4));

TEST_P(sharing_over_threads, is_bitwise_equal_on_all_ranks_after_each_step) {
  on_all_ways([](communicator& world, route way) {
    sharing_ranks_hold_the_same_bits<float>(world, sharing(way));
    sharing_ranks_hold_the_same_bits<double>(world, sharing(way));
    sharing_ranks_hold_the_same_bits<float>(world, update_sharing(way));
    sharing_ranks_hold_the_same_bits<double>(world, update_sharing(way));
  });
}
TEST_P(sharing_over_threads, is_deterministic_for_a_seed) {
  on_all(sharing_runs_of_one_seed_have_the_same_bits);
}
TEST_P(sharing_over_threads, equals_allreduce_if_every_element_is_sent) {
  on_all_ways(sharing_everything_is_allreduce);
}
TEST_P(sharing_over_threads, learns_like_dense_exchange) {
  on_all_ways([](communicator& world, route way) {
    sharing_learns_what_dense_learns(world, sharing(way));
    sharing_learns_what_dense_learns(world, update_sharing(way));
    threshold_sharing how = sharing(way);
    how.per_parameter = true;
    how.residual = residual::decay{.factor = 0.9, .every = 3};
    sharing_learns_what_dense_learns(world, how);
    how.threshold = threshold::adaptive{.initial = 0.1, .lo = 0.02, .hi = 0.1};
    how.residual = residual::clip{};
    sharing_learns_what_dense_learns(world, how);
  });
}
TEST_P(sharing_over_several_threads, counts_no_steps_without_examples) {
  on_all([](communicator& world) {
    for (int const staleness : {0, 1, 3})
      for (threshold_sharing how : {sharing(route::to_all), update_sharing(route::to_all)}) {
        how.settings.max_staleness = staleness;
        steps_without_examples_do_not_count(world, how);
      }
  });
}
TEST_P(sharing_over_threads, skips_a_step_whose_examples_have_weight_zero) {
  on_all_ways([](communicator& world, route way) {
    a_step_without_weight_is_left_out(world, sharing(way));
    a_step_without_weight_is_left_out(world, update_sharing(way));
  });
}
TEST_P(sharing_over_threads, sends_the_documented_number_of_bytes) {
  on_all(sharing_sends_the_bytes_of_its_contract);
}
TEST_P(sharing_over_threads, stops_all_ranks_for_a_non_finite_number) {
  on_all_ways([](communicator& world, route way) {
    sharing_stops_all_for_a_number_that_is_not_finite(world, sharing(way));
    sharing_stops_all_for_a_number_that_is_not_finite(world, update_sharing(way));
  });
}
TEST_P(sharing_over_several_threads, trains_on_uneven_data) {
  on_all_ways([](communicator& world, route way) {
    sharing_trains_on_uneven_data(world, sharing(way));
    sharing_trains_on_uneven_data(world, update_sharing(way));
  });
}
TEST_P(sharing_over_threads, keeps_ranks_equal_and_learns_with_staleness) {
  on_all([](communicator& world) {
    for (share const what : {share::gradient, share::update}) {
      threshold_sharing const how = late_sharing(what);
      sharing_ranks_hold_the_same_bits<float>(world, how);
      sharing_ranks_hold_the_same_bits<double>(world, how);
      sharing_learns_what_dense_learns(world, how);
      sharing_trains_on_uneven_data(world, how);
      late_numbers_that_are_not_finite_are_left_out_by_all(world, how);
    }
  });
}
TEST_P(sharing_over_threads, keeps_ranks_equal_and_learns_with_a_single_message_per_process) {
  on_all([](communicator& world) {
    for (auto const& how :
         {process_sharing(sharing()), process_sharing(update_sharing()), process_sharing(late_sharing()),
          process_sharing(late_sharing(share::gradient))}) {
      sharing_ranks_hold_the_same_bits<float>(world, how);
      sharing_learns_what_dense_learns(world, how);
      sharing_trains_on_uneven_data(world, how);
    }
  });
}
TEST_P(sharing_over_threads, stops_all_ranks_if_one_requests_it) { on_all(sharing_stops_when_one_asks); }
TEST_P(sharing_over_threads, averages_running_statistics) {
  on_all(sharing_takes_the_mean_of_running_statistics);
}

TEST(threshold_sharing, is_bitwise_equal_on_eight_ranks) {
  for (route const way : {route::to_all, route::merged})
    launch<threads>(8, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
      sharing_ranks_hold_the_same_bits<float>(world, sharing(way));
    });
}

TEST(threshold_sharing, reports_threshold_density_bytes_and_times) {
  bright_thirds const examples(96);
  launch<threads>(2, [&](communicator& world) {
    threshold_sharing how = sharing();
    how.residual = residual::clip{.at = 1, .every = 1};
    auto made = how.on(world);
    strategy const& look = *made;
    EXPECT_TRUE(look.report().empty());
    training run = trainer<narrow>(small, world, std::move(made), plain_sgd());
    run.fit(examples.data(), {.batch = 8, .epochs = 2});
    auto const number = [&](std::string_view name) {
      for (measurement const& one : look.report())
        if (one.name == name) return one.value;
      return -1.0;
    };
    EXPECT_GT(number("threshold"), 0);
    EXPECT_NEAR(number("density"), 0.05, 0.03);
    EXPECT_EQ(number("dense_bytes"), 4.0 * static_cast<double>(run.step() * small.parameter_count()));
    EXPECT_LT(number("message_bytes"), number("dense_bytes") / 4);
    EXPECT_LT(number("entropy_bytes"), number("message_bytes"));
    EXPECT_GT(number("residual_norm"), 0);
    EXPECT_GT(number("clipped_mass"), 0);
    EXPECT_GT(number("encode_seconds"), 0);
    EXPECT_GT(number("transfer_seconds"), 0);
    EXPECT_GT(number("apply_seconds"), 0);
  });
}

TEST(threshold_sharing, reports_dense_and_sparse_exchanges) {
  for (threshold_sharing const& how : {sharing(), update_sharing()})
    launch<threads>(2, [&](communicator& world) { sharing_reports_all_its_exchanges(world, how); });
}

constexpr auto million = network<[](builder& net) {
  return net.input({1, 8, 8}) | dense{.units = 1024} | relu{} | dense{.units = 1024} | relu{}
         | dense{.units = 3} | softmax_cross_entropy{};
}>();
static_assert(static_cast<std::uint64_t>(million.parameter_count()) > detail::codec_threads::least_elements);

TEST(threshold_sharing, encodes_large_messages_with_the_workers_of_a_rank) {
  bright_thirds const examples(24);
  launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    for (auto const& [net, workers, wanted] :
         {std::tuple{graph(million), 2, 2}, {graph(million), 1, 1}, {graph(small), 2, 1}})
      for (int const staleness : {0, unbounded}) {
        int threads = 0;
        auto const make = [&threads](tensor_table table, team* helpers = nullptr) {
          threads = helpers ? helpers->size() : 1;
          return threshold_compressor(std::move(table), {.threshold = threshold::fixed{1e-3}}, helpers);
        };
        sharing_settings const how{.share = share::update, .max_staleness = staleness};
        training made = trainer<narrow>(net, world, sharing_by{std::string_view("a few"), make, how},
                                        with_state(workers));
        made.fit(examples.data(), {.batch = 6, .epochs = 1});
        EXPECT_EQ(threads, wanted);
        EXPECT_TRUE(same_text(world, made.checksum()));
      }
  });
}

TEST(threshold_sharing, is_reported_by_the_performance_listener_in_every_interval) {
  bright_thirds const examples(96);
  launch<threads>(2, [&](communicator& world) {
    std::vector<std::string> said;
    performance_listener every(3, [&](std::string_view line) { said.emplace_back(line); });
    training run = trainer<narrow>(small, world, sharing(), plain_sgd());
    run.fit(examples.data(), {.batch = 8, .epochs = 1, .listeners = {&every}});
    std::string const dense = " of " + detail::in_bytes(3.0 * 4 * small.parameter_count()) + " dense (";
    int intervals = 0;
    for (std::string const& line : said)
      if (line.rfind("exchange: ", 0) == 0) {
        EXPECT_NE(line.find(dense), std::string::npos) << line;
        EXPECT_NE(line.find("; threshold "), std::string::npos) << line;
        EXPECT_NE(line.find(" % hidden behind compute"), std::string::npos) << line;
        ++intervals;
      }
    EXPECT_EQ(intervals, 2);
  });
}

TEST(threshold_sharing, exchanges_densely_during_the_warm_up) {
  bright_thirds const examples(96), held(40, 2);
  launch<threads>(3, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    auto const after = [&](auto const& how) {
      training made = trainer<narrow>(with_norms, world, how, with_state());
      made.fit(examples.data(), {.batch = 4, .epochs = 1});
      return made.checksum();
    };
    threshold_sharing how = sharing();
    how.settings.warm_up = 8;
    EXPECT_EQ(after(how), after(allreduce{.resync = 0}));
    how.settings.warm_up = 7;
    EXPECT_NE(after(how), after(allreduce{.resync = 0}));
  });
}

TEST(threshold_sharing, of_updates_agrees_with_allreduce_during_the_warm_up) {
  bright_thirds const examples(96);
  launch<threads>(3, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    threshold_sharing how = update_sharing();
    how.settings.warm_up = 8;
    training made = trainer<wide>(small, world, how, plain_sgd());
    made.fit(examples.data(), {.batch = 4, .epochs = 1});
    training dense = trainer<wide>(small, world, allreduce{}, plain_sgd());
    dense.fit(examples.data(), {.batch = 4, .epochs = 1});
    EXPECT_LT(largest_difference(parameters_of(made), parameters_of(dense)), 1e-6);
  });
}

/// As in Deeplearning4j, the ranks' steps are summed. The sum equals one step on the examples of all ranks.
TEST(threshold_sharing, sums_the_updates_of_all_ranks) {
  bright_thirds const examples(96);
  launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    auto const trained = [&](auto const& how, double rate) {
      training made =
          trainer<wide>(small, world, how, {.optimizer = {sgd{.learning_rate = rate}}, .seed = 7});
      made.fit(examples.data(), {.batch = 8, .epochs = 1});
      return parameters_of(made);
    };
    threshold_sharing const all{.threshold = threshold::fixed{1e-12}, .settings = {.share = share::update}};
    EXPECT_LT(largest_difference(trained(all, 0.1), trained(allreduce{}, 0.2)), 1e-5);
  });
}

/// Parameters are constant until the first step or gradient is applied. A message that is two steps old is
/// halved if `slower_if_stale`.
TEST(threshold_sharing, applies_messages_with_the_requested_staleness) {
  bright_thirds const examples(96);
  struct watching final : listener {
    std::vector<std::vector<double>> after;
    void on_step(training& run, step_report const&) override { after.push_back(parameters_of(run)); }
  };
  launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    for (share const what : {share::update, share::gradient}) {
      auto const watched = [&](int staleness, bool slower) {
        watching all;
        threshold_sharing const how{
            .threshold = threshold::fixed{1e-12},
            .settings = {.share = what, .max_staleness = staleness, .slower_if_stale = slower}};
        training made =
            trainer<wide>(small, world, how, {.optimizer = {sgd{.learning_rate = 0.1}}, .seed = 7});
        std::vector<double> const before = parameters_of(made);
        made.fit(examples.data(), {.batch = 8, .epochs = 1, .listeners = {&all}});
        all.after.insert(all.after.begin(), before);
        all.after.push_back(parameters_of(made));
        return all.after;
      };
      auto const at_once = watched(0, false), late = watched(2, false), slower = watched(2, true);
      ASSERT_EQ(late.size(), 1U + 6 + 1);
      EXPECT_EQ(late[0], late[1]);
      EXPECT_EQ(late[0], late[2]);
      EXPECT_EQ(late[3], at_once[1]);
      EXPECT_EQ(late[7] == late[6], what == share::gradient);  // messages not applied yet
      EXPECT_EQ(slower[2], late[2]);
      for (std::size_t i = 0; i < late[0].size(); ++i)
        ASSERT_NEAR(2 * (slower[3][i] - late[0][i]), late[3][i] - late[0][i], 1e-15);
    }
  });
}

TEST(threshold_sharing, of_updates_preserves_constraints) {
  bright_thirds const examples(96);
  launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    training_settings settings = with_state();
    settings.optimizer.constraint = constraint::non_negative{};
    training made = trainer<narrow>(small, world, update_sharing(), settings);
    made.fit(examples.data(), {.batch = 8, .epochs = 2});
    EXPECT_TRUE(same_text(world, made.checksum()));
    auto const all = parameters_of<float>(made);
    for (parameter const& p : made.parameters().table())
      for (std::int64_t i = p.first;
           p.spec.role == parameter_role::weights && i < p.first + p.spec.dims.elements(); ++i)
        ASSERT_GE(all[static_cast<std::size_t>(i)], 0);
  });
}

TEST(threshold_sharing, trains_even_the_smallest_tensors) {
  bright_thirds const examples(96);
  launch<threads>(2, [&](communicator& world) {
    for (bool const each : {false, true}) {
      threshold_sharing how{.per_parameter = each};  // a thousandth of 443 parameters
      if (each) how.threshold = threshold::quantile{.density = 0.05};
      training made =
          trainer<narrow>(small, world, how, {.optimizer = {sgd{.learning_rate = 0.1}}, .seed = 7});
      std::vector<float> const before = parameters_of<float>(made);
      made.fit(examples.data(), {.batch = 8, .epochs = 10});
      std::vector<float> const after = parameters_of<float>(made);
      for (parameter const& p : made.parameters().table()) {
        auto const first = before.begin() + p.first, last = first + p.spec.dims.elements();
        EXPECT_FALSE(std::equal(first, last, after.begin() + p.first)) << p.layer() << ' ' << p.spec.name;
      }
    }
  });
}

TEST(threshold_sharing, of_updates_is_equal_on_all_ranks_after_a_skipped_last_step) {
  launch<threads>(2, [](communicator& world) {
    bright_thirds examples(16);
    dataset const data = examples.data();
    spoil(examples, world, 1, 0, 8);
    training_settings settings = with_state();
    settings.not_finite = when_not_finite::skip;
    training made = trainer<narrow>(with_norms, world, update_sharing(), settings);
    made.fit(data, {.batch = 8, .epochs = 1, .shuffle = false});
    EXPECT_TRUE(same_text(world, made.checksum()));
  });
}

TEST(threshold_sharing, refuses_invalid_settings) {
  launch<self>([](communicator& world) {
    EXPECT_THROW(trainer<narrow>(small, world, threshold_sharing{.settings = {.warm_up = -1}}, {}),
                 setting_error);
    EXPECT_THROW(trainer<narrow>(small, world, threshold_sharing{.settings = {.sync_buffers = -1}}, {}),
                 setting_error);
    threshold_sharing late = late_sharing();
    late.settings.route = route::merged;
    EXPECT_THROW(late.on(world), setting_error);
    late = late_sharing();
    late.settings.max_staleness = 100;
    EXPECT_THROW(late.on(world), setting_error);
    EXPECT_THROW(trainer<narrow>(small, world, threshold_sharing{.threshold = threshold::fixed{0}}, {}),
                 setting_error);
    EXPECT_THROW(trainer<narrow>(small, world, threshold_sharing{.residual = residual::clip{.at = 0.5}}, {}),
                 setting_error);
  });
}

}  // namespace threshold_sharing_test
