// SPDX-License-Identifier: Apache-2.0
#pragma once
// Outer steps and overlapped averaging, compared with ranks that are simulated by plain loops. Every rank
// calls each case.
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/execution/partition.hpp>
#include <functional>
#include <sstream>
#include "rank_cases.hpp"

namespace cohort_test {

using numbers_of_all = std::vector<double>;

/// Computes the parameters after an averaging from those after the previous averaging and the mean. Has its
/// own state.
using outer_rule = std::function<numbers_of_all(numbers_of_all const& before, numbers_of_all const& mean)>;

template <class Element>
numbers_of_all each(std::size_t count, Element element) {
  numbers_of_all all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = element(i);
  return all;
}

/// Block momentum as its authors define it: the global model W, and W_g from which the ranks continue.
inline outer_rule bmuf_by_hand(double eta, double zeta, bool nesterov) {
  return [=, velocity = numbers_of_all(), global = numbers_of_all()](numbers_of_all const& before,
                                                                     numbers_of_all const& mean) mutable {
    if (velocity.empty()) velocity.assign(mean.size(), 0), global = before;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      velocity[i] = eta * velocity[i] + zeta * (mean[i] - before[i]);
      global[i] += velocity[i];
    }
    return each(mean.size(), [&](std::size_t i) { return global[i] + (nesterov ? eta * velocity[i] : 0); });
  };
}

/// Nesterov's SGD whose gradient is before − mean.
inline outer_rule diloco_by_hand(double momentum, double rate) {
  return [=, velocity = numbers_of_all()](numbers_of_all const& before, numbers_of_all const& mean) mutable {
    velocity.resize(mean.size());
    return each(mean.size(), [&](std::size_t i) {
      double const gradient = before[i] - mean[i];
      velocity[i] = momentum * velocity[i] + gradient;
      return before[i] - rate * (gradient + momentum * velocity[i]);
    });
  };
}

inline outer_rule mean_by_hand() {
  return [](numbers_of_all const&, numbers_of_all const& mean) { return mean; };
}

/// Simulates all ranks on this rank: each simulated rank trains on a separate part of each batch. The ranks
/// average their parameters after every second step.
struct ranks_by_hand {
  ranks_by_hand(int ranks, bright_thirds const& on)
      : examples(on), alone(single_rank<wide>(small, plain_sgd())) {
    met = parameters_of(alone);
    w.assign(static_cast<std::size_t>(ranks), met);
    seen.resize(w.size());
  }

  void learn(index_slice global) {
    int const ranks = static_cast<int>(w.size());
    for (int r = 0; r < ranks; ++r) {
      index_slice const mine = part_of(global, r, ranks);
      if (mine.count == 0) continue;
      auto const first = static_cast<std::size_t>(mine.first), count = static_cast<std::size_t>(mine.count);
      numbers_of_all& own = w[static_cast<std::size_t>(r)];
      alone.parameters().write_all(reinterpret_cast<std::byte const*>(own.data()),
                                   alone.parameters().master());
      alone.parameters().mark_changed();
      alone.fit(arrays(std::span(examples.pixels).subspan(64 * first, 64 * count), shape{1, 8, 8},
                       std::span(examples.labels).subspan(first, count), 3),
                {.batch = static_cast<int>(count), .epochs = 1, .shuffle = false});
      own = parameters_of(alone);
      seen[static_cast<std::size_t>(r)] += mine.count;
    }
    ++steps;
  }

  numbers_of_all mean() const {
    double all = 0;
    for (std::int64_t const one : seen) all += static_cast<double>(one);
    return each(met.size(), [&](std::size_t i) {
      double sum = 0;
      for (std::size_t r = 0; r < w.size(); ++r) sum += static_cast<double>(seen[r]) * w[r][i];
      return sum / all;
    });
  }
  void end_period() {
    steps = 0;
    seen.assign(seen.size(), 0);
  }
  void meet(outer_rule& rule) {
    met = rule(met, mean());
    w.assign(w.size(), met);
    end_period();
  }
  /// Applies the mean that was started a period ago, and keeps the steps taken since.
  void hear(outer_rule& rule) {
    if (late.empty()) return;
    met = rule(met, late);
    for (std::size_t r = 0; r < w.size(); ++r)
      w[r] = each(met.size(), [&](std::size_t i) { return met[i] + w[r][i] - sent[r][i]; });
    late.clear();
  }
  void pass(outer_rule& rule) {
    hear(rule);
    sent = w;
    late = mean();
    end_period();
  }

