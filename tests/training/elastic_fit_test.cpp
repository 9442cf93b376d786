// SPDX-License-Identifier: Apache-2.0
// label: slow
// Ranks are lost, leave and join before any collective call of a fit.
#include <gtest/gtest.h>
#include <array>
#include <atomic>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/layer/synchronised_batch_norm.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/early_stopping_listener.hpp>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include "elastic_threads.hpp"
#include "planes.hpp"

namespace elastic_fit_test {

using namespace cohort;
using cohort_test::elastic_threads;
using cohort_test::killed;

constexpr int examples = 48, examples_per_rank = 4, ranks = 3, epochs = 2;
constexpr int every = 3, most_calls_of_regroup = 10;
constexpr int examples_per_step = examples_per_rank * ranks;

/// The gradient of example i is the unit vector e_i, so parameter i counts how often example i was used.
constexpr auto probe = network<[](builder& net) {
  return net.input({1}) | embedding{.vocabulary = examples, .width = 1} | flatten{} | mean_absolute_error{};
}>();

dataset probe_data() {
  static std::vector<float> const targets(examples, -1e6F);  // so that the gradient of the loss is always 1
  static std::vector<float> const indices = [] {
    std::vector<float> all;
    for (int i = 0; i < examples; ++i) all.push_back(static_cast<float>(i));
    return all;
  }();
  return arrays({{.name = "index", .values = {indices.data(), {examples, 1}}}},
                {{.name = "target", .values = {targets.data(), {examples, 1}}}});
}

/// A process: how often it has used each example (`counts`, in parameters), and what it has not sent yet.
struct process_result {
  std::vector<double> before{}, after{};
  std::array<double, examples> unsent{};  // after its last step
  std::int64_t lost = 0;
  bool has_ended = false, left = false;
};

enum class fault { kill, leave, join, interrupt };

/// Before call `call` of its fit, process `victim` is killed or asked to leave, or another process joins; or
/// the call is interrupted on this process only. Then, if `next_call` > 0, call `next_call` of process
/// `next_victim` after this fault is interrupted on this process only.
struct planned_fault {
  fault kind = fault::kill;
  int victim = 0, call = 0;
  int next_victim = 0, next_call = 0;
};

std::vector<double> values_of(training& run) {
  parameter_set const& all = run.parameters();
  std::vector<double> values(static_cast<std::size_t>(all.elements()));
  all.read_all(all.master(), reinterpret_cast<std::byte*>(values.data()));
  return values;
}

/// Records the residual of the process, in units of an example, and lets it leave on request.
struct observer final : listener {
  observer(process_result& into, std::atomic<bool> const& request) : result(into), leaves(request) {}
  void on_step(training& run, step_report const& done) override {
    if (done.step == stop_at) run.request({.stop = true});
    if (leaves) run.state().wants_to_leave = true;
    record_residual(run);
  }
  void record_residual(training& run) {
    for (strategy_state::array const& one : run.state().exchange_strategy->state().arrays)
      for (std::size_t i = 0; one.name == "residual" && i < examples; ++i) {
        float value = 0;
        std::memcpy(&value, one.values.data() + i * sizeof value, sizeof value);
        result.unsent[i] = double{value} * examples_per_step / run.world().size();
      }
  }
  process_result& result;
  std::atomic<bool> const& leaves;
  std::int64_t stop_at = -1;
};

/// Returns a number for an epoch, counted from 1, and a number of ranks.
using score = double (*)(std::int64_t epoch, int ranks);

/// What the processes train: network, data and settings. With `best`, the result has the parameters of the
/// epoch with the highest score. `stop_at`: the step after which they request the end of the fit; then they
/// continue with another fit if `continues`.
template <class Strategy>
struct job_settings {
  Strategy strategy{};
  std::function<graph()> net = [] { return graph(probe); };
  std::function<dataset()> data = probe_data;
  training_settings settings{.optimizer = {sgd{.learning_rate = 1}}};
  score best = nullptr;
  std::int64_t stop_at = -1;
  bool continues = false;
};

template <class Strategy>
void fit(communicator& world, job_settings<Strategy> const& job, process_result& result,
         std::atomic<bool> const& leaves) {
  dataset const data = job.data();
  auto run = trainer<reference<double>>(job.net(), world, job.strategy, job.settings);
  result.before = values_of(run);
  observer watches(result, leaves);
  watches.stop_at = job.stop_at;
  early_stopping_listener stopping(
      {.name = "score", .of = [&](training& of) { return job.best(of.epoch(), of.world().size()); }},
      {.restore_best = true, .lines = {}});
  fit_settings how{.batch = examples_per_rank, .epochs = epochs, .validation = data, .listeners = {&watches}};
  if (job.best) how.listeners.push_back(&stopping);
  fit_report report = run.fit(data, how);
  if (report.stopped && job.continues) report = run.fit(data, how);
  result.lost = report.lost_examples;
  result.left = report.stopped;
  if (result.left) return;
  watches.record_residual(run);
  result.after = values_of(run);
  result.has_ended = true;
}

struct run_result {
  std::map<int, process_result> processes{};
  bool has_happened = false;  // the fault
};

template <class Strategy>
run_result run(job_settings<Strategy> const& settings, planned_fault const& planned) {
  elastic_threads job(ranks);
  run_result result;
  std::array<std::atomic<bool>, ranks + 1> leaves{};
  std::array<elastic_threads::process*, ranks + 1> processes{};
  std::array<std::thread, ranks + 1> threads;
  std::atomic<bool> has_happened = false;
  for (int id = 0; id <= ranks; ++id) result.processes[id] = {};
  std::function<void(int)> const start = [&](int id) {
    auto const index = static_cast<std::size_t>(id);
    threads[index] = std::thread([&, id, index] {
      try {
        elastic_threads::process own(job, id);
        processes[index] = &own;
        fit(own, settings, result.processes.at(id), leaves[index]);
      } catch (killed const&) {
      } catch (std::exception const& problem) {
        ADD_FAILURE() << "process " << id << ": " << problem.what();
      }
    });
  };
  std::atomic<int> later_calls = 0;  // of the next victim
  job.before_call = [&](int id, int call) {
    if (has_happened && id == planned.next_victim && planned.next_call > 0)
      return ++later_calls == planned.next_call;
    if (id != planned.victim || call < planned.call || has_happened.exchange(true)) return false;
    auto const index = static_cast<std::size_t>(id);
    if (planned.kind == fault::kill) processes[index]->kill();
    if (planned.kind == fault::leave) leaves[index] = true;
    if (planned.kind == fault::join) start(ranks);
    return planned.kind == fault::interrupt;
  };
  for (int id = 0; id < ranks; ++id) start(id);
  for (std::thread& thread : threads)  // the last one, which joins, was started by one of the others
    if (thread.joinable()) thread.join();
  result.has_happened = has_happened;
  return result;
}

/// All processes that have ended their fit have the same parameters. Returns one of them; `lost`: the largest
/// number, because a process that has joined later counts fewer.
process_result common_end(run_result const& result) {
  process_result common;
  for (auto const& [id, process] : result.processes) {
    if (!process.has_ended) continue;
    if (!common.has_ended) common = process;
    EXPECT_EQ(process.after, common.after) << "process " << id;
    common.lost = std::max(common.lost, process.lost);
  }
  EXPECT_TRUE(common.has_ended);
  return common;
}

/// Calls check(result) for the runs with a fault before call 1, 1 + stride, … of the victim's fit, until the
/// fit ends before this call.
template <class Strategy, class Check>
void try_all_calls(job_settings<Strategy> const& job, fault kind, int victim, Check check, int stride = 1) {
  for (int call = 1;; call += stride) {
    SCOPED_TRACE("process " + std::to_string(victim) + ", call " + std::to_string(call));
    run_result const result = run(job, {kind, victim, call});
    check(result);
    if (::testing::Test::HasFailure()) return;
    if (result.has_happened) continue;
    EXPECT_GT(call, 1 + stride) << "the fit makes no calls";
    return;
  }
}

/// Like try_all_calls, but a second fault interrupts another process while the ranks regroup after the first.
template <class Strategy, class Check>
void try_two_faults(job_settings<Strategy> const& job, fault kind, Check check, int stride) {
  for (int next_victim = 0; next_victim < ranks; ++next_victim)
    for (int next_call = 1; next_call <= most_calls_of_regroup && !::testing::Test::HasFailure(); ++next_call)
      for (int call = 1 + next_call % stride;; call += stride) {
        SCOPED_TRACE("call " + std::to_string(call) + ", then process " + std::to_string(next_victim)
                     + ", call " + std::to_string(next_call));
        run_result const result = run(job, {kind, 1, call, next_victim, next_call});
        check(result);
        if (!result.has_happened || ::testing::Test::HasFailure()) break;
      }
}

/// Each example counts once per epoch. Examples that are lost count once less, and the other examples of
/// these steps count more.
void check_counts(run_result const& result, std::int64_t most_lost) {
  process_result const end = common_end(result);
  ASSERT_TRUE(end.has_ended);
  double sum = 0;
  std::int64_t missing = 0;
  for (std::size_t i = 0; i < examples; ++i) {
    double const count = (end.before[i] - end.after[i]) * examples_per_step;
    sum += count;
    missing += std::abs(count - epochs + 1) < 1e-6;
    EXPECT_TRUE(end.lost > 0 || std::abs(count - epochs) < 1e-6) << "example " << i << ": " << count;
  }
  EXPECT_NEAR(sum, examples * epochs, 1e-6);
  EXPECT_LE(end.lost, result.has_happened ? most_lost : 0);
  EXPECT_EQ(missing, end.lost);
}

/// Returns how often each example counts in the parameters.
int common_count(run_result const& result) {
  process_result const end = common_end(result);
  double const count = end.has_ended ? (end.before[0] - end.after[0]) * examples_per_step : 0;
  for (std::size_t i = 0; end.has_ended && i < examples; ++i)
    EXPECT_NEAR((end.before[i] - end.after[i]) * examples_per_step, count, 1e-6);
  return static_cast<int>(std::lround(count));
}

TEST(elastic_fit, restores_the_parameters_of_the_best_epoch) {
  score const first = [](std::int64_t epoch, int) { return epoch == 1 ? 2. : 1.; };
  try_all_calls<allreduce>({.best = first}, fault::kill, 1,
                           [](run_result const& end) { EXPECT_EQ(common_count(end), 1); });
  // If the evaluation of the second epoch is repeated by other ranks, the first epoch is the best one again.
  score const second_of_all_ranks = [](std::int64_t epoch, int size) {
    return epoch == 1 ? 1. : size == ranks ? 2. : 0.;
  };
  for (fault const kind : {fault::kill, fault::join})
    try_all_calls<allreduce>(
        {.best = second_of_all_ranks}, kind, 1,
        [](run_result const& end) { EXPECT_GE(common_count(end), end.has_happened ? 1 : 2); }, 2);
}

TEST(elastic_fit, makes_a_step_of_allreduce_again_if_a_rank_is_lost) {
  for (int const victim : {0, 2})
    try_all_calls<allreduce>({}, fault::kill, victim, [](run_result const& end) { check_counts(end, 0); });
}

TEST(elastic_fit, keeps_the_rounding_errors_of_the_other_ranks) {
  for (fault const kind : {fault::kill, fault::join})
    try_all_calls<allreduce>(
        {.strategy = {.wire = element_type::bf16}}, kind, 1, [](run_result const& result) {
          process_result const end = common_end(result);
          ASSERT_TRUE(end.has_ended);
          for (std::size_t i = 0; i < examples; ++i)
            EXPECT_NEAR((end.before[i] - end.after[i]) * examples_per_step, epochs, 0.05);
        });
}

TEST(elastic_fit, loses_only_the_steps_of_a_lost_rank_since_the_last_meeting) {
  for (int const victim : {0, 2})
    try_all_calls<parameter_averaging>(
        {.strategy = {.every = every}}, fault::kill, victim,
        [](run_result const& end) { check_counts(end, every * examples_per_rank); });
}

TEST(elastic_fit, loses_no_step_if_a_rank_leaves_or_joins_between_meetings) {
  for (fault const kind : {fault::leave, fault::join})
    try_all_calls<parameter_averaging>({.strategy = {.every = every}}, kind, 2,
                                       [](run_result const& end) { check_counts(end, 0); });
}

TEST(elastic_fit, keeps_the_parameters_of_ranks_with_an_outer_step_equal) {
  for (fault const kind : {fault::kill, fault::leave, fault::join})
    try_all_calls<parameter_averaging>(
        {.strategy = {.every = every, .average_optimizer_state = false, .outer = outer::diloco{}},
         .settings = {.optimizer = {adam{.learning_rate = 0.01}}}},
        kind, 1, [](run_result const& end) { common_end(end); });
}

/// Each example counts once per epoch in parameters and residuals, with the last residual of a rank that has
/// ended. If the ranks differ in whether this rank's last step counts, its examples of this step do not.
void check_counts_with_residuals(run_result const& result, bool rank_ends) {
  process_result const end = common_end(result);
  ASSERT_TRUE(end.has_ended);
  int differ = 0;
  for (std::size_t i = 0; i < examples; ++i) {
    double count = (end.before[i] - end.after[i]) * examples_per_step;
    for (auto const& [id, process] : result.processes) count += process.unsent[i];
    bool const is_exact = std::abs(count - epochs) < 1e-3;
    differ += !is_exact;
    EXPECT_TRUE(is_exact || (rank_ends && std::abs(count - epochs) < 1.01))
        << "example " << i << ": " << count;
  }
  EXPECT_LE(differ, rank_ends ? examples_per_rank : 0);
}

TEST(elastic_fit, loses_only_the_residual_of_a_lost_rank) {
  for (route const way : {route::to_all, route::merged})
    for (fault const kind : {fault::kill, fault::leave, fault::join})
      try_all_calls<threshold_sharing>(
          {.strategy = {.threshold = threshold::fixed{0.2},
                        .settings = {.route = way, .group = sharing_group::rank}}},
          kind, way == route::merged ? 1 : 2, [&](run_result const& end) {
            check_counts_with_residuals(end, kind != fault::join && end.has_happened);
          });
}

TEST(elastic_fit, loses_nothing_if_only_some_ranks_complete_a_call) {
  for (int const victim : {0, 1}) {
    auto const check = [](run_result const& end) { check_counts(end, 0); };
    try_all_calls<allreduce>({}, fault::interrupt, victim, check);
    try_all_calls<parameter_averaging>({.strategy = {.every = every}}, fault::interrupt, victim, check);
  }
}

TEST(elastic_fit, loses_no_residual_if_only_some_ranks_complete_a_call) {
  try_all_calls<threshold_sharing>(
      {.strategy = {.threshold = threshold::fixed{0.2}, .settings = {.group = sharing_group::rank}}},
      fault::interrupt, 1, [](run_result const& end) { check_counts_with_residuals(end, false); });
}

TEST(elastic_fit, loses_nothing_more_by_a_second_fault_during_the_change) {
  for (fault const kind : {fault::interrupt, fault::join}) {
    try_two_faults<parameter_averaging>(
        {.strategy = {.every = every}}, kind, [](run_result const& end) { check_counts(end, 0); }, 17);
    try_two_faults<threshold_sharing>(
        {.strategy = {.threshold = threshold::fixed{0.2}, .settings = {.group = sharing_group::rank}}}, kind,
        [](run_result const& end) { check_counts_with_residuals(end, false); }, 17);
  }
}

dataset data_of_planes() {
  static cohort_test::planes const all(examples);
  return all.data();
}

TEST(elastic_fit, stops_all_ranks_if_a_call_after_their_agreement_is_interrupted) {
  auto const check = [](run_result const& result) {
    for (int id = 0; id < ranks; ++id) {
      EXPECT_TRUE(result.processes.at(id).left) << "process " << id;
      EXPECT_FALSE(result.processes.at(id).has_ended) << "process " << id;
    }
  };
  for (fault const kind : {fault::interrupt, fault::join}) {
    try_all_calls<allreduce>({.stop_at = 1}, kind, 1, check);
    try_all_calls<parameter_averaging>({.strategy = {.every = 2}, .stop_at = 1}, kind, 1, check);
  }
}

TEST(elastic_fit, counts_no_lost_examples_in_another_fit_within_an_epoch) {
  run_result const result =
      run<parameter_averaging>({.strategy = {.every = 2}, .stop_at = 1, .continues = true}, {.victim = -1});
  EXPECT_EQ(common_end(result).lost, 0);
}

graph net_with_statistics() {
  return graph(network<[](builder& net) {
    return net.input({2}) | dense{.units = 3} | batch_norm{} | dense{.units = 2} | mean_squared_error{};
  }>());
}

TEST(elastic_fit, synchronises_running_statistics_on_all_ranks_or_again) {
  for (fault const kind : {fault::interrupt, fault::join, fault::kill})
    try_all_calls<threshold_sharing>(
        {.strategy = {.threshold = threshold::fixed{0.001}, .settings = {.group = sharing_group::rank}},
         .net = net_with_statistics,
         .data = data_of_planes,
         .settings = {.optimizer = {sgd{.learning_rate = 0.1}}}},
        kind, 1, [](run_result const& end) { common_end(end); });
}

graph synchronised_net() {
  return graph(network<[](builder& net) {
    return net.input({2}) | dense{.units = 3} | synchronised_batch_norm{} | dense{.units = 2}
           | mean_squared_error{};
  }>());
}

TEST(elastic_fit, repeats_a_step_of_synchronised_layers) {
  job_settings<allreduce> const job{.net = synchronised_net,
                                    .data = data_of_planes,
                                    .settings = {.optimizer = {sgd{.learning_rate = 0.1}}}};
  process_result const expected = common_end(run(job, {.victim = -1}));
  for (fault const kind : {fault::kill, fault::join})
    try_all_calls(
        job, kind, 1,
        [&](run_result const& result) {
          process_result const end = common_end(result);
          ASSERT_EQ(end.after.size(), expected.after.size());
          for (std::size_t i = 0; i < end.after.size(); ++i)
            EXPECT_NEAR(end.after[i], expected.after[i], 1e-9);
        },
        3);
}

}  // namespace elastic_fit_test
