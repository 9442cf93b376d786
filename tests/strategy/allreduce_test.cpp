// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/launch.hpp>
#include "../checkpoint/refusals.hpp"
#include "rank_cases.hpp"

namespace allreduce_test {

using namespace cohort_test;

class allreduce_over_threads : public testing::TestWithParam<int> {
 protected:
  template <class Body>
  void on_all(Body body) {
    launch<threads>(GetParam(), {.deadline = std::chrono::seconds(60)}, body);
  }
};
INSTANTIATE_TEST_SUITE_P(ranks, allreduce_over_threads, testing::Values(1, 2, 3, 4));

class allreduce_over_several_threads : public allreduce_over_threads {};
INSTANTIATE_TEST_SUITE_P(ranks, allreduce_over_several_threads, testing::Values(2, 3, 4));

TEST_P(allreduce_over_threads, equals_one_rank_with_the_whole_batch) { on_all(allreduce_equals_one_rank<>); }
TEST_P(allreduce_over_threads, is_bitwise_equal_on_all_ranks_after_each_step) {
  on_all(ranks_hold_the_same_bits_after_each_step<>);
}
TEST(allreduce, is_bitwise_equal_on_eight_ranks) {
  launch<threads>(8, {.deadline = std::chrono::seconds(60)}, ranks_hold_the_same_bits_after_each_step<>);
}
TEST_P(allreduce_over_threads, is_deterministic_for_a_seed) { on_all(runs_of_one_seed_have_the_same_bits); }
TEST_P(allreduce_over_threads, trains_on_fewer_examples_than_ranks) {
  on_all(more_ranks_than_examples_train_on<>);
}
TEST_P(allreduce_over_threads, skips_a_step_whose_examples_have_weight_zero) {
  on_all([](communicator& world) { a_step_without_weight_is_left_out(world, allreduce{}); });
}
TEST_P(allreduce_over_several_threads, counts_no_steps_without_examples) {
  on_all([](communicator& world) { steps_without_examples_do_not_count(world, allreduce{}); });
}
TEST_P(allreduce_over_several_threads, trains_on_rank_local_examples) {
  on_all([](communicator& world) { ranks_train_on_examples_of_their_own(world, allreduce{}); });
}
TEST_P(allreduce_over_several_threads, evaluates_rank_local_examples) {
  on_all(examples_of_their_own_are_evaluated_together);
}
TEST_P(allreduce_over_several_threads, refuses_different_data_sets_without_local_sharding) {
  on_all(data_sets_that_differ_are_refused);
}
TEST_P(allreduce_over_several_threads, trains_on_streams_of_different_lengths) {
  on_all(ranks_without_data_and_with_fewer_batches_train_on<>);
}
TEST_P(allreduce_over_threads, sends_the_documented_number_of_bytes) {
  on_all(sends_the_bytes_that_its_contract_says);
}
TEST_P(allreduce_over_threads, learns_with_a_low_precision_wire) {
  on_all(few_bits_on_the_wire_lead_where_all_do);
}
TEST_P(allreduce_over_threads, accumulates_several_evaluations_in_a_report) {
  on_all(a_report_may_see_several_passes);
}
TEST_P(allreduce_over_threads, fails_an_evaluation_on_all_ranks_if_it_fails_on_one) {
  on_all(an_evaluation_that_fails_on_one_rank_fails_on_all);
}
TEST_P(allreduce_over_several_threads, stops_all_ranks_for_a_non_finite_number) {
  on_all([](communicator& world) { a_number_that_is_not_finite_stops_all_and_is_named(world, false); });
}
TEST_P(allreduce_over_threads, stops_all_ranks_if_one_requests_it) {
  on_all([](communicator& world) { one_rank_stops_all(world, false); });
}
TEST_P(allreduce_over_several_threads, refuses_ranks_with_different_settings) {
  on_all(ranks_that_disagree_refuse_to_begin);
}
TEST_P(allreduce_over_threads, evaluates_in_shards_like_one_rank) { on_all(evaluation_is_that_of_one_rank); }

TEST(allreduce, equals_local_training_bitwise_with_a_single_rank) {
  bright_thirds const examples(103);
  training plain = single_rank<narrow>(small, with_state(2));
  plain.fit(examples.data(), {.batch = 7, .epochs = 2});
  launch<self>([&](communicator& world) {
    EXPECT_EQ(checksum_after(world, allreduce{}, with_state(2)), plain.checksum());
  });
}

/// Number of messages that one rank has sent after a run, and the run's results.
struct finished {
  std::uint64_t messages = 0;
  std::string checksum;
  bool operator==(finished const&) const = default;
};
template <class Others>
finished with_others(graph_view net, int workers) {
  bright_thirds const examples(64);
  finished first;
  launch<threads>(2, [&](communicator& world) {
    auto const fit = [&](training made) {
      made.fit(examples.data(), {.batch = 8, .epochs = 2});
      if (world.rank() == 0) first = {world.sent().messages_sent, made.checksum()};
    };
    if (world.rank() == 0)
      fit(trainer<narrow>(graph(net), world, allreduce{}, with_state(workers)));
    else
      fit(trainer<Others>(graph(net), world, allreduce{}, with_state(workers)));
  });
  return first;
}

/// The sum of two numbers is the same in either order, whatever the layout.
TEST(allreduce, sums_gradients_in_place_only_if_layouts_match) {
  for (int const workers : {1, 2}) {
    finished const alike = with_others<narrow>(broad, workers),
                   unlike = with_others<other_order>(broad, workers);
    EXPECT_EQ(alike.checksum, unlike.checksum);
    EXPECT_GT(alike.messages, unlike.messages) << "votes travel by themselves";
  }
  EXPECT_EQ(with_others<narrow>(small, 1), with_others<other_order>(small, 1)) << "too much padding";
}

TEST_P(allreduce_over_threads, is_correct_if_gradients_are_summed_in_place) {
  on_all(allreduce_equals_one_rank<broad>);
  on_all(ranks_hold_the_same_bits_after_each_step<broad>);
  on_all(more_ranks_than_examples_train_on<broad>);
  on_all(ranks_without_data_and_with_fewer_batches_train_on<broad>);
  on_all(
      [](communicator& world) { a_number_that_is_not_finite_stops_all_and_is_named<broad>(world, false); });
}

/// Modifies one rank's parameters once, like the drift of a rank with another backend.
struct drifting final : listener {
  void on_step(training& run, step_report const& done) override {
    if (done.step != 3 || run.world().rank() != 1) return;
    auto values = parameters_of<float>(run);
    values[5] += 1e-3F;
    run.parameters().write_all(reinterpret_cast<std::byte const*>(values.data()), run.parameters().master());
    run.parameters().mark_changed();
  }
};

/// The text of the error that each rank gets, and the ranks' checksums, in a run of which rank 1 drifts.
/// `Others`: the backend of rank 1.
struct drifted {
  std::vector<std::string> errors, checksums;
  std::vector<double> repairs;
};
template <class Others = narrow>
drifted after_drift(int ranks, allreduce const& how, training_settings const& settings = with_state()) {
  bright_thirds const examples(32 * ranks);  // 8 steps
  auto const count = static_cast<std::size_t>(ranks);
  drifted all{std::vector<std::string>(count), std::vector<std::string>(count), std::vector<double>(count)};
  launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    auto const r = static_cast<std::size_t>(world.rank());
    auto const fit = [&](training made) {
      drifting drift;
      all.errors[r] = refusal_of<numeric_error>(
          [&] { made.fit(examples.data(), {.batch = 4, .epochs = 1, .listeners = {&drift}}); });
      all.checksums[r] = made.checksum();
      for (measurement const& one : made.exchange_report())
        if (one.name == "repairs_of_parameters") all.repairs[r] = one.value;
    };
    if (world.rank() == 1)
      fit(trainer<Others>(graph(small), world, how, settings));
    else
      fit(trainer<narrow>(graph(small), world, how, settings));
  });
  return all;
}

