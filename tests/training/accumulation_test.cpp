// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <chrono>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/weighted_by_class.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/trainer.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include "../strategy/rank_cases.hpp"

namespace accumulation_test {

using namespace cohort_test;

constexpr auto with_masks = network<[](builder& net) {
  return net.input({1, 8, 8}) | conv2d{.filters = 3, .kernel = 3} | relu{} | max_pool{.window = 2}
         | dropout{.rate = 0.3} | dense{.units = 6} | relu{} | dense{.units = 3} | softmax_cross_entropy{};
}>();

training_settings with(int workers) {
  return {.optimizer = {.rule = nesterov{.learning_rate = 0.05, .momentum = 0.9}, .l2 = 1e-3},
          .workers = workers};
}

std::vector<double> trained(dataset const& data, int workers, int pieces, graph net = with_masks) {
  training made = trainer<wide>(std::move(net), with(workers));
  made.fit(data, {.batch = 10, .epochs = 2, .accumulate = pieces});
  EXPECT_EQ(made.step(), 2 * ((data.size() + 9) / 10));
  return parameters_of(made);
}

TEST(accumulation, equals_the_whole_batch_up_to_rounding) {
  bright_thirds const examples(57);  // the last batch has 7 examples, so micro-batches are unequal or empty
  dataset const plain = examples.data();
  dataset const weighted = weighted_by_class(arrays(std::span<float const>(examples.pixels), {1, 8, 8},
                                                    std::span<std::int32_t const>(examples.labels), 3),
                                             {0.5F, 2, 1.25F});
  for (dataset const& data : {plain, weighted}) {
    std::vector<double> const whole = trained(data, 1, 1);
    for (int workers : {1, 2, 3})
      for (int pieces : {2, 4, 10})
        EXPECT_LT(largest_difference(trained(data, workers, pieces), whole), 1e-12)
            << workers << ' ' << pieces;
  }
  EXPECT_GT(largest_difference(trained(weighted, 1, 4), trained(plain, 1, 4)), 1e-3);
}

TEST(accumulation, computes_running_statistics_of_the_whole_batch) {
  constexpr auto normalised = network<[](builder& net) {
    return net.input({1, 8, 8}) | batch_norm{} | dense{.units = 3} | softmax_cross_entropy{};
  }>();
  bright_thirds const examples(10);
  auto const statistics = [&](int pieces) {
    training made = trainer<wide>(normalised, with(1));
    made.fit(examples.data(), {.batch = 10, .accumulate = pieces});
    std::vector<double> const all = parameters_of(made);
    std::vector<double> kept;
    for (parameter const& one : made.parameters().table())
      if (!is_trained(one.spec.role)) kept.push_back(all[static_cast<std::size_t>(one.first)]);
    return kept;
  };
  ASSERT_EQ(statistics(1).size(), 2U);
  EXPECT_LT(largest_difference(statistics(4), statistics(1)), 1e-14);
  EXPECT_GT(largest_difference(statistics(1), {0, 1}), 1e-3);
}

TEST(accumulation, agrees_across_ranks_with_different_numbers_of_workers) {
  bright_thirds const examples(57);
  auto const together = [&](int pieces) {
    std::vector<double> found;
    std::vector<std::string> sums(2);
    launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
      training made = trainer<wide>(with_masks, world, allreduce{}, with(1 + world.rank()));
      made.fit(examples.data(), {.batch = 8, .accumulate = pieces});
      sums[static_cast<std::size_t>(world.rank())] = made.checksum();
      if (world.rank() == 0) found = parameters_of(made);
    });
    EXPECT_EQ(sums[0], sums[1]);
    return found;
  };
  std::vector<double> const whole = together(1);
  EXPECT_LT(largest_difference(together(4), whole), 1e-12);
  EXPECT_LT(largest_difference(together(3), whole), 1e-12);
}

TEST(accumulation, is_refused_if_ranks_use_different_numbers_of_micro_batches) {
  bright_thirds const examples(57);
  launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    training made = trainer<wide>(with_masks, world, allreduce{}, with(1));
    EXPECT_THROW(made.fit(examples.data(), {.batch = 8, .accumulate = 3 - 2 * world.rank()}), setting_error);
  });
}