  void epoch(int batch, int every, outer_rule& rule, bool overlap) {
    std::int64_t const share = static_cast<std::int64_t>(batch) * static_cast<std::int64_t>(w.size());
    auto const count = static_cast<std::int64_t>(examples.labels.size());
    for (std::int64_t first = 0; first < count; first += share) {
      learn({first, std::min(share, count - first)});
      if (steps == every) overlap ? pass(rule) : meet(rule);
    }
    hear(rule);
    if (steps > 0) meet(rule);
  }

  bright_thirds const& examples;
  training alone;
  numbers_of_all met;
  std::vector<numbers_of_all> w, sent;
  numbers_of_all late;
  std::vector<std::int64_t> seen;
  int steps = 0;
};

inline void outer_steps_are_those_by_hand(communicator& world) {
  struct row {
    outer_step how;
    outer_rule rule;
  };
  double const by_ranks = 1 - 1.0 / world.size();
  for (int const count :
       {53, 40})  // with a last step of few examples, and with and without whole periods in an epoch
    for (bool const overlap : {false, true})
      for (row one :
           {row{outer::plain{}, mean_by_hand()},
            row{outer::bmuf{.momentum = 0.6, .rate = 0.9}, bmuf_by_hand(0.6, 0.9, false)},
            row{outer::bmuf{.momentum = 0.6, .rate = 0.9, .nesterov = true}, bmuf_by_hand(0.6, 0.9, true)},
            row{outer::bmuf{}, bmuf_by_hand(by_ranks, 1, false)},
            row{outer::diloco{}, diloco_by_hand(0.9, 0.7)}}) {
        bright_thirds const examples(count);
        training together = trainer<wide>(
            small, world, parameter_averaging{.every = 2, .outer = one.how, .overlap = overlap}, plain_sgd());
        together.fit(examples.data(), {.batch = 3, .epochs = 2, .shuffle = false});
        ranks_by_hand expected(world.size(), examples);
        for (int epoch = 0; epoch < 2; ++epoch) expected.epoch(3, 2, one.rule, overlap && world.size() > 1);
        EXPECT_LT(largest_difference(parameters_of(together), expected.met), 1e-12)
            << detail::described(one.how) << (overlap ? ", overlapped, " : ", ") << count;
        EXPECT_TRUE(same_text(world, together.checksum()));
      }
}

/// Periods with and without a remainder at the epoch's end.
inline std::vector<parameter_averaging> all_kinds_of_averaging() {
  std::vector<parameter_averaging> all;
  for (int const every : {2, 3})
    for (bool const overlap : {false, true})
      for (outer_step const how : {outer_step(outer::plain{}), outer_step(outer::diloco{})})
        all.push_back({.every = every, .outer = how, .overlap = overlap});
  all.push_back({.every = 2, .average_optimizer_state = false, .outer = outer::diloco{}, .overlap = true});
  return all;
}

inline void every_kind_of_averaging_has_the_same_bits_everywhere(communicator& world) {
  for (parameter_averaging const& how : all_kinds_of_averaging())
    EXPECT_EQ(checksum_after(world, how, with_state()), checksum_after(world, how, with_state()));
}

/// Evaluation and files in an epoch's last step use the parameters that the epoch's end will give. They do
/// not change the run.
inline void what_is_shown_between_meetings_is_what_a_meeting_brings(communicator& world) {
  struct looking final : listener {
    bool state = true;  // whether the file contains the optimizer's state too
    std::string shown;
    void on_step(training& run, step_report const&) override {
      std::string const before = run.checksum();
      std::ostringstream file;
      run.save(file, state);
      std::istringstream model(file.str());
      EXPECT_EQ(run.checksum(), before);
      training loaded = single_rank<narrow>(small, with_state());
      if (run.world().rank() > 0) return;
      loaded.load(model_file::read(model));
      shown = loaded.checksum();
    }
  };
  bright_thirds const examples(24 * world.size());
  training_settings settings = with_state();
  settings.optimizer.constraint = constraint::max_norm{0.5};
  for (parameter_averaging const& how : all_kinds_of_averaging())
    for (int const batch : {4, 5}) {  // six steps, or five
      looking look;
      look.state = how.average_optimizer_state;
      training made = trainer<narrow>(small, world, how, settings);
      made.fit(examples.data(), {.batch = batch, .epochs = 2, .listeners = {&look}});
      if (world.rank() == 0) {
        EXPECT_EQ(look.shown, made.checksum()) << how.every << batch << how.overlap;
      }
      training unseen = trainer<narrow>(small, world, how, settings);
      unseen.fit(examples.data(), {.batch = batch, .epochs = 2});
      EXPECT_EQ(made.checksum(), unseen.checksum());
    }
}

