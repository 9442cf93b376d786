// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/sequences.hpp>
#include <cohort/evaluation/regression.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/prediction/features.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/training/find_learning_rate.hpp>
#include <cohort/training/metric.hpp>
#include <cohort/training/trainer.hpp>
#include <cohort/training/training_loop.hpp>
#include <cstdint>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "parameters_of.hpp"
#include "signs.hpp"

namespace sequences_test {

using namespace cohort;
using cohort_test::parameters_of;
using cohort_test::signs;
using B = reference<double>;

template <bool SumSteps = false>
graph tagger(int length) {
  return graph::build([=](builder& b) {
    return b.masked_input({length, 2}) | dense{.units = 8} | tanh_activation{}
           | conv1d{.filters = 6, .kernel = 3, .padding = padding::same} | relu{} | dense{.units = 2}
           | softmax_cross_entropy{.sum_steps = SumSteps};
  });
}
graph classifier(int length) {
  return graph::build([=](builder& b) {
    tensor const x = b.masked_input({length, 2}) | dense{.units = 8} | batch_norm{} | relu{};
    return concat(x | global_avg_pool{}, x | global_max_pool{}) | dense{.units = 2} | softmax_cross_entropy{};
  });
}

training_settings with(int workers) {
  return {.optimizer = {.rule = nesterov{.learning_rate = 0.05, .momentum = 0.9}, .l2 = 1e-3},
          .seed = 5,
          .workers = workers};
}

void expect_same(std::vector<double> const& got, std::vector<double> const& wanted, char const* what) {
  ASSERT_EQ(got.size(), wanted.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(got[i] - wanted[i]));
  EXPECT_LE(worst, 1e-12) << what;
}

TEST(sequences, train_equally_for_any_padding) {
  signs const data(40);
  auto const trained = [&](auto make, auto examples, int length) {
    training run = trainer<B>(make(length), with(1));
    run.fit((data.*examples)(length), {.batch = 8, .epochs = 3});
    return parameters_of(run);
  };
  expect_same(trained(tagger<>, &signs::tagged, 6), trained(tagger<>, &signs::tagged, 15), "tags");
  expect_same(trained(tagger<true>, &signs::tagged, 6), trained(tagger<true>, &signs::tagged, 9), "sums");
  expect_same(trained(classifier, &signs::classified, 6), trained(classifier, &signs::classified, 15),
              "classes");
}

/// Steps of class 1 do not count.
graph tagger_of_zeros(int length) {
  return graph::build([=](builder& b) {
    return b.masked_input({length, 2}) | dense{.units = 8} | tanh_activation{} | dense{.units = 2}
           | softmax_cross_entropy{.ignore_index = 1};
  });
}

std::vector<double> losses_of(fit_report const& report) {
  auto const all = report.history["loss"];
  return {all.begin(), all.end()};
}

/// Parameters and losses of the epochs after training on some ranks.
struct trained {
  std::vector<double> parameters, losses;
};
trained train(graph const& net, dataset const& data, int ranks, int workers, int accumulate, int batch) {
  trained made;
  launch<threads>(ranks, [&](communicator& world) {
    training run = trainer<B>(net, world, allreduce{}, with(workers));
    fit_report const report = run.fit(data, {.batch = batch / ranks, .epochs = 3, .accumulate = accumulate});
    if (world.rank() > 0) return;
    made.parameters = parameters_of(run);
    made.losses = losses_of(report);
  });
  return made;
}

TEST(sequences, train_equally_over_workers_ranks_and_micro_batches) {
  signs const data(43);
  for (graph const& net : {tagger<>(7), tagger<true>(7), tagger_of_zeros(7)}) {
    trained const one = train(net, data.tagged(7), 1, 1, 1, 12);
    for (auto const& [ranks, workers, accumulate] : {std::tuple{1, 3, 1}, {1, 1, 4}, {2, 1, 1}, {3, 2, 2}}) {
      SCOPED_TRACE(ranks * 100 + workers * 10 + accumulate);
      trained const other = train(net, data.tagged(7), ranks, workers, accumulate, 12);
      expect_same(other.parameters, one.parameters, "parameters");
      expect_same(other.losses, one.losses, "losses");
    }
  }
}

TEST(sequences, weigh_averaged_parameters_by_numbers_of_steps) {
  // One update per rank and then an average equal one step of plain sgd on the whole batch.
  signs const data(12);
  auto const after = [&](int ranks, auto const& strategy) {
    std::vector<double> made;
    launch<threads>(ranks, [&](communicator& world) {
      training run =
          trainer<B>(tagger<>(6), world, strategy, {.optimizer = {sgd{.learning_rate = 0.1}}, .seed = 2});
      run.fit(data.tagged(6), {.batch = 12 / ranks, .epochs = 1});
      if (world.rank() == 0) made = parameters_of(run);
    });
    return made;
  };
  expect_same(after(3, parameter_averaging{.every = 1}), after(1, allreduce{}), "parameters");
}

TEST(sequences, are_evaluated_step_by_step) {
  signs const data(30);
  training run = trainer<B>(tagger<>(9), with(2));
  fit_report const report = run.fit(
      data.tagged(9), {.batch = 8,
                       .epochs = 4,
                       .validation = data.tagged(9),
                       .metrics = {metrics::accuracy, metrics::log_loss,
                                   metrics::mean_of("rows", [](tensor_view output, tensor_view target) {
                                     EXPECT_EQ(output.dims, shape(2));
                                     EXPECT_EQ(target.dims, shape());
                                     return 1.0;
                                   })}});
  classification_report const seen = run.evaluate(data.tagged(9));
  EXPECT_EQ(seen.examples(), data.all_steps()) << "padding is not evaluated";
  EXPECT_EQ(report.history["accuracy"].back(), seen.accuracy());
  EXPECT_EQ(report.history["rows"].back(), 1);
  // The mean loss over steps is the log loss of the report.
  EXPECT_NEAR(report.history["validation loss"].back(), *seen.log_loss(), 1e-6);
  loader batches(data.tagged(9), {.batch = 100});
  EXPECT_NEAR(run.loss_of(*batches.next()), *seen.log_loss(), 1e-6);
}

TEST(sequences, are_evaluated_without_ignored_targets) {
  signs const data(40);
  training run = trainer<B>(tagger_of_zeros(7), with(1));
  fit_report const report =
      run.fit(data.tagged(7), {.batch = 8,
                               .epochs = 2,
                               .validation = data.tagged(7),
                               .metrics = {metrics::accuracy, metrics::log_loss, metrics::perplexity}});
  classification_report const seen = run.evaluate(data.tagged(7));
  EXPECT_EQ(seen.examples(), std::ranges::count(data.steps, 0));
  EXPECT_EQ(seen.count(1, 0) + seen.count(1, 1), 0) << "class 1 is ignored";
  EXPECT_EQ(report.history["accuracy"].back(), seen.accuracy());
  EXPECT_NEAR(report.history["validation loss"].back(), seen.log_loss().value(), 1e-12);
  EXPECT_EQ(report.history["perplexity"].back(), std::exp(report.history["log loss"].back()));
}

TEST(ignored_targets, are_accepted_in_arrays_without_a_number_of_classes) {
  std::vector<float> const inputs{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<std::int32_t> const labels{0, -100, 2, -100};
  arrays const data({{.name = "input", .values = {inputs.data(), shape(4, 2)}}},
                    {{.name = "label", .values = {labels.data(), shape(4)}}});
  graph const net = graph::build([](builder& b) {
    return b.input({2}) | dense{.units = 3} | softmax_cross_entropy{.ignore_index = -100};
  });
  training run = trainer<B>(net, with(2));
  run.fit(data, {.batch = 4, .epochs = 2});
  EXPECT_EQ(run.evaluate(data).examples(), 2);
}

TEST(sequences, of_numbers_are_evaluated_step_by_step) {
  signs const data(20);
  dataset const next =
      sequences(data.series(), series_view{.name = "target", .values = data.series().values});
  training run = trainer<B>(graph::build([](builder& b) {
                              return b.masked_input({6, 2}) | dense{.units = 2} | mean_squared_error{};
                            }),
                            with(1));
  run.normalise(next, {.inputs = rescaling::standardise, .targets = rescaling::standardise});
  run.fit(next, {.batch = 5, .epochs = 40});
  regression_report report(2);
  run.evaluate(next, {&report});
  EXPECT_EQ(report.examples(), data.all_steps());
  EXPECT_LT(*report.rmse(), 0.1) << "in the units of the data";
}

TEST(sequences, are_predicted_with_their_masks) {
  signs const data(10);
  training run = trainer<B>(classifier(9), with(1));
  run.fit(data.classified(9), {.batch = 5, .epochs = 2});
  loader batches(data.classified(9), {.batch = 10, .shuffle = false});
  batch const& b = *batches.next();
  predictions const padded = run.predict(b);
  // Each series alone, without padding, by a network of its length with the same parameters.
  std::vector<double> const parameters = parameters_of(run);
  for (int i = 0; i < 10; ++i) {
    int const length = data.lengths[static_cast<std::size_t>(i)];
    training alone = trainer<B>(classifier(length), with(1));
    alone.parameters().write_all(reinterpret_cast<std::byte const*>(parameters.data()),
                                 alone.parameters().master());
    alone.parameters().mark_changed();
    tensor_view series = data.series().values[static_cast<std::size_t>(i)];
    series.dims = series.dims.batched(1);
    predictions const plain = alone.predict(series);
    for (int c = 0; c < 2; ++c)
      EXPECT_NEAR(padded[i][static_cast<std::size_t>(c)], plain[0][static_cast<std::size_t>(c)], 1e-6) << i;
  }
}

TEST(sequences, are_refused_if_masks_do_not_fit) {
  signs const data(6);
  training run = trainer<B>(tagger<>(6), with(1));
  EXPECT_EQ(
      refusal_of<shape_error>([&] { run.fit(data.tagged(7)); }),
      "the shape of the data set's examples differs from the network's input (masked_input_1): expected "
      "6x2, got 7x2");
  training plain = trainer<B>(graph::build([](builder& b) {
                                return b.input({6, 2}) | dense{.units = 2} | softmax_cross_entropy{};
                              }),
                              with(1));
  EXPECT_EQ(refusal_of<shape_error>([&] { plain.fit(data.tagged(6)); }),
            "the data set's number of masks differs from the network's number of masked inputs: expected "
            "0 (to read masks, use b.masked_input instead of b.input), got 1");
  loader batches(data.tagged(6), {.batch = 6});
  batch_view view = *batches.next();
  view.masks[0].dims = {6, 5};
  EXPECT_EQ(refusal_of<shape_error>([&] { run.train_on(view); }),
            "a mask of the batch does not fit the network (masked_input_1): expected 6x6, u8, got 6x5, u8");
  EXPECT_EQ(refusal_of<shape_error>([&] { run.predict(view); }),
            "a mask of predict has the wrong shape or element type (masked_input_1): expected 6x6 x u8, got "
            "6x5 x u8");
  view.masks.push_back(view.masks[0]);
  EXPECT_EQ(refusal_of<shape_error>([&] { run.train_on(view); }),
            "the batch has the wrong number of masks: expected 1, one for each masked input of the network, "
            "got 2");
  EXPECT_EQ(
      refusal_of<shape_error>([&] { run.predict(view); }),
      "predict got the wrong number of masks: expected 1, one for each masked input of the network, got 2");
  EXPECT_EQ(
      refusal_of<shape_error>([&] { run.fit(data.classified(6)); }),
      "the data set's target does not fit the loss (softmax_cross_entropy_1): expected 6 class indices, "
      "one per step, i32, or 6x2 numbers per example, f64; for one target per example, put flatten or a pool "
      "after the steps, got one class index per example, i32");
}

TEST(sequences, without_masks_equal_sequences_with_full_masks) {
  signs const data(6);
  training run = trainer<B>(tagger<>(6), with(1));
  loader batches(data.tagged(6), {.batch = 6});
  batch_view view = *batches.next();
  double const masked = run.loss_of(view);
  std::vector<std::uint8_t> const ones(36, 1);
  view.masks[0] = {ones.data(), shape(6, 6)};
  double const whole = run.loss_of(view);
  view.masks.clear();
  EXPECT_EQ(run.loss_of(view), whole);
  EXPECT_NE(masked, whole);
}

TEST(sequences, train_equally_in_micro_batches) {
  signs const data(24);
  auto const trained = [&](auto step) {
    training run = trainer<B>(tagger<>(6), with(2));
    loader batches(data.tagged(6), {.batch = 8, .seed = 5});
    batches.start(0);
    while (batch const* const next = batches.next()) step(run, *next);
    return parameters_of(run);
  };
  std::vector<double> const at_once = trained([](training& run, batch const& b) { run.train_on(b); });
  expect_same(trained([](training& run, batch const& b) {
                training_loop loop(run);
                batch_view const all = b;
                for (int first : {0, 3}) {
                  loop.forward(all.rows(first, first == 0 ? 3 : b.count - 3));
                  loop.backward();
                }
                loop.step();
              }),
              at_once, "micro-batches of different numbers of steps");
}

TEST(sequences, of_indices_are_accepted_as_i32_in_training_and_prediction) {
  std::int32_t const words[]{1, 2, 3, 2, 1, 3, 3, 1};
  int const lengths[]{3, 1, 4};
  std::int32_t const classes[]{0, 1, 0};
  dataset const data = sequences({.values = series_of({words, shape(8)}, lengths)},
                                 array_view{.name = "class", .values = {classes, shape(3)}, .classes = 2});
  auto const net = [](bool mask_zero) {
    return graph::build([=](builder& b) {
      tensor const x = mask_zero ? b.input({4}) : b.masked_input({4});
      return x | embedding{.vocabulary = 4, .width = 3, .mask_zero = mask_zero} | global_avg_pool{}
             | dense{.units = 2} | softmax_cross_entropy{};
    });
  };
  training masked = trainer<B>(net(false), with(1));
  masked.fit(data, {.batch = 3, .epochs = 5});
  arrays const padded({array_view{.name = "input", .values = {words, shape(2, 4)}}},
                      {array_view{.name = "class", .values = {classes, shape(2)}, .classes = 2}});
  training zero = trainer<B>(net(true), with(1));
  zero.fit(padded, {.epochs = 1});
  std::int32_t const some[]{1, 2, 3, 0};
  float const same[]{1, 2, 3, 0};
  EXPECT_EQ(zero.predict(tensor_view(some, shape(1, 4))).values,
            zero.predict(tensor_view(same, shape(1, 4))).values);
  std::uint8_t const bytes[]{1, 2, 3, 0};
  EXPECT_EQ(refusal_of<shape_error>([&] { zero.predict(tensor_view(bytes, shape(1, 4))); }),
            "an input of predict has the wrong element type (input_1): expected i32 or f32: indices, got u8");
  training plain = trainer<B>(
      graph::build([](builder& b) { return b.input({4}) | dense{.units = 2} | softmax_cross_entropy{}; }),
      with(1));
  EXPECT_EQ(
      refusal_of<shape_error>([&] { plain.fit(padded); }),
      "an input of the data set has the wrong element type (input_1): expected f32: only embeddings read "
      "indices (i32), got i32");
}

TEST(sequences, train_equally_with_a_mask_from_index_0_and_with_an_explicit_mask) {
  // Padding by index 0 is exact as an explicit mask is.
  std::int32_t const words[]{1, 2, 3, 0, 2, 0, 0, 0, 3, 3, 0, 0}, tags[]{0, 1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0};
  std::int32_t const rows[]{1, 2, 3, 2, 3, 3}, row_tags[]{0, 1, 1, 1, 0, 1};
  int const lengths[]{3, 1, 2};
  auto const net = [](bool mask_zero) {
    return graph::build([=](builder& b) {
      tensor const x = mask_zero ? b.input({4}) : b.masked_input({4});
      return x | embedding{.vocabulary = 4, .width = 3, .mask_zero = mask_zero} | dense{.units = 2}
             | softmax_cross_entropy{};
    });
  };
  auto const losses = [&](bool mask_zero, dataset const& data) {
    training run = trainer<B>(net(mask_zero), with(2));
    return losses_of(run.fit(data, {.batch = 2, .epochs = 4, .shuffle = false}));
  };
  dataset const padded = arrays({array_view{.name = "input", .values = {words, shape(3, 4)}}},
                                {array_view{.name = "tag", .values = {tags, shape(3, 4)}, .classes = 2}});
  dataset const masked =
      sequences({.values = series_of({rows, shape(6)}, lengths)},
                series_view{.values = series_of({row_tags, shape(6)}, lengths), .classes = 2}, {.length = 4});
  expect_same(losses(true, padded), losses(false, masked), "losses");
}

TEST(sequences, are_computed_as_features_of_another_network) {
  signs const data(8);
  training run = trainer<B>(tagger<>(6), with(1));
  feature_set const made = run.features({"dense_1"}, data.tagged(6));
  EXPECT_EQ(made.describe().inputs[0].example, shape(6, 8));
  EXPECT_EQ(made.describe().inputs[0].mask, 0) << "the layer's output has the mask of its input";
  EXPECT_EQ(made.describe().masks.size(), 1U);
  training next = trainer<B>(graph::build([](builder& b) {
                               return b.masked_input({6, 8}) | dense{.units = 2} | softmax_cross_entropy{};
                             }),
                             with(1));
  next.fit(made, {.batch = 4});
}

}  // namespace sequences_test
