// SPDX-License-Identifier: Apache-2.0
// label: slow
#include <gtest/gtest.h>
#include <cohort/data/weighted_by_class.hpp>
#include <cohort/training/training.hpp>
#include <cohort/training/training_loop.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../strategy/rank_cases.hpp"
#include "own_loops.hpp"

namespace train_on_test {

using namespace cohort_test;

training_settings with(int workers) {
  return {.optimizer = {.rule = nesterov{.learning_rate = 0.05, .momentum = 0.9}, .l2 = 1e-3},
          .plateau = reduce_on_plateau{.patience = 0, .threshold = 0.9},
          .workers = workers};
}

TEST(train_on, is_bitwise_equal_to_fit_for_every_strategy) {
  bright_thirds const examples(103);
  for_every_strategy([&](auto const& how) {
    for (int ranks : {1, 2})
      for (int workers : {1, 2})
        for (int accumulate : {1, 2, 4}) {  // the last batch has 3 examples
          auto const fitted = checksums_of(ranks, how, with(workers), [&](training& run) {
            run.fit(examples.data(), {.batch = 10, .epochs = 3, .accumulate = accumulate});
          });
          auto const stepped = checksums_of(ranks, how, with(workers), [&](training& run) {
            for_each_batch(run, examples.data(), 10, 3,
                           [&](batch const& next) { run.train_on(next, accumulate); });
            EXPECT_EQ(run.epoch(), 3);
          });
          EXPECT_EQ(stepped, fitted) << ranks << ' ' << workers << ' ' << accumulate;
        }
  });
}

TEST(train_on, is_bitwise_equal_to_fit_with_weights) {
  bright_thirds const examples(57);
  dataset const weighted = weighted_by_class(arrays(std::span<float const>(examples.pixels), {1, 8, 8},
                                                    std::span<std::int32_t const>(examples.labels), 3),
                                             {0.5F, 2, 0});
  EXPECT_EQ(checksums_of(2, allreduce{}, with(2),
                         [&](training& run) {
                           for_each_batch(run, weighted, 3, 2, [&](batch const& b) { run.train_on(b); });
                         }),
            checksums_of(2, allreduce{}, with(2),
                         [&](training& run) { run.fit(weighted, {.batch = 3, .epochs = 2}); }));
}

/// Each rank has separate examples and a separate loader, which does not depend on the other ranks. A rank
/// without further examples passes empty batches.
template <class Step>
void for_each_own_batch(communicator& world, training& run, dataset const& own, int batch_size, Step step) {
  auto steps = static_cast<std::uint64_t>((own.size() + batch_size - 1) / batch_size);
  world.allreduce(std::span<std::uint64_t>(&steps, 1), reduction::maximum);
  std::optional<loader> batches;
  if (own.size() > 0) batches.emplace(own, loader_settings{.batch = batch_size, .shuffle = false});
  for (std::uint64_t s = 0; s < steps; ++s) {
    batch const* const next = batches ? batches->next() : nullptr;
    step(next ? batch_view(*next) : batch_view());
  }
  run.end_epoch();
}

TEST(train_on, weighs_the_batches_of_ranks_by_their_examples) {
  for (int ranks : {2, 3, 4})
    for (int batch_size : {4, 16})
      launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
        dataset const own = own_thirds(world.rank());
        auto const made = [&] { return trainer<wide>(small, world, allreduce{}, plain_sgd()); };
        training fitted = made(), stepped = made(), in_parts = made();
        fitted.fit(own, {.batch = batch_size, .shuffle = false, .sharding = sharding::local});
        for_each_own_batch(world, stepped, own, batch_size,
                           [&](batch_view const& next) { stepped.train_on(next); });
        training_loop loop(in_parts);
        for_each_own_batch(world, in_parts, own, batch_size, [&](batch_view const& next) {
          loop.forward(next);
          loop.backward();
          loop.step();
        });
        EXPECT_EQ(stepped.checksum(), fitted.checksum()) << ranks << ' ' << batch_size;
        EXPECT_EQ(in_parts.checksum(), fitted.checksum()) << ranks << ' ' << batch_size;
      });
}

