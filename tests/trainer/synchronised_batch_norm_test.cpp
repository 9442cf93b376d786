// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/launch.hpp>
#include <cohort/layer/synchronised_batch_norm.hpp>
#include "../strategy/rank_cases.hpp"

namespace {

using namespace cohort_test;

tensor normed(builder& net) {
  return net.input({1, 8, 8}) | conv2d{.filters = 4, .kernel = 3} | synchronised_batch_norm{.momentum = 0.5}
         | relu{} | max_pool{.window = 2} | dense{.units = 5} | synchronised_batch_norm{.epsilon = 0.1}
         | relu{} | dense{.units = 3} | softmax_cross_entropy{};
}
graph const net = graph::build(normed);

training_settings with(int workers) {
  training_settings made = plain_sgd();
  made.workers = workers;
  return made;
}

/// Parameters after two epochs whose last batch has one example, so that workers and ranks have none.
std::vector<double> one_part() {
  bright_thirds const examples(25);
  training alone = trainer<wide>(net, plain_sgd());
  alone.fit(examples.data(), {.batch = 12, .epochs = 2});
  return parameters_of(alone);
}

TEST(synchronised_batch_norm, trains_over_workers_as_one_of_them) {
  bright_thirds const examples(25);
  std::vector<double> const wanted = one_part();
  for (int workers : {2, 3}) {
    training made = trainer<wide>(net, with(workers));
    made.fit(examples.data(), {.batch = 12, .epochs = 2});
    EXPECT_LT(largest_difference(parameters_of(made), wanted), 1e-12) << workers;
  }
}

TEST(synchronised_batch_norm, trains_over_ranks_and_their_workers_as_one_of_them) {
  bright_thirds const examples(25);
  std::vector<double> const wanted = one_part();
  for (int ranks : {2, 3})
    for (int workers : {1, 2})
      launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
        training made = trainer<wide>(net, world, allreduce{}, with(workers));
        made.fit(examples.data(), {.batch = 12 / world.size(), .epochs = 2});
        EXPECT_LT(largest_difference(parameters_of(made), wanted), 1e-12) << ranks << " ranks of " << workers;
      });
}

TEST(synchronised_batch_norm, is_batch_norm_where_one_part_has_the_batch) {
  auto const body = [](builder& b, auto norm) {
    return b.input({1, 8, 8}) | conv2d{.filters = 4, .kernel = 3} | norm | relu{} | dense{.units = 3}
           | softmax_cross_entropy{};
  };
  bright_thirds const examples(24);
  auto const after = [&](graph const& made_of) {
    training made = trainer<wide>(made_of, plain_sgd());
    made.fit(examples.data(), {.batch = 8});
    return parameters_of(made);
  };
  auto const apart = after(graph::build([&](builder& b) { return body(b, batch_norm{.name = "norm"}); }));
  auto const as_one =
      after(graph::build([&](builder& b) { return body(b, synchronised_batch_norm{.name = "norm"}); }));
  EXPECT_LT(largest_difference(apart, as_one), 1e-12);
}

TEST(synchronised_batch_norm, differs_from_batch_norm_over_workers) {
  graph const own = graph::build([](builder& b) {
    return b.input({1, 8, 8}) | conv2d{.filters = 4, .kernel = 3} | batch_norm{} | relu{} | dense{.units = 3}
           | softmax_cross_entropy{};
  });
  bright_thirds const examples(24);
  training one = trainer<wide>(own, with(1)), two = trainer<wide>(own, with(2));
  for (training* made : {&one, &two}) made->fit(examples.data(), {.batch = 8});
  EXPECT_GT(largest_difference(parameters_of(one), parameters_of(two)), 1e-6) << "it would have been seen";
}

TEST(synchronised_batch_norm, names_a_number_that_is_not_finite_on_all_ranks) {
  bright_thirds examples(24);
  examples.pixels[64 * 13] = std::numeric_limits<float>::quiet_NaN();
  launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    training made = trainer<wide>(net, world, allreduce{}, with(2));
    EXPECT_THROW(made.fit(examples.data(), {.batch = 6, .shuffle = false}), numeric_error);
  });
}

TEST(synchronised_batch_norm, refuses_ranks_that_exchange_no_gradients) {
  bright_thirds const examples(24);
  launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    training made = trainer<wide>(net, world, parameter_averaging{.every = 2}, {});
    EXPECT_THROW(made.fit(examples.data(), {.batch = 6}), setting_error);
  });
}

/// A rank that fails in the middle of a batch, before its layers ask for sums.
TEST(synchronised_batch_norm, tells_other_ranks_what_ended_a_step) {
  bright_thirds examples(24);
  examples.labels[13] = 7;
  std::atomic<int> ended = 0;
  EXPECT_ANY_THROW(launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    training made = trainer<wide>(net, world, allreduce{}, {});
    try {
      made.fit(examples.data(), {.batch = 12, .shuffle = false});
    } catch (error const&) {
      ++ended;
      throw;
    }
  }));
  EXPECT_EQ(ended, 2);
}

}  // namespace
