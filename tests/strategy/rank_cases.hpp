// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requirements on several ranks, over any communicator. Every rank calls each case.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/detail/allreduce_algorithm.hpp>
#include <cohort/communicator/message_communicator.hpp>
#include <cohort/communicator/thread_ranks.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/own_backend.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include "../training/bright_thirds.hpp"
#include "../training/parameters_of.hpp"

namespace cohort_test {

using wide = reference<double>;
using narrow = reference<float>;

/// A training on one rank, also in a launch of several.
template <class Backend>
training single_rank(graph net, training_settings settings) {
  return trainer<Backend>(std::move(net), make_self(), std::make_unique<no_exchange>(), std::move(settings));
}

/// Reports a different hash of its layouts, like another backend.
struct other_order : narrow {
  static constexpr std::string_view name = "other_order";
  std::string describe(layout const&) const { return "another order"; }
};

/// A network of two buckets. They have almost no padding, so they are reduced in place. The buckets of
/// `small` are packed.
inline constexpr auto broad = network<[](builder& net) {
  return net.input({1, 8, 8}) | dense{.units = 320} | relu{} | dense{.units = 64} | relu{} | dense{.units = 3}
         | softmax_cross_entropy{};
}>();

inline training_settings plain_sgd(std::uint64_t seed = 7) {
  return {.optimizer = {.rule = sgd{.learning_rate = 0.1}, .l2 = 1e-3}, .seed = seed};
}
inline training_settings with_state(int workers = 1) {
  return {.optimizer = {.rule = nesterov{.learning_rate = 0.05, .momentum = 0.9}, .l2 = 1e-4},
          .seed = 7,
          .workers = workers};
}

inline double largest_difference(std::vector<double> const& a, std::vector<double> const& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// Whether all ranks have the same text.
inline bool same_text(communicator& world, std::string const& text) {
  gathered const all = world.allgatherv(std::as_bytes(std::span(text)));
  for (int r = 1; r < world.size(); ++r)
    if (!std::ranges::equal(all.of(r), all.of(0))) return false;
  return true;
}

/// Compares the parameters of all ranks after every step.
struct step_by_step final : listener {
  int different = 0;
  void on_step(training& run, step_report const&) override {
    if (!same_text(run.world(), run.checksum())) ++different;
  }
};

/// P ranks with batch B equal one rank with batch P·B, also for a smaller last batch.
template <auto const& net = small>
void allreduce_equals_one_rank(communicator& world) {
  bright_thirds const examples(103);
  int const share = 24 / world.size();
  training together = trainer<wide>(net, world, allreduce{}, plain_sgd());
  together.fit(examples.data(), {.batch = share, .epochs = 2});
  training alone = single_rank<wide>(net, plain_sgd());
  alone.fit(examples.data(), {.batch = share * world.size(), .epochs = 2});
  EXPECT_EQ(together.step(), alone.step());
  EXPECT_LT(largest_difference(parameters_of(together), parameters_of(alone)), 1e-10);
}

template <auto const& net = small>
void ranks_hold_the_same_bits_after_each_step(communicator& world) {
  bright_thirds const examples(103);
  step_by_step compare;
  training made = trainer<narrow>(net, world, allreduce{.resync = 3}, with_state());
  made.fit(examples.data(), {.batch = 7, .epochs = 2, .listeners = {&compare}});
  EXPECT_EQ(compare.different, 0);
}

template <class Strategy>
std::string checksum_after(communicator& world, Strategy const& how, training_settings const& settings,
                           int epochs = 2) {
  bright_thirds const examples(103);
  training made = trainer<narrow>(small, world, how, settings);
  made.fit(examples.data(), {.batch = 7, .epochs = epochs});
  EXPECT_TRUE(same_text(world, made.checksum()));  // under every strategy after an epoch's end
  return made.checksum();
}

inline void runs_of_one_seed_have_the_same_bits(communicator& world) {
  for (int workers : {1, 2}) {
    EXPECT_EQ(checksum_after(world, allreduce{}, with_state(workers)),
              checksum_after(world, allreduce{}, with_state(workers)));
    EXPECT_EQ(checksum_after(world, parameter_averaging{.every = 3}, with_state(workers)),
              checksum_after(world, parameter_averaging{.every = 3}, with_state(workers)));
  }
}

/// A stream whose shard r has 10·r examples; shard 0 is empty.
class uneven_stream {
 public:
  struct cursor {
    arrays const* of;
    std::int64_t at, end;
    bool next(example_view& into) {
      if (at >= end) return false;
      of->get(at++ % of->size(), into);
      return true;
    }
  };
  data_description const& describe() const { return all_->describe(); }
  cursor open(int shard, int, std::int64_t, std::int64_t position) const {
    return {all_.get(), position, 10 * shard};
  }

 private:
  std::shared_ptr<bright_thirds> examples_ = std::make_shared<bright_thirds>(40);
  std::shared_ptr<arrays> all_ =
      std::make_shared<arrays>(std::span<float const>(examples_->pixels), shape{1, 8, 8},
                               std::span<std::int32_t const>(examples_->labels), 3);
};

/// Number of steps in an epoch of uneven_stream on the rank with the most examples.
inline std::int64_t steps_of_uneven_stream(communicator& world, int batch) {
  return (10 * (world.size() - 1) + batch - 1) / batch;
}

/// The same examples, each with a weight.
class weighted_thirds {
 public:
  weighted_thirds(int count, float (*weight)(std::int64_t)) : examples_(count), weight_(weight) {
    what_ = all_.describe();
    what_.weighted = true;
  }
  data_description const& describe() const { return what_; }
  std::int64_t size() const { return all_.size(); }
  void get(std::int64_t i, example_view& out) const {
    all_.get(i, out);
    out.weight = weight_(i);
  }

 private:
  bright_thirds examples_;
  float (*weight_)(std::int64_t);
  arrays all_{std::span<float const>(examples_.pixels), shape{1, 8, 8},
              std::span<std::int32_t const>(examples_.labels), 3};
  data_description what_;
};

/// Examples have the same weight in a mean of parameters as in a mean of gradients, also if all examples of a
/// rank in a step have weight 0.
inline void averaging_each_step_weighs_as_allreduce_does(communicator& world) {
  auto const data = std::make_shared<weighted_thirds const>(
      103, [](std::int64_t i) { return i < 24 ? 0.0F : static_cast<float>(1 + i % 5); });
  for (bool const shuffle : {false, true}) {
    auto const trained = [&](auto how) {
      training made = trainer<wide>(small, world, how, plain_sgd());
      made.fit(data, {.batch = 7, .epochs = 2, .shuffle = shuffle});
      return parameters_of(made);
    };
    EXPECT_LT(largest_difference(trained(parameter_averaging{.every = 1}), trained(allreduce{})), 1e-12);
  }
}

/// Steps in which all examples of all ranks have weight 0 are skipped, counted and logged.
template <class Strategy>
void a_step_without_weight_is_left_out(communicator& world, Strategy const& how) {
  struct first_step final : listener {
    std::string checksum{};
    void on_step(training& run, step_report const& done) override {
      if (done.step == 0) checksum = run.checksum();
    }
  } first;
  std::vector<std::string> lines;
  training_settings settings = with_state();
  if (world.rank() == 0) settings.log = [&](std::string_view line) { lines.emplace_back(line); };
  training made = trainer<narrow>(small, world, how, settings);
  std::string const before = made.checksum();
  constexpr int weightless = 96;  // examples of whole steps on 1 to 4 ranks
  int const step = 8 * world.size();
  auto const data = std::make_shared<weighted_thirds const>(
      weightless + step, [](std::int64_t i) { return i < weightless ? 0.0F : 1.0F; });
  fit_report const done = made.fit(data, {.batch = 8, .shuffle = false, .listeners = {&first}});
  EXPECT_EQ(done.skipped, weightless / step);
  EXPECT_EQ(first.checksum, before);
  EXPECT_EQ(made.step(), weightless / step + 1);
  if (world.rank() != 0) return;
  EXPECT_TRUE(std::ranges::any_of(lines, [](std::string const& line) {
    return line.find("step skipped: the weights of all examples of step 0") == 0;
  }));
}

/// Whatever the period, an epoch of a stream has as many steps as the rank with the most examples. Listeners
/// are called for exactly these steps, and schedules count them.
template <class Strategy>
void steps_without_examples_do_not_count(communicator& world, Strategy const& how) {
  if (world.size() == 1) return;
  struct count_steps final : listener {
    std::int64_t heard = 0, last = -1;
    void on_step(training&, step_report const& done) override {
      EXPECT_EQ(done.step, last + 1 + (done.epoch > epoch ? done.step - last - 1 : 0));
      epoch = done.epoch;
      last = done.step;
      ++heard;
    }
    std::int64_t epoch = 0;
  } seen;
  training made = trainer<wide>(small, world, how, plain_sgd());
  fit_report const report = made.fit(uneven_stream(), {.batch = 4, .epochs = 3, .listeners = {&seen}});
  std::int64_t const steps = steps_of_uneven_stream(world, 4);
  EXPECT_EQ(made.step(), 3 * steps);
  EXPECT_EQ(report.steps, 3 * steps);
  bool const in_step = std::unique_ptr<strategy>(how.on(world))->meets_each_step();
  EXPECT_EQ(seen.heard, 3 * (in_step ? steps : (10 * world.rank() + 3) / 4));
}

/// If ranks do not call listeners in the same steps, collective calls in on_step are rejected, and
/// checkpoints are written at the next meeting (an exchange in which all ranks take part).
inline void what_ranks_do_together_waits_for_a_meeting(communicator& world) {
  if (world.size() == 1) return;
  struct evaluating final : listener {
    bool refused = false;
    void on_step(training& run, step_report const&) override {
      EXPECT_FALSE(run.has_common_steps());
      bright_thirds const held(9);
      try {
        run.evaluate(held.data());
      } catch (setting_error const& why) {
        refused = std::string(why.what()).find("on_epoch") != std::string::npos;
      }
    }
  } evaluates;
  struct saving final : listener {
    std::vector<std::int64_t> at;
    void on_step(training& run, step_report const& done) override {
      if ((done.step + 1) % 4 == 0) run.request({.save = true});
    }
    void on_vote(training& run, votes const& all) override {
      EXPECT_TRUE(all.save);
      at.push_back(run.step());
      EXPECT_TRUE(same_text(run.world(), run.checksum()));
    }
  } saves;
  training made = trainer<wide>(small, world, parameter_averaging{.every = 3}, plain_sgd());
  made.fit(uneven_stream(), {.batch = 2, .epochs = 1, .listeners = {&evaluates, &saves}});
  EXPECT_TRUE(evaluates.refused || world.rank() == 0);  // a rank without examples does not call listeners
  EXPECT_TRUE(made.has_common_steps());
  std::int64_t const steps = steps_of_uneven_stream(world, 2);
  EXPECT_EQ(saves.at.front(), std::min<std::int64_t>(6, steps));
  for (std::int64_t const step : saves.at) EXPECT_TRUE(step % 3 == 0 || step == steps) << step;
}

/// A subset of the examples, each with a weight.
class chosen_thirds {
 public:
  void add(std::int64_t index, float weight = 1) {
    indices_.push_back(index);
    weights_.push_back(weight);
  }
  data_description describe_weighted() const {
    data_description what = all_.describe();
    what.weighted = true;
    return what;
  }
  data_description const& describe() const { return what_; }
  std::int64_t size() const { return std::ssize(indices_); }
  void get(std::int64_t i, example_view& out) const {
    all_.get(indices_[static_cast<std::size_t>(i)], out);
    out.weight = weights_[static_cast<std::size_t>(i)];
  }

 private:
  bright_thirds examples_{100};
  arrays all_{std::span<float const>(examples_.pixels), shape{1, 8, 8},
              std::span<std::int32_t const>(examples_.labels), 3};
  data_description what_ = describe_weighted();
  std::vector<std::int64_t> indices_;
  std::vector<float> weights_;
};

/// Number of rank r's own examples: 3·r + 2·(r mod 2); rank 0 has none.
inline std::int64_t own_examples(int rank) { return 3 * rank + 2 * (rank % 2); }
inline std::shared_ptr<chosen_thirds> own_thirds(int rank) {
  auto made = std::make_shared<chosen_thirds>();
  for (std::int64_t i = 0; i < own_examples(rank); ++i) made->add(20 * rank + i);
  return made;
}

/// Ranks with different numbers of local examples train as on one data set in which missing examples have
/// weight 0.
template <class Strategy>
void ranks_train_on_examples_of_their_own(communicator& world, Strategy const& how) {
  if (world.size() == 1) return;
  constexpr int batch = 4;
  std::int64_t const longest = own_examples(world.size() - 1);
  auto const padded = std::make_shared<chosen_thirds>();
  for (std::int64_t first = 0; first < longest; first += batch)
    for (int r = 0; r < world.size(); ++r)
      for (std::int64_t i = first; i < first + batch; ++i)
        padded->add(i < own_examples(r) ? 20 * r + i : 0, i < own_examples(r) ? 1.0F : 0.0F);
  auto const trained = [&](dataset const& data, sharding held) {
    training made = trainer<wide>(small, world, how, plain_sgd());
    fit_report const report =
        made.fit(data, {.batch = batch, .epochs = 3, .shuffle = false, .sharding = held});
    EXPECT_EQ(report.steps, 3 * ((longest + batch - 1) / batch));
    if (held == sharding::local) {
      std::int64_t all = 0;
      for (int r = 0; r < world.size(); ++r) all += own_examples(r);
      EXPECT_EQ(report.examples, 3 * all);
    }
    EXPECT_TRUE(same_text(world, made.checksum()));
    return parameters_of(made);
  };
  EXPECT_LT(largest_difference(trained(own_thirds(world.rank()), sharding::local),
                               trained(padded, sharding::global)),
            1e-12);
}

inline void examples_of_their_own_are_evaluated_together(communicator& world) {
  if (world.size() == 1) return;
  training made = trainer<wide>(small, world, allreduce{}, plain_sgd());
  auto const all = std::make_shared<chosen_thirds>();
  for (int r = 0; r < world.size(); ++r)
    for (std::int64_t i = 0; i < own_examples(r); ++i) all->add(20 * r + i);
  classification_report const together =
      made.evaluate(own_thirds(world.rank()), {.batch = 2, .sharding = sharding::local});
  EXPECT_EQ(together.examples(), all->size());
  EXPECT_EQ(together.stats(), made.evaluate(all, {.batch = 3}).stats());
}

/// The ranks have data sets of equal size with different examples. Without .sharding, each rank would use
/// only a part of its data set.
inline void data_sets_that_differ_are_refused(communicator& world) {
  if (world.size() == 1) return;
  auto const own = std::make_shared<chosen_thirds>();
  for (std::int64_t i = 0; i < 30; ++i) own->add(world.rank() == world.size() - 1 ? i + 1 : i);
  training made = trainer<wide>(small, world, allreduce{}, plain_sgd());
  std::string said;
  auto const is_refused = [&](auto action) {
    said.clear();
    try {
      action();
    } catch (setting_error const& why) {
      said = why.what();
    }
    EXPECT_NE(said.find("the ranks' data sets differ"), std::string::npos) << said;
    EXPECT_NE(said.find(".sharding = sharding::local"), std::string::npos) << said;
    EXPECT_NE(said.find(" on rank " + std::to_string(world.size() - 1)), std::string::npos) << said;
  };
  is_refused([&] { made.fit(own, {.batch = 5}); });
  is_refused([&] { made.evaluate(own); });
  EXPECT_EQ(made.step(), 0);
  made.fit(own, {.batch = 5, .sharding = sharding::local});
  EXPECT_EQ(made.step(), 6);
}

/// Parameter averaging in every step equals allreduce, even if a rank has fewer examples than others, or none
/// left.
template <auto const& net = small>
void averaging_each_step_is_allreduce(communicator& world) {
  bright_thirds const examples(103);
  auto const trained = [&](auto how) {
    training made = trainer<wide>(net, world, how, plain_sgd());
    made.fit(examples.data(), {.batch = 7, .epochs = 2});
    if (world.size() > 1) made.fit(uneven_stream(), {.batch = 4, .epochs = 1});
    return parameters_of(made);
  };
  EXPECT_LT(largest_difference(trained(parameter_averaging{.every = 1}), trained(allreduce{})), 1e-12);
}

/// The mean is weighted by examples: two steps of each rank on its own part, with different sizes, computed
/// by plain loops.
template <auto const& net = small>
void averaging_weighs_by_examples(communicator& world) {
  int const count = 5 * world.size() + world.size() / 2;  // some ranks have no examples in the last batch
  bright_thirds const examples(count);
  training together = trainer<wide>(net, world, parameter_averaging{.every = 2}, plain_sgd());
  together.fit(examples.data(), {.batch = 5, .epochs = 1, .shuffle = false});
  ASSERT_EQ(together.step(), world.size() == 1 ? 1 : 2);

  std::vector<double> mean(static_cast<std::size_t>(together.parameters().elements()));
  for (int r = 0; r < world.size(); ++r) {
    bool const longer = r < world.size() / 2;
    std::vector<std::int64_t> mine{5 * r, 5 * r + 1, 5 * r + 2, 5 * r + 3, 5 * r + 4};
    if (longer) mine.push_back(5 * world.size() + r);
    std::vector<float> pixels;
    std::vector<std::int32_t> labels;
    for (std::int64_t const i : mine) {
      pixels.insert(pixels.end(), examples.pixels.begin() + 64 * i, examples.pixels.begin() + 64 * (i + 1));
      labels.push_back(examples.labels[static_cast<std::size_t>(i)]);
    }
    training alone = single_rank<wide>(net, plain_sgd());
    alone.fit(
        arrays(std::span<float const>(pixels), shape{1, 8, 8}, std::span<std::int32_t const>(labels), 3),
        {.batch = 5, .epochs = 1, .shuffle = false});
    auto const theirs = parameters_of(alone);
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += theirs[i] * static_cast<double>(mine.size()) / count;
  }
  EXPECT_LT(largest_difference(parameters_of(together), mean), 1e-12);
}

/// Evaluates after each step: the same result on all ranks, for all examples, without changing the run.
struct evaluating final : listener {
  dataset data;
  int examples;
  int evaluated = 0;
  int alike = 0;  // steps after which all ranks had the same parameters
  evaluating(dataset d, int expected) : data(std::move(d)), examples(expected) {}
  void on_step(training& run, step_report const&) override {
    std::string const before = run.checksum();
    classification_report const seen = run.evaluate(data, {.batch = 16});
    EXPECT_EQ(seen.examples(), examples);
    EXPECT_TRUE(same_text(run.world(), seen.stats()));
    EXPECT_EQ(run.checksum(), before);
    ++evaluated;
    alike += same_text(run.world(), before);
  }
};

/// Between two averagings the ranks differ. Evaluation uses the mean, and does not change the run.
inline void evaluation_between_meetings_changes_nothing(communicator& world) {
  bright_thirds const examples(103), held(50, 2);
  evaluating looking(held.data(), 50);
  training watched = trainer<narrow>(small, world, parameter_averaging{.every = 4}, with_state());
  watched.fit(examples.data(), {.batch = 7, .epochs = 1, .listeners = {&looking}});
  EXPECT_GT(looking.evaluated, 0);
  EXPECT_EQ(watched.checksum(), checksum_after(world, parameter_averaging{.every = 4}, with_state(), 1));
}

inline void own_state_stays_own_if_it_is_told_to(communicator& world) {
  bright_thirds const examples(103);
  training made = trainer<narrow>(
      small, world, parameter_averaging{.every = 2, .average_optimizer_state = false}, with_state());
  made.fit(examples.data(), {.batch = 7, .epochs = 1});
  EXPECT_TRUE(same_text(world, made.checksum()));
  if (world.size() == 1) return;
  EXPECT_NE(made.checksum(), checksum_after(world, parameter_averaging{.every = 2}, with_state(), 1));
}

inline void evaluation_is_that_of_one_rank(communicator& world) {
  for (int count : {1, 2, 50}) {  // with 1, all ranks except one have no example
    bright_thirds const held(count, 3);
    training made = trainer<narrow>(small, world, allreduce{}, with_state());
    training alone = single_rank<narrow>(small, with_state());
    classification_report const all = made.evaluate(held.data(), {.batch = 8, .top = 2});
    EXPECT_EQ(all.examples(), count);
    EXPECT_EQ(all.stats(), alone.evaluate(held.data(), {.batch = 8, .top = 2}).stats());
    EXPECT_TRUE(same_text(world, all.stats()));
  }
}

template <auto const& net = small>
void ranks_without_data_and_with_fewer_batches_train_on(communicator& world) {
  if (world.size() == 1) return;
  int const last = world.size() - 1;
  for (int every : {0, 3}) {
    training made = every == 0 ? trainer<wide>(net, world, allreduce{}, plain_sgd())
                               : trainer<wide>(net, world, parameter_averaging{.every = every}, plain_sgd());
    fit_report const report = made.fit(uneven_stream(), {.batch = 4, .epochs = 2});
    EXPECT_EQ(report.examples, 2 * 10 * last * (last + 1) / 2);
    EXPECT_TRUE(same_text(world, made.checksum()));
    EXPECT_TRUE(same_text(world, std::to_string(made.step())));
  }
}

template <auto const& net = small>
void more_ranks_than_examples_train_on(communicator& world) {
  bright_thirds const two(2);
  training made = trainer<wide>(net, world, allreduce{}, plain_sgd());
  made.fit(two.data(), {.batch = 5, .epochs = 3});
  training alone = single_rank<wide>(net, plain_sgd());
  alone.fit(two.data(), {.batch = 5, .epochs = 3});
  EXPECT_EQ(made.step(), 3);
  EXPECT_LT(largest_difference(parameters_of(made), parameters_of(alone)), 1e-12);
  EXPECT_TRUE(same_text(world, made.checksum()));
}

template <auto const& net = small>
void a_number_that_is_not_finite_stops_all_and_is_named(communicator& world, bool averages,
                                                        allreduce const& how = {}) {
  if (world.size() == 1) return;
  bright_thirds examples(16 * world.size());
  dataset const data = examples.data();
  int const bad = world.size() - 1;  // the rank that reads NaN, in its second batch
  for (int i = 0; i < 64; ++i)
    examples.pixels[static_cast<std::size_t>((8 * world.size() + 8 * bad) * 64 + i)] =
        std::numeric_limits<float>::quiet_NaN();
  auto settings = with_state();
  training made = averages ? trainer<narrow>(net, world, parameter_averaging{.every = 2}, settings)
                           : trainer<narrow>(net, world, how, settings);
  std::string said;
  try {
    made.fit(data, {.batch = 8, .epochs = 1, .shuffle = false});
  } catch (numeric_error const& why) {
    said = why.what();
  }
  EXPECT_NE(said.find("rank " + std::to_string(bad)), std::string::npos) << said;
  EXPECT_NE(said.find("step 1"), std::string::npos) << said;
  EXPECT_EQ(said.find("rank 0"), std::string::npos) << said;

  settings.not_finite = when_not_finite::skip;
  training skipping = averages ? trainer<narrow>(net, world, parameter_averaging{.every = 2}, settings)
                               : trainer<narrow>(net, world, how, settings);
  fit_report const report = skipping.fit(data, {.batch = 8, .epochs = 2, .shuffle = false});
  EXPECT_EQ(report.steps, 4);
  EXPECT_EQ(report.skipped, averages && world.rank() != bad ? 0 : 2);
  EXPECT_TRUE(same_text(world, skipping.checksum()));
  for (float const w : parameters_of<float>(skipping)) ASSERT_TRUE(std::isfinite(w));
}

/// Replaces the example that a rank reads in a step of an unshuffled epoch with NaN.
inline void spoil(bright_thirds& examples, communicator const& world, int rank, int step, int batch) {
  auto const first = static_cast<std::size_t>((step * world.size() + rank) * batch * 64);
  std::fill_n(examples.pixels.begin() + static_cast<std::ptrdiff_t>(first), 64,
              std::numeric_limits<float>::quiet_NaN());
}

/// A non-finite number is reported even if it occurs after the last averaging of the run.
inline void a_number_behind_the_last_meeting_is_heard(communicator& world) {
  bright_thirds examples(16 * world.size());
  dataset const data = examples.data();
  spoil(examples, world, world.size() - 1, 1, 8);
  training made = trainer<narrow>(small, world, parameter_averaging{.every = 100}, with_state());
  EXPECT_THROW(made.fit(data, {.batch = 8, .epochs = 1, .shuffle = false}), numeric_error);
}

/// Votes of one meeting are not counted again in the following steps.
inline void numbers_between_two_meetings_are_left_out(communicator& world) {
  bright_thirds examples(48 * world.size());
  dataset const data = examples.data();
  int const bad = world.size() - 1;
  for (int const step : {1, 4, 5}) spoil(examples, world, bad, step, 8);
  auto settings = with_state();
  settings.not_finite = when_not_finite::skip;
  std::string log;
  settings.log = [&](std::string_view line) { log += std::string(line) + '\n'; };
  training made = trainer<narrow>(small, world, parameter_averaging{.every = 4}, settings);
  fit_report const report = made.fit(data, {.batch = 8, .epochs = 2, .shuffle = false});
  EXPECT_EQ(report.steps, 12);
  EXPECT_EQ(report.skipped, world.rank() == bad ? 6 : 0);
  EXPECT_TRUE(same_text(world, made.checksum()));
  for (int const step : {1, 4, 5, 7, 10, 11}) {
    std::string const name = "step " + std::to_string(step) + ", epoch " + std::to_string(step / 6) + ",";
    std::size_t const at = log.find(name);
    EXPECT_EQ(at == log.npos, world.rank() != 0) << name << " in\n" << log;
    EXPECT_EQ(at == log.npos ? at : log.find(name, at + 1), log.npos) << name << " twice in\n" << log;
  }
}

/// A vote in the last step of an epoch takes effect at its end, and does not stop the next fit.
inline void a_stop_at_an_epochs_end_is_heard_there(communicator& world) {
  struct asking final : listener {
    void on_step(training& run, step_report const& done) override {
      if (done.step == 2 && run.world().rank() == 0) run.request({.stop = true});
    }
  } listening;
  bright_thirds const examples(24 * world.size());
  training made = trainer<narrow>(small, world, parameter_averaging{.every = 100}, with_state());
  fit_report const first = made.fit(examples.data(), {.batch = 8, .epochs = 2, .listeners = {&listening}});
  EXPECT_TRUE(first.stopped);
  EXPECT_EQ(first.steps, 3);
  EXPECT_TRUE(same_text(world, made.checksum()));
  EXPECT_FALSE(made.fit(examples.data(), {.batch = 8, .epochs = 1}).stopped);
}

inline void a_report_may_see_several_passes(communicator& world) {
  bright_thirds const examples(50);
  training made = trainer<narrow>(small, world, allreduce{}, with_state());
  classification_report report(3);
  evaluator* const reports[]{&report};
  made.evaluate(examples.data(), reports);
  made.evaluate(examples.data(), {&report});
  EXPECT_EQ(report.examples(), 100);
}

/// An example that only one rank reads, and that it cannot read.
inline void an_evaluation_that_fails_on_one_rank_fails_on_all(communicator& world) {
  struct unreadable {
    dataset readable;
    data_description const& describe() const { return readable.describe(); }
    std::int64_t size() const { return readable.size(); }
    void get(std::int64_t i, example_view& out) const {
      if (i == size() - 1) throw data_error({.what = "the last example is damaged"});
      std::fill_n(out.fill<float>(0), 64, 0.5F);
      *out.fill<std::int32_t>(1) = 0;
    }
  };
  bright_thirds const examples(20);
  training made = trainer<narrow>(small, world, allreduce{}, with_state());
  std::string said;
  try {
    made.evaluate(unreadable{examples.data()}, {.batch = 4});
  } catch (data_error const& why) {
    said = why.what();
  }
  EXPECT_NE(said.find("the last example is damaged"), std::string::npos) << said;
  EXPECT_GT(made.evaluate(examples.data()).examples(), 0);  // all ranks can still communicate
}

inline void ranks_that_disagree_refuse_to_begin(communicator& world) {
  if (world.size() == 1) return;
  bright_thirds const examples(40);
  bool const odd = world.rank() == 1;
  auto const refused = [&](char const* what, auto&& make) {
    std::string said;
    try {
      make();
    } catch (setting_error const& why) {
      said = why.what();
    }
    EXPECT_NE(said.find(what), std::string::npos) << said;
    EXPECT_NE(said.find("rank 1"), std::string::npos) << said;
    EXPECT_TRUE(same_text(world, said));
  };
  refused("seed", [&] {
    trainer<narrow>(small, world, allreduce{}, plain_sgd(odd ? 8 : 7)).fit(examples.data(), {.batch = 4});
  });
  refused("optimizer.l2", [&] {
    training_settings settings = plain_sgd();
    if (odd) settings.optimizer.l2 = 0.0011;
    trainer<narrow>(small, world, allreduce{}, settings).fit(examples.data(), {.batch = 4});
  });
  std::vector<float> const wide_image(6 * 72, 0.5F);
  std::vector<std::int32_t> const labels(6, 0);
  dataset const wider = arrays(std::span<float const>(wide_image), shape{1, 8, 9}, std::span(labels), 3);
  refused("examples", [&] {
    trainer<narrow>(small, world, allreduce{}, plain_sgd())
        .fit(odd ? wider : bright_thirds(6).data(), {.batch = 2});
  });
  refused("batch", [&] {
    trainer<narrow>(small, world, allreduce{}, plain_sgd()).fit(examples.data(), {.batch = odd ? 5 : 4});
  });
  refused("strategy", [&] {
    trainer<narrow>(small, world, parameter_averaging{.every = odd ? 2 : 3}, plain_sgd())
        .fit(examples.data(), {.batch = 4});
  });
  constexpr auto other = network<[](builder& net) {
    return net.input({1, 8, 8}) | dense{.units = 3} | softmax_cross_entropy{};
  }>();
  refused("network", [&] {
    trainer<narrow>(odd ? graph(other) : graph(small), world, allreduce{}, plain_sgd())
        .fit(examples.data(), {.batch = 4});
  });
}

/// Rank 1 requests a stop after its third step; all ranks stop in the same step.
inline void one_rank_stops_all(communicator& world, bool averages) {
  struct asking final : listener {
    votes heard{};
    void on_step(training& run, step_report const& done) override {
      if (done.step == 2 && run.world().rank() == run.world().size() - 1) run.request({.stop = true});
    }
    void on_vote(training&, votes const& all) override { heard |= all; }
  } listening;
  bright_thirds const examples(200);
  training made = averages ? trainer<narrow>(small, world, parameter_averaging{.every = 5}, with_state())
                           : trainer<narrow>(small, world, allreduce{}, with_state());
  fit_report const report = made.fit(examples.data(), {.batch = 4, .epochs = 50, .listeners = {&listening}});
  EXPECT_TRUE(report.stopped);
  EXPECT_TRUE(listening.heard.stop);
  EXPECT_EQ(report.steps, averages ? 5 : 4);
  EXPECT_TRUE(same_text(world, made.checksum()));
}

/// Bytes that all ranks together send in an allreduce, according to its contract.
inline double bytes_of_a_sum(int ranks, double bytes) {
  detail::allreduce_algorithm const way =
      detail::choose_allreduce_algorithm(static_cast<std::size_t>(bytes), ranks);
  if (way == detail::allreduce_algorithm::ring) return 2.0 * (ranks - 1) * bytes;
  int rounds = 0;
  while (2 << rounds <= ranks) ++rounds;
  int const taking_part = 1 << rounds;
  int const messages =
      way == detail::allreduce_algorithm::doubling ? taking_part * rounds : 2 * (taking_part - 1);
  return (messages + 2.0 * (ranks - taking_part)) * bytes;
}

/// Payload of all ranks together in each step, according to the contracts.
inline void sends_the_bytes_that_its_contract_says(communicator& world) {
  struct counting final : listener {
    std::vector<double> bytes;
    void on_step(training&, step_report const& done) override {
      bytes.push_back(static_cast<double>(done.bytes_sent));
    }
  };
  bright_thirds const examples(12 * 8 * world.size());
  auto const in_step_of = [&](auto const& net, auto how, std::size_t step) {
    counting sent;
    training made = trainer<narrow>(net, world, how, with_state());
    made.fit(examples.data(), {.batch = 8, .epochs = 1, .listeners = {&sent}});
    EXPECT_EQ(sent.bytes.size(), 12U);
    double bytes = sent.bytes[step];
    world.allreduce(std::span<double>(&bytes, 1));
    return bytes;
  };
  auto const in_step = [&](auto how, std::size_t step) { return in_step_of(small, how, step); };
  double const n = static_cast<double>(small.parameter_count());
  auto const sum = [&](double bytes) { return bytes_of_a_sum(world.size(), bytes); };
  EXPECT_EQ(in_step(allreduce{}, 5), sum((n + 5) * 4));
  EXPECT_EQ(in_step(allreduce{.resync = 10}, 10), sum((n + 5) * 4) + sum(16));
  EXPECT_EQ(in_step(parameter_averaging{.every = 3}, 4), 0);
  EXPECT_EQ(in_step(parameter_averaging{.every = 3}, 5), sum((2 * n + 5) * 4));
  EXPECT_EQ(in_step(parameter_averaging{.every = 3, .average_optimizer_state = false}, 5), sum((n + 5) * 4));
  training const lying = single_rank<narrow>(broad, plain_sgd());
  auto const room = static_cast<double>(lying.parameters().arena_elements());
  EXPECT_GT(room, static_cast<double>(broad.parameter_count()));
  EXPECT_EQ(in_step_of(broad, parameter_averaging{.every = 3}, 5), sum((2 * room + 5) * 4));
  double in_bf16 = sum(5 * 4);
  training const any = single_rank<narrow>(small, plain_sgd());
  for (bucket const& one : any.parameters().buckets())
    in_bf16 += sum(2.0 * static_cast<double>(one.elements));
  EXPECT_EQ(in_step(allreduce{.wire = element_type::bf16}, 5), in_bf16);
}

/// With bf16 on the wire, all ranks and all runs have the same bits, and nearly the result of f32.
inline void few_bits_on_the_wire_lead_where_all_do(communicator& world) {
  bright_thirds const examples(103), held(60, 2);
  auto const trained = [&](std::optional<element_type> wire) {
    step_by_step compare;
    training made = trainer<narrow>(small, world, allreduce{.resync = 0, .wire = wire}, with_state());
    made.fit(examples.data(), {.batch = 7, .epochs = 8, .listeners = {&compare}});
    EXPECT_EQ(compare.different, 0);
    std::string checksum = made.checksum();
    return std::pair(std::move(checksum), made.evaluate(held.data()).accuracy().value());
  };
  auto const dense = trained({}), few = trained(element_type::bf16);
  EXPECT_EQ(few, trained(element_type::bf16));
  EXPECT_EQ(dense, trained(element_type::f32)) << "f32 is what they are";
  EXPECT_EQ(dense.first == few.first, world.size() == 1);
  EXPECT_NEAR(few.second, dense.second, 0.05);

  auto const in_double = [&](std::optional<element_type> wire) {
    training made = trainer<wide>(small, world, allreduce{.wire = wire}, plain_sgd());
    made.fit(examples.data(), {.batch = 7, .epochs = 2});
    EXPECT_TRUE(same_text(world, made.checksum()));
    return parameters_of(made);
  };
  auto const exact = in_double({});
  EXPECT_LT(largest_difference(in_double(element_type::f32), exact), 1e-6);
  EXPECT_LT(largest_difference(in_double(element_type::bf16), exact), 1e-2);
}

}  // namespace cohort_test
