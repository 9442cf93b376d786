// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requirements on training masked recurrent networks, on any backend.
#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/trainer.hpp>
#include <optional>
#include <string>
#include <vector>
#include "../checkpoint/scratch_folder.hpp"
#include "../plan/recomputation_cases.hpp"
#include "../plan/trial.hpp"
#include "parameters_of.hpp"
#include "signs.hpp"

namespace recurrent_cases {

using namespace cohort;
using cohort_test::parameters_of;
using cohort_test::signs;

/// All cells, in both directions, with a class per step.
inline graph tagger(int length, double dropped = 0) {
  return graph::build([=](builder& b) {
    tensor const x = b.masked_input({length, 2}) | dense{.units = 6} | tanh_activation{};
    tensor const both =
        concat(x | lstm{.units = 5, .peepholes = true, .dropout = dropped, .recurrent_dropout = dropped},
               x | gru{.units = 4, .reverse = true, .recurrent_dropout = dropped});
    return both | gru{.units = 3, .reset_after = false, .dropout = dropped} | simple_rnn{.units = 4}
           | dense{.units = 2} | softmax_cross_entropy{};
  });
}

inline training_settings with(int workers,
                              optimizer_rule how = nesterov{.learning_rate = 0.05, .momentum = 0.9}) {
  return {.optimizer = {.rule = how, .l2 = 1e-3}, .seed = 5, .workers = workers};
}

/// Parameters after three epochs on some ranks, all of which have the same bits.
template <class B, class Strategy = allreduce>
std::vector<typename B::scalar> trained(graph const& net, signs const& data, int length, int ranks,
                                        training_settings const& settings, fit_settings how,
                                        Strategy const& strategy = {}) {
  std::vector<typename B::scalar> made;
  how.epochs = 3;
  how.batch /= ranks;
  launch<threads>(ranks, [&](communicator& world) {
    training run = trainer<B>(net, world, strategy, settings);
    run.fit(data.tagged(length), how);
    std::string const own = run.checksum();
    gathered const all = world.allgatherv(std::as_bytes(std::span(own)));
    for (int rank = 1; rank < ranks; ++rank) EXPECT_TRUE(std::ranges::equal(all.of(rank), all.of(0)));
    if (world.rank() == 0) made = parameters_of<typename B::scalar>(run);
  });
  return made;
}

template <class T>
double largest_difference(std::vector<T> const& a, std::vector<T> const& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return largest;
}

/// Ranks, workers, micro-batches and padding change results by rounding alone; the dropouts of an example are
/// the same everywhere. A worker has no example if there are more workers than examples.
template <class B>
void trains_alike_in_parts(double tolerance) {
  signs const data(43);
  for (double const dropped : {0.0, 0.25}) {
    auto const whole = trained<B>(tagger(6, dropped), data, 6, 1, with(1), {.batch = 12});
    for (auto const& [ranks, workers, accumulate] :
         {std::tuple{2, 1, 1}, {3, 2, 1}, {1, 3, 1}, {1, 16, 1}, {1, 1, 5}, {2, 2, 3}}) {
      SCOPED_TRACE(ranks * 1000 + workers * 10 + accumulate);
      EXPECT_LE(largest_difference(trained<B>(tagger(6, dropped), data, 6, ranks, with(workers),
                                              {.batch = 12, .accumulate = accumulate}),
                                   whole),
                tolerance);
    }
    EXPECT_LE(largest_difference(trained<B>(tagger(17, dropped), data, 17, 1, with(1), {.batch = 12}), whole),
              tolerance)
        << "more padding";
    if (dropped > 0) {
      EXPECT_GT(largest_difference(trained<B>(tagger(6), data, 6, 1, with(1), {.batch = 12}), whole), 1e-3);
    }
  }
}

/// Two runs of one seed have the same bits, under every strategy.
template <class B>
void repeats_its_bits() {
  signs const data(43);
  auto const twice = [&](auto const& strategy, int workers) {
    auto const once = [&] {
      return trained<B>(tagger(6, 0.2), data, 6, 2, with(workers), {.batch = 12, .accumulate = 2}, strategy);
    };
    EXPECT_EQ(once(), once()) << workers;
  };
  for (int const workers : {1, 2}) {
    twice(allreduce{}, workers);
    twice(parameter_averaging{.every = 2}, workers);
    twice(threshold_sharing{.threshold = threshold::quantile{.density = 0.1}}, workers);
  }
}

/// One update of plain sgd per rank, then an average, equals one update with the whole batch.
template <class B>
void averages_parameters_by_their_steps(double tolerance) {
  signs const data(24);
  auto const settings = with(1, sgd{.learning_rate = 0.1});
  EXPECT_LE(largest_difference(
                trained<B>(tagger(6), data, 6, 2, settings, {.batch = 12}, parameter_averaging{.every = 1}),
                trained<B>(tagger(6), data, 6, 1, settings, {.batch = 12})),
            tolerance);
}

/// Sharing learns the tags nearly as well as allreduce.
template <class B>
void learns_under_every_strategy() {
  signs const data(160);
  auto const accuracy_of = [&](auto const& strategy) {
    double found = 0;
    launch<threads>(2, [&](communicator& world) {
      training run =
          trainer<B>(tagger(6), world, strategy, {.optimizer = {adam{.learning_rate = 0.02}}, .seed = 5});
      run.fit(data.tagged(6), {.batch = 8, .epochs = 25});
      classification_report const report = run.evaluate(data.tagged(6));
      if (world.rank() == 0) found = *report.accuracy();
    });
    return found;
  };
  EXPECT_GT(accuracy_of(allreduce{}), 0.9);
  EXPECT_GT(accuracy_of(parameter_averaging{.every = 3}), 0.9);
  EXPECT_GT(accuracy_of(threshold_sharing{.threshold = threshold::quantile{.density = 0.05}}), 0.9);
}

/// A resumed run has the bits of an uninterrupted one, with dropouts.
template <class B, class Strategy>
void resumes_with_the_same_bits(Strategy const& strategy, int ranks) {
  signs const data(43);
  scratch_folder const folder;
  std::string uninterrupted;
  auto const run = [&](int epochs, bool resumes, bool saves) {
    launch<threads>(ranks, [&](communicator& world) {
      training made = trainer<B>(tagger(6, 0.25), world, strategy, with(2, adam{.learning_rate = 0.01}));
      EXPECT_EQ(resumes && resume(made, folder.path()).has_value(), resumes);
      made.fit(data.tagged(6), {.batch = 12 / ranks, .epochs = epochs});
      if (saves) save_checkpoint(made, folder.path());
      EXPECT_TRUE(!resumes || made.checksum() == uninterrupted);
      if (world.rank() == 0 && !saves && !resumes) uninterrupted = made.checksum();
    });
  };
  run(4, false, false);
  run(2, false, true);
  run(2, true, false);
}

template <class B>
void resumes_under_every_strategy() {
  resumes_with_the_same_bits<B>(allreduce{}, 1);
  resumes_with_the_same_bits<B>(allreduce{}, 2);
  resumes_with_the_same_bits<B>(parameter_averaging{.every = 2}, 2);
  resumes_with_the_same_bits<B>(threshold_sharing{.threshold = threshold::quantile{.density = 0.1}}, 2);
}

/// Recurrent layers that read the input itself.
inline graph both_directions(int length) {
  return graph::build([=](builder& b) {
    tensor const x = b.masked_input({length, 3});
    return concat(x | lstm{.units = 5, .name = "first"}, x | gru{.units = 4, .reverse = true},
                  x | gru{.units = 3, .reset_after = false}, x | simple_rnn{.units = 2, .reverse = true})
           | lstm{.units = 4, .reverse = true, .name = "second"} | dense{.units = 3}
           | softmax_cross_entropy{};
  });
}

/// Values at padding change no bit of loss, outputs and gradients.
template <class B>
void ignores_padding() {
  graph const net = both_directions(7);
  trial<B> zeros(net, {.batch = 9}), others(net, {.batch = 9});
  std::vector<std::uint8_t> const& mask = zeros.batch.masks.front();
  ASSERT_GT(std::ranges::count(mask, 0), 5);
  for (std::size_t i = 0; i < zeros.batch.inputs[0].size(); ++i) {
    if (mask[i / 3] != 0) continue;
    zeros.batch.inputs[0][i] = 0;
    others.batch.inputs[0][i] = i % 2 == 0 ? 1e30F : -1e30F;
  }
  EXPECT_EQ(zeros.step(), others.step());
  EXPECT_EQ(zeros.all_gradients(), others.all_gradients());
}

/// A batch without any step: no loss, and gradients of 0, also after another batch.
template <class B>
void accepts_batches_without_steps() {
  trial<B> empty(both_directions(7), {.batch = 5});
  EXPECT_NE(empty.step(), 0);
  std::ranges::fill(empty.batch.masks.front(), std::uint8_t{0});
  empty.batch.divisor = 1;
  EXPECT_EQ(empty.step(), 0);
  for (auto const gradient : empty.all_gradients()) EXPECT_EQ(gradient, 0);
}

/// Loss and gradients of a batch whose rows do not fit into one product.
template <class B>
void has_the_gradients_of_the_reference() {
  trial<B> one(both_directions(7), {.batch = 24});
  trial<reference<float>> other(both_directions(7), {.batch = 24});
  EXPECT_NEAR(one.step(), other.step(), 1e-5);
  auto const got = one.all_gradients(), wanted = other.all_gradients();
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5) << i;
}