TEST(allreduce, stops_ranks_of_one_backend_whose_parameters_differ) {
  drifted const three = after_drift(3, {.resync = 6});
  for (std::string const& text : three.errors) {
    EXPECT_EQ(
        text.rfind("the parameters of the ranks differ (step 6, first in conv2d_1.weights): expected the "
                   "same bits, because all ranks compute with reference<float>, ",
                   0),
        0U)
        << text;
    EXPECT_NE(text.find(", got other bits on rank 1 than on ranks 0, 2. Memory is damaged"), text.npos)
        << text;
  }
  std::string const two = after_drift(2, {.resync = 6}).errors[0];
  EXPECT_NE(two.find(", got other bits on rank 1 than on rank 0. "), two.npos) << two;
  std::string const on_wire = after_drift(2, {.resync = 6, .wire = element_type::bf16}).errors[1];
  EXPECT_NE(on_wire.find("than on rank 0. "), on_wire.npos) << on_wire;
}

TEST(allreduce, repairs_ranks_of_one_backend_on_request_and_reports_it) {
  drifted const repaired = after_drift(3, {.resync = 6, .diverged = when_diverged::repair});
  for (std::size_t r = 0; r < 3; ++r) {
    EXPECT_EQ(repaired.errors[r], "");
    EXPECT_EQ(repaired.checksums[r], repaired.checksums[0]);
    EXPECT_EQ(repaired.repairs[r], 1);
  }
}

