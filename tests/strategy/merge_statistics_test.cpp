// SPDX-License-Identifier: Apache-2.0
#include <cohort/backend/reference.hpp>
#include <cohort/layer/synchronised_batch_norm.hpp>
#include <cohort/strategy/merge_statistics.hpp>
#include "counting_communicator.hpp"
#include "merged_statistics_cases.hpp"

namespace merge_statistics_test {

using namespace merged_statistics;

TEST(merge_statistics, equals_a_merge_of_all_parts_in_f64) {
  merge_like_f64<reference<float>, batch_norm>({0, 1e3, 1e4, 1e6});
}

TEST(merge_statistics, weights_the_parts_of_masked_sequences_by_unmasked_steps) {
  count_unmasked_steps<reference<float>>();
}

TEST(merge_statistics, computes_statistics_of_the_whole_step_for_synchronised_norms) {
  for (double const offset : {1e3, 1e4, 1e5, 1e6}) {
    comparison<reference<float>, synchronised_batch_norm> all(offset);
    statistics const wanted = all.trained({});
    for (partition const& how : {partition{1, 3}, partition{4, 1}, partition{3, 2}, partition{2, 4}}) {
      SCOPED_TRACE(to_text(how, offset));
      statistics const got = all.trained(how);
      for (std::size_t c = 0; c < channels; ++c) {
        EXPECT_NEAR(got.variance[c], wanted.variance[c], 1e-5 * wanted.variance[c]) << c;
        EXPECT_NEAR(got.mean[c], wanted.mean[c], 1e-6 * wanted.mean[c]) << c;
      }
    }
  }
}

/// Three ranks whose running statistics have a mean of about 1e6: after a meeting, all have the statistics of
/// all examples.
TEST(merge_statistics, merges_running_statistics_of_strategies_that_average_parameters) {
  images const data(12, 1e6);
  constexpr int ranks = 3;
  std::vector<statistics> before(ranks), after(ranks);
  launch<threads>(ranks, [&](communicator& world) {
    auto const r = static_cast<std::size_t>(world.rank());
    training alone =
        trainer<reference<float>>(normed<batch_norm>(kept), make_self(), std::make_unique<no_exchange>(),
                                  {.optimizer = {sgd{.learning_rate = 0}}});
    alone.fit(data.data(4 * world.rank(), 4), {.batch = 4, .epochs = 1, .shuffle = false});
    before[r] = statistics_of(alone);
    training made =
        trainer<reference<float>>(normed<batch_norm>(kept), world, parameter_averaging{.every = 1},
                                  {.optimizer = {sgd{.learning_rate = 0}}});
    made.fit(data.data(0, 12), {.batch = 4, .epochs = 1, .shuffle = false});
    after[r] = statistics_of(made);
  });
  for (std::size_t c = 0; c < channels; ++c) {
    double mean = 0, variance = 0;
    for (statistics const& one : before) mean += one.mean[c] / ranks;
    for (statistics const& one : before)
      variance += (one.variance[c] + (one.mean[c] - mean) * (one.mean[c] - mean)) / ranks;
    for (statistics const& one : after) {
      EXPECT_FLOAT_EQ(static_cast<float>(one.mean[c]), static_cast<float>(mean)) << c;
      EXPECT_NEAR(one.variance[c], variance, 1e-5 * variance) << c;
    }
  }
}

/// Records the start of the last allreduce in f64.
struct recorded_starts final : cohort_test::counting_communicator {
  recorded_starts(communicator& real, std::chrono::steady_clock::time_point& start)
      : counting_communicator(real), world(real), last(start) {}
  communicator& world;
  std::chrono::steady_clock::time_point& last;
  std::unique_ptr<communicator> duplicate() override {
    return std::make_unique<recorded_starts>(world, last);
  }
  pending_operation start_allreduce(elements data, reduction how) override {
    if (data.type == element_type::f64) last = std::chrono::steady_clock::now();
    return counting_communicator::start_allreduce(data, how);
  }
};

TEST(merge_statistics, is_included_in_the_measured_exchange_of_allreduce) {
  launch<threads>(2, [](communicator& world) {
    std::unique_ptr<communicator> const own = world.duplicate();
    std::chrono::steady_clock::time_point last{};
    recorded_starts recorded(*own, last);
    std::unique_ptr<strategy> exchange = allreduce{}.on(recorded);
    strategy const& measured = *exchange;
    images const data(8, 1);
    training made = trainer<reference<float>>(normed<batch_norm>(kept), world, std::move(exchange));
    made.fit(data.data(0, 8), {.batch = 4, .epochs = 1});
    EXPECT_EQ(made.parameters().buckets().size(), 1U) << "it ends before the merge";
    EXPECT_GT(measured.last_exchange().transfer.end, last);
    auto const elements = static_cast<double>(made.parameters().buckets()[0].elements);
    double const expected = elements * sizeof(float) + (2 * channels + 1) * sizeof(double);
    std::vector<measurement> const report = measured.report();
    for (std::string_view const name : {"message_bytes", "dense_bytes"})
      EXPECT_EQ(std::ranges::find(report, name, &measurement::name)->value, expected) << name;
  });
}

TEST(merge_statistics, excludes_ranks_without_examples) {
  launch<threads>(3, [](communicator& world) {
    auto const store =
        std::make_shared<parameter_store<reference<double>>>(reference<double>{}, normed<batch_norm>(kept));
    batch_statistics mine(*store, 1);
    ASSERT_EQ(mine.channels(), std::size_t{channels});
    std::vector<batch_statistics::moments> all(channels);
    if (world.rank() == 1) std::fill(all.begin(), all.end(), batch_statistics::moments{3, 1e6, 2});
    mine.write(all);
    merge_statistics(world, mine);
    mine.read(all);
    for (batch_statistics::moments const& one : all) {
      EXPECT_EQ(one.weight, 3);
      EXPECT_EQ(one.mean, 1e6);
      EXPECT_EQ(one.variance, 2);
    }
  });
}

}  // namespace merge_statistics_test