TEST(train_on, reports_the_step_and_the_epoch) {
  bright_thirds const examples(30);
  std::vector<epoch_report> ends(2);
  launch<threads>(2, [&](communicator& world) {
    training run = trainer<wide>(small, world, allreduce{}, with(1));
    double sum = 0;
    std::int64_t step = 0;
    for_each_batch(run, examples.data(), 5, 1, [&](batch const& next) {
      double const before = run.loss_of(next);
      step_report const done = run.train_on(next);
      EXPECT_EQ(done.step, step);
      EXPECT_EQ(done.step_in_epoch, step++);
      EXPECT_EQ(done.examples, 5);
      EXPECT_TRUE(done.updated);
      EXPECT_EQ(done.ranks, 2);
      double both = done.loss;
      world.allreduce(std::span<double>(&both, 1));
      EXPECT_NEAR(both / 2, before, 1e-12) << "without masks, loss_of is the loss of the step before it";
      sum += both / 2;
    });
    EXPECT_EQ(run.epoch(), 1);
    training again = trainer<wide>(small, world, allreduce{}, with(1));
    loader batches(examples.data(), {.batch = 5, .rank = world.rank(), .ranks = 2});
    batches.start(0);
    while (batch const* const next = batches.next()) again.train_on(*next);
    ends[static_cast<std::size_t>(world.rank())] = again.end_epoch();
  });
  for (epoch_report const& end : ends) {
    EXPECT_EQ(end.steps, 3);
    EXPECT_EQ(end.examples, 30);
    EXPECT_EQ(end.weight, 30);
    EXPECT_EQ(end.loss, ends[0].loss);
    EXPECT_GT(end.loss, 0);
  }
}

TEST(train_on, accepts_tensors_and_empty_parts_of_a_batch) {
  bright_thirds const examples(20);
  tensor_view const images(examples.pixels.data(), shape{20, 1, 8, 8}),
      labels(examples.labels.data(), shape{20});
  auto const trained = [&](int ranks, std::vector<int> counts) {
    std::vector<double> found;
    launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
      training run = trainer<wide>(small, world, allreduce{}, plain_sgd());
      int first = 0;
      for (int r = 0; r < world.rank(); ++r) first += counts[static_cast<std::size_t>(r)];
      int const count = counts[static_cast<std::size_t>(world.rank())];
      for (int i = 0; i < 3; ++i)
        run.train_on(count == 0 ? batch_view()
                                : batch_view(images.rows(first, count), labels.rows(first, count)));
      if (world.rank() == 0) found = parameters_of(run);
    });
    return found;
  };
  std::vector<double> const alone = trained(1, {20});
  EXPECT_LT(largest_difference(trained(3, {13, 0, 7}), alone), 1e-12);
  EXPECT_LT(largest_difference(trained(2, {1, 19}), alone), 1e-12);
}

TEST(train_on, draws_different_dropout_masks_on_each_rank) {
  bright_thirds const examples(4);
  std::vector<double> losses(2);
  launch<threads>(2, [&](communicator& world) {
    training run = trainer<wide>(with_everything, world, allreduce{}, plain_sgd());
    losses[static_cast<std::size_t>(world.rank())] =
        run.train_on({tensor_view(examples.pixels.data(), shape{4, 1, 8, 8}),
                      tensor_view(examples.labels.data(), shape{4})})
            .loss;
  });
  EXPECT_NE(losses[0], losses[1]);
}

TEST(train_on, delivers_stop_requests_of_other_ranks) {
  bright_thirds const examples(8);
  launch<threads>(2, [&](communicator& world) {
    training run = trainer<narrow>(small, world, allreduce{}, plain_sgd());
    batch_view const data(tensor_view(examples.pixels.data(), shape{8, 1, 8, 8}),
                          tensor_view(examples.labels.data(), shape{8}));
    EXPECT_FALSE(run.train_on(data).agreed.stop);
    if (world.rank() == 1) run.request({.stop = true});
    EXPECT_TRUE(run.train_on(data).agreed.stop);
    EXPECT_FALSE(run.train_on(data).agreed.stop);
  });
}

