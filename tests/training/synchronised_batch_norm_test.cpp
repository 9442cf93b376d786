// SPDX-License-Identifier: Apache-2.0
// covers: layer/synchronised_batch_norm
#include <cohort/communicator/launch.hpp>
#include <cohort/data/select.hpp>
#include <cohort/layer/synchronised_batch_norm.hpp>
#include "../strategy/rank_cases.hpp"

namespace synchronised_batch_norm_test {

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

/// Parameters after two epochs whose last batch has one example, so that some workers and ranks have none.
std::vector<double> one_part() {
  bright_thirds const examples(25);
  training alone = trainer<wide>(net, plain_sgd());
  alone.fit(examples.data(), {.batch = 12, .epochs = 2});
  return parameters_of(alone);
}

TEST(synchronised_batch_norm, trains_over_workers_like_one_worker) {
  bright_thirds const examples(25);
  std::vector<double> const wanted = one_part();
  for (int workers : {2, 3}) {
    training made = trainer<wide>(net, with(workers));
    made.fit(examples.data(), {.batch = 12, .epochs = 2});
    EXPECT_LT(largest_difference(parameters_of(made), wanted), 1e-12) << workers;
  }
}

/// Batches of 12. The rows 2p, 2p + 1, 6 + 2p and 7 + 2p are the same four examples for every p. With three
/// micro-batches for each half, the micro-batches of a round together have the statistics of the batch; a
/// single micro-batch does not.
struct repeated {
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;

  explicit repeated(int batches) {
    bright_thirds const examples(4 * batches);
    for (int row = 0; row < 12 * batches; ++row) {
      int const from = 4 * (row / 12) + row % 12 / 6 * 2 + row % 2;
      auto const first = examples.pixels.begin() + 64 * from;
      pixels.insert(pixels.end(), first, first + 64);
      labels.push_back(examples.labels[static_cast<std::size_t>(from)]);
    }
  }
  dataset data() const {
    return arrays(std::span<float const>(pixels), shape{1, 8, 8}, std::span<std::int32_t const>(labels), 3);
  }
};

TEST(synchronised_batch_norm, uses_the_statistics_of_each_round_of_micro_batches) {
  repeated const examples(4);
  auto const after = [&](int ranks, int workers, int pieces) {
    std::vector<double> found;
    launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
      training made = trainer<wide>(net, world, allreduce{}, with(workers));
      made.fit(examples.data(), {.batch = 12 / ranks, .epochs = 2, .shuffle = false, .accumulate = pieces});
      if (world.rank() == 0) found = parameters_of(made);
    });
    return found;
  };
  std::vector<double> const whole = after(1, 1, 1);
  EXPECT_LT(largest_difference(after(1, 2, 3), whole), 1e-12) << "workers";
  EXPECT_LT(largest_difference(after(2, 1, 3), whole), 1e-12) << "ranks";
  EXPECT_LT(largest_difference(after(2, 2, 3), whole), 1e-12) << "workers of ranks";
  EXPECT_GT(largest_difference(after(1, 1, 6), whole), 1e-6) << "pieces with other statistics";
}

TEST(synchronised_batch_norm, does_not_wait_for_workers_with_fewer_micro_batches) {
  bright_thirds const examples(25);
  training made = trainer<wide>(net, with(3));
  EXPECT_EQ(made.fit(examples.data(), {.batch = 5, .accumulate = 2}).steps, 5);
}

/// The number of sums must not depend on how the examples would be divided over the ranks.
TEST(synchronised_batch_norm, does_not_wait_for_ranks_with_fewer_examples) {
  bright_thirds const examples(25);
  dataset const all = examples.data();
  for (std::vector<int> const& counts : {std::vector{5, 1}, {0, 5}, {17, 2}, {9, 1, 0}})
    for (int workers : {1, 2})
      launch<threads>(static_cast<int>(counts.size()), {.deadline = std::chrono::seconds(60)},
                      [&](communicator& world) {
                        training made = trainer<wide>(net, world, allreduce{}, with(workers));
                        made.fit(select(all, 0, counts[static_cast<std::size_t>(world.rank())]),
                                 {.batch = 8, .epochs = 2, .accumulate = 4, .sharding = sharding::local});
                        EXPECT_TRUE(same_text(world, made.checksum())) << counts[0] << ' ' << workers;
                      });
}

/// A non-finite loss is detected after its micro-batch by a worker of a single rank, and before its backward
/// if gradients are exchanged. In both cases, this worker takes part in as many sums as the other workers.
TEST(synchronised_batch_norm, continues_if_the_loss_of_another_worker_is_not_finite) {
  graph const numbers = graph::build([](builder& b) {
    return b.input({4}) | dense{.units = 5} | synchronised_batch_norm{} | dense{.units = 2}
           | mean_squared_error{};
  });
  training_settings settings = with(2);
  settings.not_finite = when_not_finite::skip;
  for (std::size_t const bad : {0, 9, 19}) {
    std::vector<float> x(80, 1), y(40, 0.5F);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
    dataset const data =
        arrays({array_view{.values = {x.data(), {20, 4}}}}, {array_view{.values = {y.data(), {20, 2}}}});
    y[2 * bad] = std::numeric_limits<float>::quiet_NaN();  // after the data was checked
    auto const skipped = [&](int ranks) {
      std::atomic<std::int64_t> found = 0;
      launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
        training made = trainer<wide>(numbers, world, allreduce{}, settings);
        found += made.fit(data, {.batch = 10 / ranks, .shuffle = false, .accumulate = 2}).skipped;
      });
      return found / ranks;
    };
    training alone = trainer<wide>(numbers, settings);
    EXPECT_EQ(alone.fit(data, {.batch = 10, .shuffle = false, .accumulate = 2}).skipped, 1) << bad;
    EXPECT_EQ(skipped(1), 1) << bad;
    EXPECT_EQ(skipped(2), 1) << bad;
  }
}

