// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/launch.hpp>
#include <cohort/strategy/detail/unsynced_statistics.hpp>
#include <semaphore>
#include <stdexcept>
#include "../checkpoint/scratch_folder.hpp"
#include "asynchronous_cases.hpp"

namespace asynchronous_sharing_test {

using namespace cohort_test;
using detail::longest_lead;
using std::chrono::seconds;

class unbounded_sharing_over_threads : public testing::TestWithParam<int> {
 protected:
  template <class Body>
  void on_all(Body body) {
    launch<threads>(GetParam(), {.deadline = seconds(60)}, body);
  }
};
INSTANTIATE_TEST_SUITE_P(ranks, unbounded_sharing_over_threads, testing::Values(1, 2, 3, 4));

class unbounded_sharing_over_several_threads : public unbounded_sharing_over_threads {};
INSTANTIATE_TEST_SUITE_P(ranks, unbounded_sharing_over_several_threads, testing::Values(2, 3, 4));

TEST_P(unbounded_sharing_over_threads, is_bitwise_equal_on_all_ranks_at_the_end_of_epochs) {
  on_all(unbounded_sharing_ends_epochs_with_the_same_bits);
}
TEST_P(unbounded_sharing_over_threads, learns_like_dense_exchange) {
  on_all([](communicator& world) { sharing_learns_what_dense_learns(world, unbounded_sharing()); });
}
TEST_P(unbounded_sharing_over_several_threads, trains_on_uneven_data) {
  on_all([](communicator& world) { sharing_trains_on_uneven_data(world, unbounded_sharing()); });
}
TEST_P(unbounded_sharing_over_several_threads, counts_no_steps_without_examples) {
  on_all([](communicator& world) { steps_without_examples_do_not_count(world, unbounded_sharing()); });
}
TEST_P(unbounded_sharing_over_threads, stops_all_ranks_if_one_requests_it) {
  on_all(unbounded_sharing_stops_when_one_asks);
}
TEST_P(unbounded_sharing_over_threads, skips_non_finite_steps) {
  on_all(unbounded_sharing_leaves_out_numbers_that_are_not_finite);
}
TEST_P(unbounded_sharing_over_threads, is_evaluated_equally_on_all_ranks) {
  on_all(unbounded_sharing_is_evaluated_alike);
}

/// With epochs of one step, every message arrives by the end of its epoch. The result is then that of
/// synchronous sharing.
TEST_P(unbounded_sharing_over_threads, equals_synchronous_sharing_if_epochs_have_one_step) {
  on_all([](communicator& world) {
    bright_thirds const examples(8 * world.size());
    auto const trained = [&](int staleness, bool mean, int warm_up) {
      threshold_sharing const how{.threshold = threshold::fixed{1e-3},
                                  .settings = {.share = share::update,
                                               .mean = mean,
                                               .warm_up = warm_up,
                                               .route = route::to_all,
                                               .group = sharing_group::rank,
                                               .max_staleness = staleness}};
      training made = trainer<wide>(small, world, how, with_state());
      made.fit(examples.data(), {.batch = 8, .epochs = 10});
      return parameters_of(made);
    };
    for (bool const mean : {false, true})
      for (int const warm_up : {0, 4, 10})
        EXPECT_LT(largest_difference(trained(unbounded, mean, warm_up), trained(0, mean, warm_up)), 1e-6);
  });
}

/// While parameters are constant, running statistics equal those of parameter averaging at the epoch's end.
TEST_P(unbounded_sharing_over_threads, averages_running_statistics) {
  on_all([](communicator& world) {
    bright_thirds const examples(8 * 4 * world.size() + 1);
    auto settings = plain_sgd();
    settings.optimizer.rule = sgd{.learning_rate = 1e-30};
    struct looking final : listener {
      int alike = 0;
      void on_step(training& run, step_report const&) override {
        std::vector<double> const all = parameters_of(run);
        std::string statistics;
        detail::for_each_statistic(run.parameters(), [&](int, parameter const& one) {
          statistics.append(reinterpret_cast<char const*>(all.data() + one.first),
                            static_cast<std::size_t>(one.spec.dims.elements()) * sizeof(double));
        });
        EXPECT_FALSE(statistics.empty());
        alike += same_text(run.world(), statistics);
      }
    };
    auto const trained = [&](auto const& how, int alike) {
      looking listening;
      training made = trainer<wide>(with_norms, world, how, settings);
      made.fit(examples.data(), {.batch = 8, .epochs = 1, .listeners = {&listening}});
      EXPECT_TRUE(same_text(world, made.checksum()));
      if (world.size() > 1) {
        EXPECT_EQ(listening.alike, alike);
      }
      return parameters_of(made);
    };
    auto const averaged = trained(parameter_averaging{.every = 100}, 0);
    threshold_sharing how = unbounded_sharing();
    EXPECT_LT(largest_difference(trained(how, 0), averaged), 1e-12);
    how.settings.sync_buffers = 2;
    trained(how, 2);
  });
}

/// A checkpoint contains all messages: those that a rank has not applied are stored in addition to its
/// parameters.
TEST_P(unbounded_sharing_over_threads, resumes_from_a_checkpoint_in_the_middle_of_an_epoch) {
  bright_thirds const examples(4 * 12 * GetParam());
  scratch_folder const folder;
  struct looking final : listener {
    strategy const* of = nullptr;
    std::string folder;
    int looks = 0;
    void on_step(training& run, step_report const& done) override {
      std::vector<double> all = parameters_of(run);
      std::vector<float> const not_taken = array_of(*of, "not applied");
      ASSERT_EQ(all.size(), not_taken.size());
      for (std::size_t i = 0; i < all.size(); ++i) all[i] -= double{not_taken[i]};
      std::vector<double> largest = all;
      run.world().allreduce(std::span(largest), reduction::maximum);
      EXPECT_LT(largest_difference(all, largest), 1e-5);
      ++looks;
      if (done.step == 6) save_checkpoint(run, folder);
    }
  };
  std::string residual[4];
  auto const bytes_of = [](std::vector<float> const& values) {
    return std::string(reinterpret_cast<char const*>(values.data()), values.size() * sizeof(float));
  };
  for (bool const again : {false, true})
    on_all([&](communicator& world) {
      auto how = unbounded_sharing().on(world);
      looking listening;
      listening.of = how.get();
      listening.folder = folder.path();
      training made = trainer<wide>(small, world, std::move(how), with_state());
      std::string& mine = residual[world.rank()];
      if (again) {
        ASSERT_TRUE(resume(made, folder.path()).has_value());
        EXPECT_EQ(made.step(), 7);
        EXPECT_EQ(bytes_of(array_of(*listening.of, "residual")).size(), mine.size());
      }
      made.fit(examples.data(), {.batch = 4, .epochs = 1, .listeners = {&listening}});
      mine = bytes_of(array_of(*listening.of, "residual"));
      EXPECT_EQ(listening.looks, again ? 5 : 12);
      EXPECT_TRUE(same_text(world, made.checksum()));
    });
}

/// Messages that were in flight when a run failed within an epoch do not affect the next run.
TEST(unbounded_sharing, resumes_from_a_checkpoint_after_a_failed_training) {
  bright_thirds const examples(3 * 4 * 12);
  scratch_folder const folder;
  launch<threads>(3, {.deadline = seconds(60)}, [&](communicator& world) {
    struct failing_after_saving final : listener {
      std::string to;
      void on_step(training& run, step_report const& done) override {
        if (done.step == 3) save_checkpoint(run, to);
        if (done.step == 6) throw std::runtime_error("a listener's");
      }
    } failing;
    failing.to = folder.path();
    training made = trainer<narrow>(small, world, unbounded_sharing(), with_state());
    EXPECT_THROW(made.fit(examples.data(), {.batch = 4, .epochs = 1, .listeners = {&failing}}),
                 std::runtime_error);
    ASSERT_TRUE(resume(made, folder.path()).has_value());
    EXPECT_EQ(made.step(), 4);
    made.fit(examples.data(), {.batch = 4, .epochs = 2});
    EXPECT_EQ(made.step(), 24);
    EXPECT_TRUE(same_text(world, made.checksum()));
  });
}

/// One rank pauses after its third step until the other ranks have continued as far as the bound allows. All
/// end with the same result.
TEST(unbounded_sharing, does_not_wait_for_a_slow_rank) {
  struct at_a_gate final : listener {
    std::counting_semaphore<>* gate = nullptr;
    void on_step(training& run, step_report const& done) override {
      bool const slow = run.world().rank() == 0;
      int const others = run.world().size() - 1;
      for (int r = 0; slow && done.step == 2 && r < others; ++r)
        ASSERT_TRUE(gate->try_acquire_for(seconds(60)));
      if (!slow && done.step == 2 + longest_lead) gate->release();
    }
  };
  bright_thirds const examples(3 * 4 * 50);
  std::counting_semaphore<> gate(0);
  launch<threads>(3, {.deadline = seconds(60)}, [&](communicator& world) {
    at_a_gate listening;
    listening.gate = &gate;
    training made = trainer<narrow>(small, world, unbounded_sharing(), with_state());
    made.fit(examples.data(), {.batch = 4, .epochs = 1, .listeners = {&listening}});
    EXPECT_EQ(made.step(), 50);
    EXPECT_TRUE(same_text(world, made.checksum()));
    double largest = -1;
    for (measurement const& one : made.exchange_report())
      if (one.name == "largest_staleness") largest = one.value;
    if (world.rank() != 0) {
      EXPECT_EQ(largest, longest_lead);
    }
  });
}

/// Every step of a rank is 2⁻⁴ · (1, 2), because the mean absolute error has this gradient far below the
/// target. Rank 1 sends its fourth message when rank 0 has continued as far as the bound allows. Rank 1 sends
/// its next message after rank 0 has recorded the applied step.
TEST(unbounded_sharing, divides_a_late_step_by_its_age_if_slower_if_stale_is_set) {
  constexpr int late = 3, due = late + longest_lead, steps = 50;
  struct at_gates final : listener {
    std::binary_semaphore may_send{0}, has_looked{0};
    std::vector<double> before, applied;
    void on_step(training& run, step_report const& done) override {
      if (run.world().rank() == 1) {
        if (done.step == late - 1 || done.step == late) {
          ASSERT_TRUE((done.step == late ? has_looked : may_send).try_acquire_for(seconds(60)));
        }
        return;
      }
      if (done.step == due - 1) {
        before = parameters_of(run);
        may_send.release();
      } else if (done.step == due) {
        applied = parameters_of(run);
        for (std::size_t i = 0; i < applied.size(); ++i) applied[i] -= before[i];
        has_looked.release();
      }
    }
  };
  constexpr auto line = network<[](builder& b) {
    return b.input({2}) | dense{.units = 1, .bias = false} | mean_absolute_error{};
  }>();
  std::vector<float> inputs, targets(2 * steps, 1e6F);
  for (int k = 0; k < 2 * steps; ++k) inputs.insert(inputs.end(), {1, 2});
  dataset const data =
      arrays({{.values = {inputs.data(), {2 * steps, 2}}}}, {{.values = {targets.data(), {2 * steps, 1}}}});
  for (bool const slower : {false, true}) {
    at_gates watching;  // records both ranks
    launch<threads>(2, {.deadline = seconds(60)}, [&](communicator& world) {
      threshold_sharing const how{.threshold = threshold::fixed{1e-12},
                                  .settings = {.share = share::update,
                                               .group = sharing_group::rank,
                                               .max_staleness = unbounded,
                                               .slower_if_stale = slower}};
      training made = trainer<wide>(line, world, how, {.optimizer = {sgd{.learning_rate = 0x1p-4}}});
      made.fit(data, {.batch = 1, .epochs = 1, .listeners = {&watching}});
    });
    double const step = 0x1p-4 * (1 + (slower ? 1.0 / longest_lead : 1));
    ASSERT_EQ(watching.applied.size(), 2U);
    for (int const i : {0, 1})  // messages are rounded to 16 significant bits
      EXPECT_NEAR(watching.applied[static_cast<std::size_t>(i)], (1 + i) * step, 1e-5 * step) << slower;
  }
}

TEST(unbounded_sharing, is_bitwise_equal_on_eight_ranks_at_the_end_of_epochs) {
  launch<threads>(8, {.deadline = seconds(60)}, unbounded_sharing_ends_epochs_with_the_same_bits);
}

TEST(unbounded_sharing, reports_dense_and_sparse_exchanges) {
  launch<threads>(
      2, [&](communicator& world) { sharing_reports_all_its_exchanges(world, unbounded_sharing()); });
}

TEST(unbounded_sharing, reports_a_stalled_rank_and_step) {
  std::binary_semaphore gate(0);
  struct standing_still final : listener {
    std::binary_semaphore* gate = nullptr;
    void on_step(training& run, step_report const& done) override {
      if (run.world().rank() == 1 && done.step == 2) {
        ASSERT_TRUE(gate->try_acquire_for(seconds(60)));
      }
    }
  };
  bright_thirds const examples(2 * 4 * 60);
  auto const run = [&](communicator& world) {
    standing_still listening;
    listening.gate = &gate;
    training made = trainer<narrow>(small, world, unbounded_sharing(), with_state());
    std::string said;
    try {
      made.fit(examples.data(), {.batch = 4, .epochs = 1, .listeners = {&listening}});
    } catch (communicator_error const& why) {
      said = why.what();
    }
    EXPECT_NE(said.find("rank 1"), std::string::npos) << said;
    EXPECT_NE(said.find("step 2"), std::string::npos) << said;
    if (world.rank() == 0) gate.release();
  };
  EXPECT_THROW(launch<threads>(2, {.deadline = seconds(2)}, run), communicator_error);
}

/// If a listener ends a rank within an epoch, that rank does not wait until the other ranks synchronise. The
/// other ranks are notified of the reason at once.
TEST(unbounded_sharing, reports_at_once_the_error_of_a_failed_rank) {
  struct ending final : listener {
    void on_step(training& run, step_report const& done) override {
      if (run.world().rank() == 1 && done.step == 3) throw data_error({.what = "a listener's own"});
    }
  };
  bright_thirds const examples(2 * 4 * 60);
  auto const beginning = std::chrono::steady_clock::now();
  try {
    launch<threads>(2, {.deadline = seconds(60)}, [&](communicator& world) {
      ending listening;
      training made = trainer<narrow>(small, world, unbounded_sharing(), with_state());
      made.fit(examples.data(), {.batch = 4, .epochs = 1, .listeners = {&listening}});
    });
    FAIL() << "nobody heard of it";
  } catch (error const& why) {
    EXPECT_NE(std::string(why.what()).find("a listener's own"), std::string::npos) << why.what();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - beginning, seconds(30));
}

TEST(unbounded_sharing, preserves_constraints) {
  bright_thirds const examples(96);
  launch<threads>(2, {.deadline = seconds(60)}, [&](communicator& world) {
    training_settings settings = with_state();
    settings.optimizer.constraint = constraint::non_negative{};
    training made = trainer<narrow>(small, world, unbounded_sharing(), settings);
    made.fit(examples.data(), {.batch = 8, .epochs = 2});
    auto const all = parameters_of<float>(made);
    for (parameter const& p : made.parameters().table())
      for (std::int64_t i = p.first;
           p.spec.role == parameter_role::weights && i < p.first + p.spec.dims.elements(); ++i)
        ASSERT_GE(all[static_cast<std::size_t>(i)], 0);
  });
}

TEST(unbounded_sharing, refuses_invalid_settings) {
  launch<self>([](communicator& world) {
    threshold_sharing how = unbounded_sharing();
    how.settings.route = route::merged;
    EXPECT_THROW(how.on(world), setting_error);
    how = unbounded_sharing();
    how.settings.share = share::gradient;
    EXPECT_THROW(how.on(world), setting_error);
    how = unbounded_sharing();
    how.settings.max_staleness = -2;
    EXPECT_THROW(how.on(world), setting_error);
    EXPECT_NE(unbounded_sharing().on(world)->describe().find("unbounded"), std::string::npos);
  });
}

}  // namespace asynchronous_sharing_test