/// Packs each bucket when it is announced, and packs all buckets again at the end.
struct packing final : strategy {
  std::vector<std::vector<double>> packed;
  std::span<bucket const> buckets;
  int announced = 0, changed = 0;
  void begin(step_info const&, replica const& mine) override {
    buckets = mine.parameters.buckets();
    packed.resize(buckets.size());
  }
  static std::vector<double> gradient(bucket const& of, gradient_parts& from) {
    std::vector<double> dense(static_cast<std::size_t>(of.elements));
    from.pack(of, reinterpret_cast<std::byte*>(dense.data()));
    return dense;
  }
  void ready(step_info const&, bucket const& one, gradient_parts& from) override {
    packed[static_cast<std::size_t>(one.index)] = gradient(one, from);
    ++announced;
  }
  bool before_update(step_info const&, gradient_parts& from) override {
    for (bucket const& one : buckets)
      changed += gradient(one, from) != packed[static_cast<std::size_t>(one.index)];
    return true;
  }
};

TEST(accumulation, passes_each_bucket_to_the_strategy_once_after_all_micro_batches) {
  bright_thirds const examples(20);
  for (int workers : {1, 2}) {
    auto owned = std::make_unique<packing>();
    packing const& seen = *owned;
    training made = trainer<wide>(with_masks, with(workers), std::move(owned));
    made.fit(examples.data(), {.batch = 10, .accumulate = 3});
    EXPECT_EQ(seen.announced, 2 * static_cast<int>(made.parameters().buckets().size()));
    EXPECT_EQ(seen.changed, 0);
  }
}

TEST(accumulation, needs_the_memory_of_one_micro_batch_and_reports_it) {
  bright_thirds const examples(64);
  std::vector<std::string> said;
  training_settings settings = with(1);
  settings.log = [&](std::string_view line) { said.emplace_back(line); };
  training const whole = trainer<wide>(with_masks, with(1));
  std::size_t const parameters = whole.parameters().arena_bytes();
  settings.max_bytes = 4 * parameters + 64 * 1024;
  training made = trainer<wide>(with_masks, settings);
  EXPECT_THROW(made.fit(examples.data(), {.batch = 64}), memory_error);
  said.clear();
  EXPECT_EQ(made.fit(examples.data(), {.batch = 64, .accumulate = 16}).steps, 1);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find(" (one of 16 micro-batches), gradient accumulation "), std::string::npos) << said[0];
}

/// Records the number of examples of each step.
struct listening final : listener {
  std::vector<int> examples;
  void on_step(training&, step_report const& done) override { examples.push_back(done.examples); }
};

TEST(accumulation, notifies_listeners_once_per_update) {
  bright_thirds const examples(25);
  listening told;
  trainer<wide>(with_masks, with(2))
      .fit(examples.data(), {.batch = 10, .accumulate = 4, .listeners = {&told}});
  EXPECT_EQ(told.examples, (std::vector<int>{10, 10, 5}));
}

TEST(accumulation, stops_without_an_update_if_a_micro_batch_is_not_finite) {
  for (int bad : {0, 9, 19}) {
    bright_thirds examples(20);
    dataset const data = examples.data();  // checked at construction; modified afterwards
    examples.pixels[static_cast<std::size_t>(64 * bad + 5)] = std::numeric_limits<float>::quiet_NaN();
    training_settings settings = with(1);
    training made = trainer<wide>(with_masks, settings);
    std::string const before = made.checksum();
    try {
      made.fit(data, {.batch = 20, .shuffle = false, .accumulate = 4});
      FAIL() << "NaN went unnoticed in example " << bad;
    } catch (numeric_error const& why) {
      EXPECT_NE(std::string(why.what()).find("the input"), std::string::npos) << why.what();
    }
    EXPECT_EQ(made.checksum(), before);
  }
}

TEST(accumulation, refuses_invalid_numbers_of_micro_batches) {
  bright_thirds const examples(20);
  training made = trainer<wide>(with_masks, with(1));
  for (int pieces : {-1, 0, 11})
    EXPECT_THROW(made.fit(examples.data(), {.batch = 10, .accumulate = pieces}), setting_error) << pieces;
}

}  // namespace accumulation_test
