// SPDX-License-Identifier: Apache-2.0
#include "../plan/counted_new.hpp"

#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/training/trainer.hpp>

#include <string>
#include <vector>

namespace run_memory_test {

using namespace cohort;

/// No arena is large enough for huge pages, whose alignment would count too.
graph net() {
  return graph::build([](builder& b) {
    return b.input({1, 16, 16}) | conv2d{.filters = 4, .kernel = 3, .padding = 1} | batch_norm{} | gelu{}
           | dense{.units = 256} | relu{} | dropout{} | dense{.units = 300} | relu{} | dense{.units = 10}
           | softmax_cross_entropy{};
  });
}

struct examples {
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;

  examples() {
    random_stream const chance(1, "examples");
    for (std::uint64_t i = 0; i < 128 * 256; ++i) pixels.push_back(chance.uniform01(i));
    for (std::int32_t i = 0; i < 128; ++i) labels.push_back(i % 10);
  }
  dataset data() const {
    return arrays(std::span<float const>(pixels), {1, 16, 16}, std::span<std::int32_t const>(labels), 10);
  }
};

/// Largest memory while a network is created and trained for some steps, relative to the forecast.
template <class B>
double held_over_forecast(training_settings const& settings, fit_settings const& how) {
  examples const some;
  dataset const data = some.data();
  graph const described = net();
  held_bytes = most_bytes = 0;
  counting = true;
  double wanted = 0;
  {
    training made = trainer<B>(described, settings);
    wanted = static_cast<double>(made.memory_of(data, how).total());
    made.fit(data, how);
  }
  counting = false;
  EXPECT_EQ(held_bytes, 0) << "all was given back";
  return static_cast<double>(most_bytes) / wanted;
}

class run_memory_forecast : public testing::Test {
 protected:
  void SetUp() override {
    if (!counts_allocations) GTEST_SKIP() << "the sanitizer has its own operator new";
  }
};

TEST_F(run_memory_forecast, is_within_5_percent_of_the_training_memory) {
  fit_settings const plain{.batch = 64}, in_pieces{.batch = 64, .prefetch = 2, .accumulate = 2};
  for (bool const cheap : {false, true})
    for (int const workers : {1, 2}) {
      SCOPED_TRACE(std::to_string(workers) + (cheap ? " workers, recomputation" : " workers"));
      training_settings const settings{
          .optimizer = {adam{.learning_rate = 1e-3}}, .workers = workers, .recompute = {.cheap = cheap}};
      EXPECT_NEAR(held_over_forecast<reference<float>>(settings, plain), 1, 0.05);
      EXPECT_NEAR(held_over_forecast<reference<float>>(settings, in_pieces), 1, 0.05);
    }
  EXPECT_NEAR(held_over_forecast<reference<double>>({.optimizer = {momentum{}}}, plain), 1, 0.05)
      << "batches in another element type";
}

TEST_F(run_memory_forecast, includes_the_memory_of_a_strategy) {
  examples const some;
  launch<threads>(2, [&](communicator& world) {
    dataset const data = some.data();
    auto const exchange = [&](auto const& how) {
      training made = trainer<reference<float>>(net(), world, how, {.optimizer = {momentum{}}});
      return made.memory_of(data, {}).exchange;
    };
    training const one = trainer<reference<float>>(net());
    auto const elements = static_cast<std::size_t>(one.parameters().elements());
    EXPECT_LT(exchange(allreduce{}), elements) << "gradients are summed where they lie, but for few";
    EXPECT_EQ(exchange(allreduce{.wire = element_type::bf16}), 10 * elements);
    EXPECT_EQ(exchange(parameter_averaging{}), 3 * 4 * elements);
    EXPECT_EQ(exchange(parameter_averaging{.average_optimizer_state = false, .overlap = true}),
              4 * 4 * elements);
  });
}

TEST_F(run_memory_forecast, includes_the_average_and_the_parameters_of_predictions) {
  examples const some;
  training made = trainer<reference<float>>(net(), {.optimizer = {sgd{}}, .average_decay = 0.9});
  run_memory const all = made.memory_of(some.data());
  std::size_t const arena = made.parameters().arena_bytes();
  EXPECT_EQ(all.parameters, 2 * arena);
  EXPECT_EQ(all.optimizer_state, arena);
  auto const limited = [](std::size_t most) {
    trainer<reference<float>>(net(), {.optimizer = {sgd{}}, .average_decay = 0.9, .max_bytes = most});
  };
  EXPECT_NO_THROW(limited(4 * arena)) << "parameters, average, parameters of predictions, gradients";
  EXPECT_THROW(limited(4 * arena - 1), memory_error);
}

TEST_F(run_memory_forecast, equals_the_sum_of_its_parts) {
  examples const some;
  training made = trainer<reference<float>>(net(), {.optimizer = {adam{}}, .workers = 2});
  run_memory const all = made.memory_of(some.data(), {.batch = 64, .accumulate = 2});
  std::size_t const arena = made.parameters().arena_bytes();
  EXPECT_EQ(all.parameters, arena);
  EXPECT_EQ(all.optimizer_state, 2 * arena);
  EXPECT_EQ(all.gradients, 2 * arena);
  EXPECT_EQ(all.batches, 64 * (256 * sizeof(float) + sizeof(std::int32_t)));
  EXPECT_EQ(all.staging, 0U);
  EXPECT_EQ(all.exchange, 0U);
  EXPECT_EQ(all.total(), all.parameters + all.optimizer_state + all.working_copies + all.gradients
                             + all.activations + all.accumulation + all.batches);
  std::string const text = text_of(all, 2, 2);
  for (char const* part : {"memory: parameters ", ", batches 65.8 kB; each of 2 workers: gradients ",
                           " (one of 2 micro-batches), gradient accumulation ", "; total "})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_NE(text_of(all, 1, 1).find(", batches 65.8 kB; gradients "), std::string::npos)
      << text_of(all, 1, 1);
}

}  // namespace run_memory_test