/// Messages of all ranks in one step on this number of examples.
std::uint64_t messages_of(int examples, int pieces, std::vector<int> const& workers) {
  bright_thirds const some(examples);
  std::atomic<std::uint64_t> sent = 0;
  launch<threads>(
      static_cast<int>(workers.size()), {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
        training made =
            trainer<wide>(net, world, allreduce{}, with(workers[static_cast<std::size_t>(world.rank())]));
        made.fit(some.data(), {.batch = 12, .accumulate = pieces});
        sent += world.sent().messages_sent;
      });
  return sent;
}

TEST(synchronised_batch_norm, sums_once_per_micro_batch_of_the_largest_worker) {
  EXPECT_EQ(messages_of(4, 12, {1, 1}), messages_of(4, 2, {1, 1})) << "two rows a rank";
  EXPECT_EQ(messages_of(4, 12, {2, 2}), messages_of(4, 1, {2, 2})) << "one row a worker";
  EXPECT_EQ(messages_of(5, 12, {3, 1}), messages_of(5, 2, {3, 1})) << "rank 1 has two rows for one worker";
  EXPECT_GT(messages_of(4, 2, {1, 1}), messages_of(4, 1, {1, 1})) << "it would have been seen";
}

TEST(synchronised_batch_norm, does_not_wait_if_it_is_frozen) {
  bright_thirds const examples(25);
  for (char const* const frozen : {"synchronised_batch_norm_1", "synchronised_batch_norm_2"}) {
    training_settings settings = with(3);
    settings.optimizer.layers = {{.layer = frozen, .frozen = true}};
    training made = trainer<wide>(net, settings);
    EXPECT_EQ(made.fit(examples.data(), {.batch = 12}).steps, 3) << frozen;
  }
}

/// No loss depends on the first output. Therefore its layers run forward only.
TEST(synchronised_batch_norm, does_not_wait_without_a_gradient) {
  graph const sided = graph::build([](builder& b) {
    tensor const x = b.input({1, 8, 8});
    return std::pair(x | conv2d{.filters = 2, .kernel = 3} | synchronised_batch_norm{} | relu{},
                     x | conv2d{.filters = 4, .kernel = 3} | synchronised_batch_norm{} | relu{}
                         | dense{.units = 3} | softmax_cross_entropy{});
  });
  bright_thirds const examples(25);
  auto const after = [&](int workers) {
    training made = trainer<wide>(sided, with(workers));
    made.fit(examples.data(), {.batch = 12, .epochs = 2});
    return parameters_of(made);
  };
  EXPECT_LT(largest_difference(after(3), after(1)), 1e-12);
}

TEST(synchronised_batch_norm, trains_over_ranks_and_their_workers_like_one_worker) {
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

TEST(synchronised_batch_norm, equals_batch_norm_if_one_worker_has_the_whole_batch) {
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

TEST(synchronised_batch_norm, ends_with_the_same_error_on_all_ranks) {
  bright_thirds const examples(25);
  launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    training_settings wild = with(2);
    wild.optimizer.rule = sgd{.learning_rate = 1e200};
    training made = trainer<wide>(net, world, allreduce{}, wild);
    EXPECT_THROW(made.fit(examples.data(), {.batch = 6}), numeric_error);
    training other = trainer<wide>(net, world, allreduce{}, with(2));
    EXPECT_THROW(other.fit(examples.data(), {.batch = 6, .accumulate = 1 + world.rank()}), setting_error);
  });
}

TEST(synchronised_batch_norm, refuses_ranks_that_exchange_no_gradients) {
  bright_thirds const examples(24);
  launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    training made = trainer<wide>(net, world, parameter_averaging{.every = 2}, {});
    EXPECT_THROW(made.fit(examples.data(), {.batch = 6}), setting_error);
  });
}

/// Throws for bright pixels.
struct brittle {
  static constexpr std::string_view kind_name = "brittle";
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    for (std::size_t i = 0; i < a.elements_of_output(); ++i) {
      if (a.inputs[0][i] > 100) throw data_error({.what = "it broke"});
      a.output[i] = a.inputs[0][i];
    }
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (a.diff_inputs[0]) std::copy_n(a.diff_output, a.elements_of_output(), a.diff_inputs[0]);
  }
};

TEST(synchronised_batch_norm, reports_the_cause_of_a_failed_step_to_other_ranks) {
  graph const fragile = graph::build([](builder& b) {
    return b.input({1, 8, 8}) | brittle{} | synchronised_batch_norm{} | dense{.units = 3}
           | softmax_cross_entropy{};
  });
  bright_thirds examples(24);
  examples.pixels[64 * 13] = 1000;
  std::atomic<int> ended = 0;
  std::string heard;
  EXPECT_THROW(launch<threads>(2, {.deadline = std::chrono::seconds(60)},
                               [&](communicator& world) {
                                 training made = trainer<wide>(fragile, world, allreduce{}, with(1));
                                 try {
                                   made.fit(examples.data(), {.batch = 12, .shuffle = false});
                                 } catch (communicator_error const& e) {
                                   heard = e.what();
                                   ++ended;
                                   throw;
                                 } catch (error const&) {
                                   ++ended;
                                   throw;
                                 }
                               }),
               data_error);
  EXPECT_EQ(ended, 2);
  EXPECT_NE(heard.find("failed: it broke"), std::string::npos) << heard;
}

}  // namespace synchronised_batch_norm_test