template <class B>
void recomputes_with_the_same_bits() {
  using recomputation_cases::expect_the_same_bits;
  for (double const dropped : {0.0, 0.3}) {
    EXPECT_GT(expect_the_same_bits<B>(tagger(6, dropped), {.blocks = {"*"}}, 5).kernels, 3);
    graph const stacked = graph::build([=](builder& b) {
      return b.masked_input({6, 2}) | lstm{.units = 5, .dropout = dropped} | lstm{.units = 3}
             | dense{.units = 2} | softmax_cross_entropy{};
    });
    EXPECT_GT(expect_the_same_bits<B>(stacked, {.blocks = {"lstm_*"}}, 5).kernels, 0);
    expect_the_same_bits<B>(tagger(6, dropped), {.cheap = true}, 5);
  }
}

/// A frozen layer propagates the same gradient as in training.
template <class B>
void passes_gradients_if_frozen() {
  trial<B> trained(both_directions(7), {.batch = 9}),
      frozen(both_directions(7), {.batch = 9}, 1, {}, {"second"});
  EXPECT_EQ(trained.step(), frozen.step());
  for (int p = 0; p < trained.parameters(); ++p)
    EXPECT_TRUE(trained.parameter(p).layer() == "second" || trained.gradient(p) == frozen.gradient(p))
        << trained.parameter(p).name;
}

}  // namespace recurrent_cases