TEST(allreduce, repairs_the_state_of_optimizers) {
  training_settings settings = with_state();
  settings.optimizer.l2 = 0.5;  // parameters that have drifted apart change the momentum
  drifted const repaired = after_drift(3, {.resync = 6, .diverged = when_diverged::repair}, settings);
  for (std::size_t r = 0; r < 3; ++r) {
    EXPECT_EQ(repaired.checksums[r], repaired.checksums[0]);
    EXPECT_EQ(repaired.repairs[r], 1);
  }
}

TEST(allreduce, repairs_ranks_of_different_backends_and_reports_it) {
  drifted const repaired = after_drift<other_order>(2, {.resync = 6});
  EXPECT_EQ(repaired.errors[1], "");
  EXPECT_EQ(repaired.checksums[1], repaired.checksums[0]);
  EXPECT_EQ(repaired.repairs, (std::vector<double>{1, 1}));
}

TEST(allreduce, does_not_compare_parameters_without_resync) {
  drifted const apart = after_drift(2, {.resync = 0});
  EXPECT_EQ(apart.errors[0], "");
  EXPECT_NE(apart.checksums[1], apart.checksums[0]);
}

TEST(allreduce, is_bitwise_equal_on_ranks_with_different_numbers_of_workers) {
  bright_thirds const examples(96);
  for (gradient_normalisation const& how :
       {gradient_normalisation(), gradient_normalisation(normalise::clip_global_norm{0.1})})
    launch<threads>(3, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
      training_settings settings = with_state(1 + world.rank());
      settings.optimizer.normalisation = how;
      settings.optimizer.constraint = constraint::max_norm{1};
      training made = trainer<narrow>(broad, world, allreduce{.resync = 1}, settings);
      step_by_step after;
      EXPECT_NO_THROW(made.fit(examples.data(), {.batch = 4, .epochs = 2, .listeners = {&after}}));
      EXPECT_EQ(after.different, 0);
    });
}

/// Allreduce whose step fails on one rank while its gradients are in flight.
struct failing final : strategy {
  explicit failing(communicator& world) : rank(world.rank()), real(allreduce{}.on(world)) {}
  void begin(step_info const& now, replica const& mine) override { real->begin(now, mine); }
  void ready(step_info const& now, bucket const& one, gradient_parts& parts) override {
    real->ready(now, one, parts);
  }
  bool before_update(step_info const& now, gradient_parts& parts) override {
    if (rank == 1) throw data_error({.what = "the shelf is empty"});
    return real->before_update(now, parts);
  }
  void abandon(std::string_view why) noexcept override { real->abandon(why); }
  agreement const* agreed() const override { return real->agreed(); }

  int rank;
  std::unique_ptr<strategy> real;
};

TEST(allreduce, reports_the_cause_of_a_failed_step_to_other_ranks) {
  bright_thirds const examples(64);
  std::string heard;
  EXPECT_THROW(launch<threads>(2,
                               [&](communicator& world) {
                                 training made =
                                     trainer<narrow>(small, world, std::make_unique<failing>(world));
                                 try {
                                   made.fit(examples.data(), {.batch = 4});
                                 } catch (communicator_error const& e) {
                                   heard = e.what();
                                   throw;
                                 }
                               }),
               data_error);
  EXPECT_EQ(heard, "rank 1 failed: the shelf is empty");
}

TEST(allreduce, skips_a_non_finite_step_with_a_low_precision_wire) {
  launch<threads>(2, [&](communicator& world) {
    bright_thirds examples(48 * world.size());
    dataset const data = examples.data();
    spoil(examples, world, 1, 2, 8);
    auto settings = with_state();
    settings.not_finite = when_not_finite::skip;
    training made = trainer<narrow>(small, world, allreduce{.wire = element_type::bf16}, settings);
    fit_report const report = made.fit(data, {.batch = 8, .epochs = 1, .shuffle = false});
    EXPECT_EQ(report.skipped, 1);
    EXPECT_TRUE(same_text(world, made.checksum()));
    for (float const w : parameters_of<float>(made)) ASSERT_TRUE(std::isfinite(w));
  });
}

TEST(allreduce, describes_its_wire_type_and_refuses_unsupported_types) {
  launch<self>([](communicator& world) {
    EXPECT_EQ(allreduce{}.on(world)->describe(), "allreduce, resync 100");
    EXPECT_EQ(allreduce{.wire = element_type::bf16}.on(world)->describe(),
              "allreduce, resync 100, wire type bf16");
    for (element_type const wire : {element_type::u8, element_type::i32, element_type::f64})
      EXPECT_THROW(allreduce{.wire = wire}.on(world), setting_error);
  });
}

TEST(allreduce, refuses_a_negative_resync_period) {
  launch<self>([](communicator& world) {
    EXPECT_THROW(trainer<narrow>(small, world, allreduce{.resync = -1}, {}), setting_error);
  });
}

}  // namespace allreduce_test