TEST(train_on, stops_all_ranks_after_a_number_that_is_not_finite) {
  bright_thirds examples(8);
  std::vector<std::string> texts(2);
  launch<threads>(2, [&](communicator& world) {
    std::vector<float> pixels = examples.pixels;
    if (world.rank() == 1) pixels[70] = std::numeric_limits<float>::quiet_NaN();
    training run = trainer<narrow>(small, world, allreduce{}, plain_sgd());
    std::string const before = run.checksum();
    texts[static_cast<std::size_t>(world.rank())] = refusal_of<numeric_error>([&] {
      run.train_on(
          {tensor_view(pixels.data(), shape{8, 1, 8, 8}), tensor_view(examples.labels.data(), shape{8})});
    });
    EXPECT_EQ(run.checksum(), before);
  });
  EXPECT_NE(texts[0].find("rank 1: step 0, epoch 0, first in the input"), std::string::npos) << texts[0];
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(train_on, refuses_batches_that_do_not_fit_the_network) {
  bright_thirds const examples(8);
  training run = trainer<narrow>(small);
  tensor_view const images(examples.pixels.data(), shape{8, 1, 8, 8}),
      labels(examples.labels.data(), shape{8});
  auto const refused = [&](batch_view const& data) {
    std::string const text = refusal_of<shape_error>([&] { run.train_on(data); });
    EXPECT_EQ(refusal_of<shape_error>([&] { run.loss_of(data); }), text);
    return text;
  };
  EXPECT_EQ(refused({tensor_view(examples.pixels.data(), shape{8, 64}), labels}),
            "an input of the batch does not fit the network (input_1): expected 8x1x8x8, f32, got 8x64, f32");
  EXPECT_EQ(
      refused({images, labels.rows(0, 7)}),
      "a target of the batch does not fit the loss (softmax_cross_entropy_1): expected 8 class indices, "
      "i32, or 8x3, f32, got 7, i32");
  EXPECT_EQ(refused({{images, images}, {labels}}),
            "the batch does not have the network's inputs and targets: expected 1 inputs, 1 targets, got 2 "
            "inputs, 1 targets");
  std::vector<float> const weights(7, 1.0F);
  EXPECT_EQ(
      refused({images, labels, weights}),
      "the batch has the wrong number of elements in a list (weights): expected 8, one for each example, "
      "got 7");
  batch_view uncounted;
  uncounted.inputs = {images};
  uncounted.targets = {labels};
  EXPECT_EQ(refused(uncounted),
            "the batch has tensors, but no number of examples (batch_view::count): expected 8, as in its "
            "first input, got 0");
  EXPECT_EQ(refusal_of<setting_error>([&] {
              run.train_on({images, labels}, 0);
            }),
            "a batch cannot be split into this number of micro-batches (train_on, accumulate): expected at "
            "least 1, got 0");
  EXPECT_EQ(run.step(), 0);
}

TEST(train_on, refuses_ranks_with_different_seeds) {
  bright_thirds const examples(8);
  launch<threads>(2, [&](communicator& world) {
    training run =
        trainer<narrow>(small, world, allreduce{}, plain_sgd(7 + static_cast<std::uint64_t>(world.rank())));
    EXPECT_NE(refusal_of<setting_error>([&] {
                run.train_on({tensor_view(examples.pixels.data(), shape{8, 1, 8, 8}),
                              tensor_view(examples.labels.data(), shape{8})});
              }).find("seed"),
              std::string::npos);
  });
}

TEST(trainer, without_communicator_refuses_to_train_within_a_launch) {
  bright_thirds const examples(24);
  auto const train_in = [&](int ranks, auto const& train) {
    return refusal_of<setting_error>([&] { launch<threads>(ranks, [&](communicator&) { train(); }); });
  };
  auto const fit = [&] { trainer<narrow>(small).fit(examples.data(), {.batch = 8}); };
  EXPECT_EQ(
      train_in(2, fit),
      "a trainer without a communicator would train a separate network on each rank (a launch of 2 ranks): "
      "expected trainer<B>(net, world, allreduce{}); for separate networks trainer<B>(net, make_self(), "
      "std::make_unique<no_exchange>()), got trainer<B>(net)");
  EXPECT_NE(train_in(2,
                     [&] {
                       training run = trainer<narrow>(small);
                       loader batches(examples.data(), {.batch = 8});
                       run.train_on(*batches.next());
                     }),
            "");
  EXPECT_EQ(train_in(1, fit), "");
  EXPECT_NO_THROW(fit()) << "outside of a launch";
  EXPECT_EQ(train_in(2,
                     [&] {
                       trainer<narrow>(small, make_self(), std::make_unique<no_exchange>())
                           .fit(examples.data(), {.batch = 8});
                     }),
            "");
  EXPECT_EQ(train_in(2, [&] { trainer<narrow>(small).evaluate(examples.data()); }), "")
      << "prediction and evaluation need no other rank";
}

}  // namespace train_on_test