/// A stop takes effect a period later on all ranks, which then have the same parameters.
inline void one_rank_stops_all_that_hear_late(communicator& world) {
  struct asking final : listener {
    int heard = 0;
    void on_step(training& run, step_report const& done) override {
      if (done.step == 2 && run.world().rank() == run.world().size() - 1) run.request({.stop = true});
    }
    void on_vote(training&, votes const& all) override { heard += all.stop; }
  } listening;
  bright_thirds const examples(200);
  training made = trainer<narrow>(
      small, world, parameter_averaging{.every = 5, .outer = outer::diloco{}, .overlap = true}, with_state());
  fit_report const report = made.fit(examples.data(), {.batch = 4, .epochs = 50, .listeners = {&listening}});
  EXPECT_TRUE(report.stopped);
  EXPECT_EQ(listening.heard, 1);
  EXPECT_EQ(report.steps, world.size() == 1 ? 5 : 10);
  EXPECT_TRUE(same_text(world, made.checksum()));
  EXPECT_FALSE(made.fit(examples.data(), {.batch = 4, .epochs = 1}).stopped);
}

/// Streams of different lengths, one of them empty.
inline void overlapped_averaging_ends_with_a_stream(communicator& world) {
  if (world.size() == 1) return;
  int const last = world.size() - 1;
  for (int const every : {1, 3}) {
    training made = trainer<wide>(
        small, world, parameter_averaging{.every = every, .outer = outer::bmuf{}, .overlap = true},
        with_state());
    fit_report const report = made.fit(uneven_stream(), {.batch = 4, .epochs = 2});
    EXPECT_EQ(report.examples, 2 * 10 * last * (last + 1) / 2);
    EXPECT_TRUE(same_text(world, made.checksum()));
    EXPECT_TRUE(same_text(world, std::to_string(made.step())));
  }
}

inline void a_number_that_is_not_finite_is_heard_late(communicator& world) {
  if (world.size() == 1) return;
  bright_thirds examples(48 * world.size());
  dataset const data = examples.data();
  int const bad = world.size() - 1;
  for (int const step : {0, 3}) spoil(examples, world, bad, step, 8);
  parameter_averaging const how{.every = 2, .overlap = true};
  auto settings = with_state();
  std::string said;
  try {
    training made = trainer<narrow>(small, world, how, settings);
    made.fit(data, {.batch = 8, .epochs = 1, .shuffle = false});
  } catch (numeric_error const& why) {
    said = why.what();
  }
  EXPECT_NE(said.find("rank " + std::to_string(bad) + ": step 0"), std::string::npos) << said;

  std::vector<std::string> lines;
  settings.not_finite = when_not_finite::skip;
  settings.log = [&](std::string_view line) {
    if (line.find("step skipped") != std::string_view::npos) lines.emplace_back(line);
  };
  training skipping = trainer<narrow>(small, world, how, settings);
  fit_report const report = skipping.fit(data, {.batch = 8, .epochs = 1, .shuffle = false});
  EXPECT_EQ(report.steps, 6);
  EXPECT_EQ(report.skipped, world.rank() == bad ? 2 : 0);
  EXPECT_EQ(lines.size(), world.rank() == 0 ? 1U : 0U) << "what happened until it was heard is told with it";
  EXPECT_TRUE(same_text(world, skipping.checksum()));
}

/// If a run fails on all ranks while a mean is pending, the ranks can start another run.
inline void a_mean_under_way_ends_with_its_run(communicator& world) {
  struct failing final : listener {
    void on_step(training&, step_report const& done) override {
      if (done.step == 4) throw data_error({.what = "enough"});
    }
  } end;
  bright_thirds const examples(200);
  {
    training made =
        trainer<narrow>(small, world, parameter_averaging{.every = 2, .overlap = true}, with_state());
    EXPECT_THROW(made.fit(examples.data(), {.batch = 4, .listeners = {&end}}), data_error);
  }
  float one = 1;
  world.allreduce(std::span(&one, 1));
  EXPECT_EQ(one, static_cast<float>(world.size()));
}

}  // namespace cohort_test
