// SPDX-License-Identifier: Apache-2.0
// uses: onednn
// covers: training/trainer
#include <cohort/backend/reference.hpp>
#include <cohort/checkpoint/matching_layers.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/evaluation/regression.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/trainer.hpp>
#if __has_include(<cohort/onednn.hpp>)
#include <cohort/onednn.hpp>
#endif
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"
#include "bright_thirds.hpp"
#include "parameters_of.hpp"

namespace training_test {

using namespace cohort;
using cohort_test::bright_thirds;
using cohort_test::parameters_of;
using cohort_test::small;

#if __has_include(<cohort/onednn.hpp>)
using fast = onednn;
#else
using fast = reference<float>;
#endif

training_settings with(int workers, std::uint64_t seed = 7) {
  return {.optimizer = {.rule = nesterov{.learning_rate = 0.05, .momentum = 0.9}, .l2 = 1e-4},
          .seed = seed,
          .workers = workers};
}

template <class B>
std::string trained(training_settings settings, graph net = small, int epochs = 2) {
  bright_thirds const examples(103);
  training made = trainer<B>(net, settings);
  made.fit(examples.data(), {.batch = 10, .epochs = epochs});
  return made.checksum();
}

template <class B>
class training_on : public testing::Test {};
using backends = testing::Types<reference<float>, reference<double>, fast>;
TYPED_TEST_SUITE(training_on, backends);

TYPED_TEST(training_on, reaches_an_accuracy_of_95_percent) {
  bright_thirds const examples(300), held(90, 2);
  training made = trainer<TypeParam>(small, with(2));
  EXPECT_LT(made.evaluate(held.data()).accuracy().value(), 0.8);
  fit_report const report = made.fit(examples.data(), {.batch = 16, .epochs = 5});
  EXPECT_EQ(report.steps, 5 * 19);
  EXPECT_EQ(report.examples, 5 * 300);
  classification_report const seen = made.evaluate(held.data(), {.batch = 32});
  EXPECT_EQ(seen.examples(), 90);
  EXPECT_GT(seen.accuracy().value(), 0.95);
}

TYPED_TEST(training_on, accepts_targets_of_one_number_as_scalar_or_row) {
  static constexpr auto plane =
      network<[](builder& net) { return net.input({2}) | dense{.units = 1} | mean_squared_error{}; }>();
  random_stream const noise(1, "plane");
  std::vector<float> x, y;
  for (std::uint64_t n = 0; n < 40; ++n) {
    x.insert(x.end(), {noise.uniform01(2 * n), noise.uniform01(2 * n + 1)});
    y.push_back(2 * x[2 * n] - x[2 * n + 1]);
  }
  auto const results = [&](shape const& targets) {
    arrays const data({array_view{.values = {x.data(), {40, 2}}}},
                      {array_view{.name = "y", .values = {y.data(), targets}}});
    training run = trainer<TypeParam>(plane, with(2));
    run.fit(data, {.batch = 8, .epochs = 40});
    regression_report seen;
    run.evaluate(data, {&seen});
    EXPECT_GT(seen.r2().value(), 0.99);
    return run.checksum();
  };
  EXPECT_EQ(results({40}), results({40, 1}));
}

TYPED_TEST(training_on, is_deterministic_for_a_seed_and_number_of_workers) {
  for (int workers : {1, 2, 3})
    EXPECT_EQ(trained<TypeParam>(with(workers)), trained<TypeParam>(with(workers))) << workers;
  EXPECT_NE(trained<TypeParam>(with(2, 7)), trained<TypeParam>(with(2, 8)));
}

TEST(training, agrees_with_one_worker_for_any_number_of_workers) {
  bright_thirds const examples(103);
  std::vector<std::vector<double>> parameters;
  for (int workers : {1, 2, 3, 11}) {  // 11: more workers than examples in a batch
    training made = trainer<reference<double>>(small, with(workers));
    made.fit(examples.data(), {.batch = 10, .epochs = 1});
    parameters.push_back(parameters_of(made));
  }
  for (auto const& other : parameters)
    for (std::size_t i = 0; i < other.size(); ++i) ASSERT_NEAR(other[i], parameters[0][i], 1e-12) << i;
}

TEST(training, clips_the_global_norm_over_all_workers) {
  bright_thirds const examples(103);
  auto const parameters = [&](int workers, gradient_normalisation const& how, optimizer_rule const& rule) {
    training_settings settings = with(workers);
    settings.optimizer.normalisation = how;
    settings.optimizer.rule = rule;
    training made = trainer<reference<double>>(small, settings);
    made.fit(examples.data(), {.batch = 10, .epochs = 1});
    return parameters_of(made);
  };
  for (optimizer_rule const& rule : {optimizer_rule(sgd{}), optimizer_rule(lars{.trust = 0.1}),
                                     optimizer_rule(lamb{.learning_rate = 0.01})}) {
    auto const free = parameters(1, {}, rule);
    auto const one = parameters(1, normalise::clip_global_norm{0.2}, rule);
    EXPECT_NE(one, free);
    EXPECT_EQ(parameters(1, normalise::clip_global_norm{1e9}, rule), free);
    for (int workers : {2, 3, 11}) {
      auto const many = parameters(workers, normalise::clip_global_norm{0.2}, rule);
      for (std::size_t i = 0; i < many.size(); ++i)
        ASSERT_NEAR(many[i], one[i], 1e-12) << workers << ' ' << i;
    }
  }
}

TEST(training, agrees_between_backends_up_to_rounding) {
  bright_thirds const examples(64);
  auto const wide = [&](auto tag) {
    using B = typename decltype(tag)::type;
    training made = trainer<B>(small, with(2));
    made.fit(examples.data(), {.batch = 16, .epochs = 1});
    return made.predict(tensor_view(examples.pixels.data(), shape{64, 1, 8, 8})).values;
  };
  auto const oracle = wide(std::type_identity<reference<double>>{}), other = wide(std::type_identity<fast>{});
  ASSERT_EQ(oracle.size(), other.size());
  for (std::size_t i = 0; i < oracle.size(); ++i)
    EXPECT_NEAR(oracle[i], other[i], 1e-4) << i;  // 4 steps in f32
}

TEST(training, uses_current_weights_for_a_later_batch_size) {
  // Of 33 examples, the last batch has 1. Its plan is made after the first step, and its layouts may differ.
  constexpr auto wide = network<[](builder& net) {
    return net.input({64}) | dense{.units = 256} | relu{} | dense{.units = 256} | relu{} | dense{.units = 3}
           | softmax_cross_entropy{};
  }>();
  bright_thirds const examples(33);
  dataset const data = arrays(std::span<float const>(examples.pixels), shape{64},
                              std::span<std::int32_t const>(examples.labels), 3);
  auto const after_an_epoch = [&](auto tag) {
    training made = trainer<typename decltype(tag)::type>(wide, with(1));
    made.fit(data, {.batch = 32, .epochs = 3});
    return made.predict(tensor_view(examples.pixels.data(), shape{33, 64})).values;
  };
  auto const oracle = after_an_epoch(std::type_identity<reference<double>>{});
  auto const other = after_an_epoch(std::type_identity<fast>{});
  for (std::size_t i = 0; i < oracle.size(); ++i)
    ASSERT_NEAR(oracle[i], other[i], 1e-4) << i;  // 6 steps in f32
}

/// Halves every parameter before each step. The step must use the parameters that the strategy writes.
struct halving final : strategy {
  void begin(step_info const&, replica const& mine) override {
    parameter_set& all = mine.parameters;
    std::vector<std::byte> dense(static_cast<std::size_t>(all.elements()) * bytes_of(all.type()));
    all.read_all(all.master(), dense.data());
    auto const halve = [&]<class T>(T* values) {
      for (std::int64_t i = 0; i < all.elements(); ++i) values[i] /= 2;
    };
    all.type() == element_type::f64 ? halve(reinterpret_cast<double*>(dense.data()))
                                    : halve(reinterpret_cast<float*>(dense.data()));
    all.write_all(dense.data(), all.master());
  }
};

TEST(training, uses_the_parameters_written_by_a_strategy) {
  bright_thirds const examples(30);
  auto const trained_by_halving = [&](auto tag) {
    training made = trainer<typename decltype(tag)::type>(small, with(2), std::make_unique<halving>());
    made.fit(examples.data(), {.batch = 10, .epochs = 1});
    return made.predict(tensor_view(examples.pixels.data(), shape{30, 1, 8, 8})).values;
  };
  auto const oracle = trained_by_halving(std::type_identity<reference<double>>{});
  auto const other = trained_by_halving(std::type_identity<fast>{});
  for (std::size_t i = 0; i < oracle.size(); ++i) ASSERT_NEAR(oracle[i], other[i], 1e-5) << i;
}

TEST(training, reports_the_calls_of_all_ranks_if_only_rank_0_saves) {
  scratch_folder const folder;
  bright_thirds const examples(20);
  std::vector<std::string> refused(2);
  launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
    training made = trainer<reference<float>>(small, world, allreduce{});
    refused[static_cast<std::size_t>(world.rank())] = refusal_of<setting_error>([&] {
      if (world.rank() == 0) made.save(folder / "model");
      made.evaluate(examples.data());
    });
  });
  std::string const problem = "the ranks are in different collective calls (";
  std::string const reason =
      "): expected all ranks call the same function, in the same order, even if only rank 0 writes a file, "
      "got "
      "save on rank 0; evaluate on rank 1";
  EXPECT_EQ(refused, (std::vector{problem + "save" + reason, problem + "evaluate" + reason}));
}

TEST(training, resumes_bitwise_from_a_saved_state) {
  bright_thirds const examples(103);
  std::string const path = testing::TempDir() + "training_goes_on.safetensors";
  training whole = trainer<fast>(small, with(2));
  whole.fit(examples.data(), {.batch = 10, .epochs = 3});

  training first = trainer<fast>(small, with(2));
  first.fit(examples.data(), {.batch = 10, .epochs = 1});
  first.save(path, true);
  training second = trainer<fast>(small, with(2, 7));
  second.load(path);
  EXPECT_EQ(second.step(), 11);
  EXPECT_EQ(second.epoch(), 1);
  second.fit(examples.data(), {.batch = 10, .epochs = 2});
  EXPECT_EQ(second.checksum(), whole.checksum());
}

TEST(training, keeps_its_parameters_if_a_model_does_not_match) {
  std::string const path = testing::TempDir() + "training_other.safetensors";
  auto const other = graph::build([](builder& net) {
    return net.input({1, 8, 8}) | dense{.units = 5} | relu{} | dense{.units = 3} | softmax_cross_entropy{};
  });
  trainer<fast>(other, with(1)).save(path);
  training made = trainer<fast>(small, with(1));
  std::string const before = made.checksum();
  EXPECT_THROW(made.load(path), data_error);
  EXPECT_EQ(made.checksum(), before);
}

/// Records the calls of a strategy's hooks.
struct recorder final : strategy {
  std::vector<std::string>& told;
  explicit recorder(std::vector<std::string>& to) : told(to) {}
  void begin(step_info const& now, replica const&) override {
    told.push_back("begin " + std::to_string(now.step));
  }
  void ready(step_info const&, bucket const& b, gradient_parts&) override {
    told.push_back("ready " + std::to_string(b.index));
  }
  bool before_update(step_info const&, gradient_parts&) override {
    told.push_back("before_update");
    return true;
  }
  void after_update(step_info const&, replica const&, bool updated) override {
    told.push_back(updated ? "after_update" : "no update");
  }
  void end_of_epoch(step_info const& now, replica const&) override {
    told.push_back("end " + std::to_string(now.epoch));
  }
};

/// A layer without parameters that records when its backward runs.
std::vector<std::string>* heard = nullptr;
struct listening {
  static constexpr std::string_view kind_name = "listening";
  std::string_view name{};
  source_line at = source_line::here();
  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    std::copy_n(a.inputs[0], a.batch * a.output_shape.elements(), a.output);
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    if (heard) heard->push_back("backward");
    if (a.diff_inputs[0]) std::copy_n(a.diff_output, a.batch * a.output_shape.elements(), a.diff_inputs[0]);
  }
};

TEST(training, passes_buckets_to_the_strategy_before_backward_of_lower_layers) {
  constexpr auto wide = network<[](builder& net) {  // the last layer alone fills the first bucket of 64 kB
    return net.input({1, 8, 8}) | conv2d{.filters = 2, .kernel = 3} | listening{} | dense{.units = 5000}
           | dense{.units = 3} | softmax_cross_entropy{};
  }>();
  std::vector<std::string> told;
  heard = &told;
  training made = trainer<reference<float>>(wide, with(1), std::make_unique<recorder>(told));
  bright_thirds const examples(4);
  made.fit(examples.data(), {.batch = 4, .epochs = 1});
  heard = nullptr;
  ASSERT_GT(made.parameters().buckets().size(), 1U);
  EXPECT_EQ(told, (std::vector<std::string>{"begin 0", "ready 0", "backward", "ready 1", "before_update",
                                            "after_update", "end 0"}));
}

/// Exchanges with itself: packs every bucket and, on request, unpacks it.
struct mirror final : strategy {
  explicit mirror(bool returning) : returns(returning) {}
  bool returns;
  std::vector<std::vector<float>> packed;
  std::span<bucket const> buckets;
  void begin(step_info const&, replica const& mine) override {
    buckets = mine.parameters.buckets();
    packed.resize(buckets.size());
  }
  void ready(step_info const&, bucket const& b, gradient_parts& parts) override {
    auto& to = packed[static_cast<std::size_t>(b.index)];
    to.resize(static_cast<std::size_t>(b.elements));
    parts.pack(b, reinterpret_cast<std::byte*>(to.data()));
  }
  bool before_update(step_info const&, gradient_parts& parts) override {
    for (bucket const& b : buckets)
      if (returns)
        parts.unpack(b, reinterpret_cast<std::byte const*>(packed[static_cast<std::size_t>(b.index)].data()));
    return true;
  }
};

TEST(training, passes_the_packed_sum_of_worker_gradients_to_a_strategy) {
  bright_thirds const examples(40);
  for (int workers : {1, 3}) {
    training plain = trainer<fast>(small, with(workers));
    plain.fit(examples.data(), {.batch = 10, .epochs = 1});
    for (bool returns : {true, false}) {
      training exchanged = trainer<fast>(small, with(workers), std::make_unique<mirror>(returns));
      exchanged.fit(examples.data(), {.batch = 10, .epochs = 1});
      EXPECT_EQ(exchanged.checksum(), plain.checksum()) << workers << " workers, returns " << returns;
    }
  }
}

TEST(training, stops_a_diverging_run_and_reports_step_and_layer) {
  bright_thirds const examples(60);
  training made = trainer<fast>(small, {.optimizer = {sgd{.learning_rate = 1e30}}, .seed = 7, .workers = 2});
  try {
    made.fit(examples.data(), {.batch = 10, .epochs = 3});
    FAIL() << "a rate of 1e30 went unnoticed";
  } catch (numeric_error const& why) {
    std::string const text = why.what();
    EXPECT_NE(text.find("step "), std::string::npos) << text;
    EXPECT_NE(text.find("first in "), std::string::npos) << text;
  }
}

TEST(training, reports_an_input_that_is_not_finite) {
  bright_thirds examples(20);
  training made = trainer<fast>(small, with(2));
  dataset const data = examples.data();  // checked at construction; modified afterwards
  examples.pixels[64 * 13 + 5] = std::numeric_limits<float>::quiet_NaN();
  std::string const before = made.checksum();
  try {
    made.fit(data, {.batch = 20, .epochs = 1});
    FAIL() << "NaN went unnoticed";
  } catch (numeric_error const& why) {
    EXPECT_NE(std::string(why.what()).find("the input"), std::string::npos) << why.what();
  }
  EXPECT_EQ(made.checksum(), before);
}

TEST(training, refuses_invalid_settings) {
  bright_thirds const examples(20);
  training made = trainer<fast>(small, with(1));
  EXPECT_THROW(made.fit(examples.data(), {.batch = 0}), setting_error);
  EXPECT_THROW(made.fit(examples.data(), {.epochs = -1}), setting_error);
  EXPECT_THROW(trainer<fast>(small, {.workers = 0}), setting_error);
  EXPECT_THROW(trainer<fast>(small, {.optimizer = {adagrad{.learning_rate = 0.1, .epsilon = 0}}}),
               setting_error);
}

TEST(training, refuses_data_of_another_shape_or_with_more_classes) {
  training made = trainer<fast>(small, with(1));
  std::vector<float> const pixels(4 * 49);
  std::vector<std::int32_t> const labels{0, 1, 2, 0}, many{0, 1, 2, 4};
  EXPECT_THROW(made.fit(arrays(std::span<float const>(pixels), shape{1, 7, 7},
                               std::span<std::int32_t const>(labels), 3)),
               shape_error);
  std::vector<float> const right(4 * 64);
  EXPECT_THROW(
      made.fit(arrays(std::span<float const>(right), shape{1, 8, 8}, std::span<std::int32_t const>(many), 5)),
      shape_error);
}

TEST(training, refuses_to_train_or_evaluate_without_a_loss) {
  auto const net = graph::build([](builder& b) { return b.input({1, 8, 8}) | dense{.units = 3}; });
  training made = trainer<fast>(net, with(1));
  bright_thirds const examples(4);
  EXPECT_THROW(made.fit(examples.data()), graph_error);
  EXPECT_THROW(made.evaluate(examples.data()), error);
  std::vector<float> const pixels(4 * 64), real(4);
  dataset const regression(
      arrays({{.name = "input", .values = tensor_view(pixels.data(), shape{4, 1, 8, 8})}},
             {{.name = "target", .values = tensor_view(real.data(), shape{4})}}));
  EXPECT_THROW(trainer<fast>(small, with(1)).evaluate(regression), shape_error);
  EXPECT_EQ(made.predict(tensor_view(examples.pixels.data(), shape{4, 1, 8, 8})).count(), 4);
}

TEST(training, notifies_a_strategy_of_a_skipped_step) {
  bright_thirds examples(20);
  dataset const data = examples.data();
  examples.pixels[7] = std::numeric_limits<float>::infinity();
  std::vector<std::string> told;
  training made = trainer<fast>(small, with(2), std::make_unique<recorder>(told));
  EXPECT_THROW(made.fit(data, {.batch = 20}), numeric_error);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back(), "no update");
}

TEST(training, skips_non_finite_steps_on_request) {
  bright_thirds examples(20);
  dataset const data = examples.data();
  examples.pixels[7] = std::numeric_limits<float>::infinity();
  training made = trainer<fast>(small, {.seed = 7, .workers = 2, .not_finite = when_not_finite::skip});
  std::string const before = made.checksum();
  struct weightless final : listener {
    void on_step(training&, step_report const& done) override { EXPECT_EQ(done.weight, 0); }
  } each;
  fit_report const report = made.fit(data, {.batch = 20, .epochs = 3, .listeners = {&each}});
  EXPECT_EQ(report.skipped, 3);
  EXPECT_EQ(made.checksum(), before);
}

TEST(training, notifies_a_strategy_of_a_step_that_throws) {
  struct throwing final : strategy {
    std::vector<std::string>& heard;
    explicit throwing(std::vector<std::string>& to) : heard(to) {}
    bool before_update(step_info const&, gradient_parts&) override { throw data_error({.what = "no"}); }
    void abandon(std::string_view why) noexcept override { heard.emplace_back(why); }
  };
  bright_thirds const examples(20);
  std::vector<std::string> heard;
  training made = trainer<fast>(small, with(2), std::make_unique<throwing>(heard));
  EXPECT_THROW(made.fit(examples.data(), {.batch = 20}), data_error);
  EXPECT_EQ(heard, std::vector<std::string>{"no"});
}

TEST(training, refuses_to_continue_an_epoch_on_a_smaller_data_set) {
  struct failing final : listener {
    void on_step(training&, step_report const& done) override {
      if (done.step == 2) throw data_error({.what = "no"});
    }
  } fails;
  bright_thirds const examples(40), fewer(20);
  training made = trainer<fast>(small, with(1));
  EXPECT_THROW(made.fit(examples.data(), {.batch = 10, .listeners = {&fails}}), data_error);
  EXPECT_EQ(
      refusal_of<setting_error>([&] { made.fit(fewer.data(), {.batch = 10}); }),
      "the interrupted epoch cannot continue on a smaller data set (fit, epoch 1): expected at least 30 "
      "examples, as many as were used before; or training::end_epoch, which ends the epoch, got 20");
  made.end_epoch();
  made.fit(fewer.data(), {.batch = 10});
  EXPECT_EQ(made.epoch(), 2);
}

TEST(training, refuses_parameters_that_exceed_the_allowed_memory) {
  EXPECT_THROW(trainer<fast>(small, {.max_bytes = 1000}), memory_error);
}

TEST(training, refuses_excess_memory_and_suggests_a_batch_that_fits) {
  bright_thirds const examples(20);
  training made = trainer<fast>(small, {.seed = 7, .workers = 2, .max_bytes = 60'000});
  try {
    made.fit(examples.data(), {.batch = 4000});
    FAIL() << "4000 examples went into 60 kB";
  } catch (memory_error const& why) {
    EXPECT_NE(std::string(why.what()).find("largest batch that fits"), std::string::npos) << why.what();
  }
}

TEST(training, predicts_any_number_of_examples_from_many_threads) {
  bright_thirds const examples(150);
  training made = trainer<fast>(small, with(1));
  made.fit(examples.data(), {.batch = 10, .epochs = 1});
  tensor_view const all(examples.pixels.data(), shape{150, 1, 8, 8});
  std::vector<float> const expected = made.predict(all).values;
  ASSERT_EQ(expected.size(), 450U);
  std::vector<predictions> found(4);
  {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int repeat = 0; repeat < 5; ++repeat)
          found[static_cast<std::size_t>(t)] = std::as_const(made).predict(all);
      });
    for (std::thread& one : threads) one.join();
  }
  for (predictions const& one : found) EXPECT_EQ(one.values, expected);
  for (int one : {0, 63, 64, 149}) {
    predictions const alone = made.predict(all.rows(one, 1));
    ASSERT_EQ(alone.count(), 1);
    for (int c = 0; c < 3; ++c)
      EXPECT_NEAR(alone.values[static_cast<std::size_t>(c)], expected[static_cast<std::size_t>(one * 3 + c)],
                  1e-5);
  }
  EXPECT_EQ(made.predict(all.rows(0, 0)).count(), 0);
}

TEST(training, predict_returns_each_output_with_its_key) {
  bright_thirds const examples(3);
  training const made = trainer<fast>(small, with(1));
  std::vector<std::string> const keys{"x", "y", "z"};
  tensor_view const input(examples.pixels.data(), shape{3, 1, 8, 8});
  auto const keyed = made.predict(keys, input);
  auto const plain = made.predict(input);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(keyed[static_cast<std::size_t>(i)].key, keys[static_cast<std::size_t>(i)]);
    EXPECT_TRUE(
        std::equal(plain[i].begin(), plain[i].end(), keyed[static_cast<std::size_t>(i)].values.begin()));
  }
  EXPECT_THROW(made.predict(std::span(keys).first(2), input), shape_error);
}

TEST(training, predict_accepts_keys_of_any_type) {
  bright_thirds const examples(3);
  training const made = trainer<fast>(small, with(1));
  std::vector<tensor_view> const inputs{{examples.pixels.data(), shape{3, 1, 8, 8}}};
  std::array<std::pair<int, char>, 3> const keys{{{7, 'a'}, {-1, 'b'}, {7, 'c'}}};
  auto const keyed = made.predict(keys, inputs);
  predictions const plain = made.predict(inputs);
  ASSERT_EQ(keyed.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(keyed[i].key, keys[i]);
    auto const values = plain[static_cast<int>(i)];
    EXPECT_EQ(keyed[i].values, std::vector<float>(values.begin(), values.end()));
  }
  int numbers[]{4, 5};
  EXPECT_THROW(made.predict(numbers, inputs), shape_error);
}

/// Records the calls of listeners.
struct counting final : listener {
  std::vector<std::int64_t> steps;
  std::int64_t epochs = 0;
  void on_step(training&, step_report const& r) override {
    steps.push_back(r.step);
    EXPECT_EQ(r.steps_in_epoch, 3);
    EXPECT_EQ(r.examples, r.step_in_epoch == 2 ? 5 : 10);
    EXPECT_EQ(r.weight, r.examples);
    EXPECT_TRUE(std::isfinite(r.loss));
  }
  void on_epoch(training& who, epoch_report const& r) override {
    EXPECT_EQ(r.examples, 25);
    EXPECT_EQ(who.epoch(), ++epochs);
    EXPECT_EQ(r.epochs, epochs <= 2 ? 2 : 3);
  }
};

TEST(training, notifies_listeners_of_every_step_and_epoch) {
  bright_thirds const examples(25);
  counting told;
  training made = trainer<fast>(small, with(2));
  made.fit(examples.data(), {.batch = 10, .epochs = 2, .listeners = {&told}});
  EXPECT_EQ(told.steps, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(told.epochs, 2);
  made.fit(examples.data(), {.batch = 10, .listeners = {&told}});
  EXPECT_EQ(told.epochs, 3);
}

TEST(training, excludes_the_bytes_of_evaluations_from_those_of_steps) {
  struct sent_bytes final : listener {
    explicit sent_bytes(dataset data) : data(std::move(data)) {}
    dataset data;
    bool evaluates = false;
    std::vector<std::uint64_t> all;
    void on_step(training& run, step_report const& done) override {
      all.push_back(done.bytes_sent);
      if (evaluates) run.evaluate(data);
    }
  };
  bright_thirds const examples(32);
  launch<threads>(2, [&](communicator& world) {
    auto const sent = [&](bool evaluates) {
      sent_bytes seen(examples.data());
      seen.evaluates = evaluates;
      training run = trainer<reference<float>>(small, world, allreduce{.resync = 0});
      run.fit(examples.data(),
              {.batch = 4,
               .epochs = 2,
               .validation = evaluates ? std::optional<dataset>(examples.data()) : std::nullopt,
               .listeners = {&seen}});
      return seen.all;
    };
    std::vector<std::uint64_t> const plain = sent(false);
    ASSERT_EQ(plain.size(), 8U);
    EXPECT_GT(plain[7], 0U);
    for (std::size_t step = 2; step < 8; ++step) EXPECT_EQ(plain[step], plain[1]) << step;
    EXPECT_EQ(sent(true), plain);
  });
}

TEST(training, receives_the_same_batches_for_any_prefetch_depth) {
  bright_thirds const examples(103);
  std::set<std::string> sums;
  for (int prefetch : {0, 1, 3}) {
    training made = trainer<fast>(small, with(1));
    made.fit(examples.data(), {.batch = 10, .epochs = 2, .prefetch = prefetch});
    sums.insert(made.checksum());
  }
  EXPECT_EQ(sums.size(), 1U);
}

TEST(training, receives_the_same_batches_from_any_number_of_readers) {
  struct one_by_one {
    bright_thirds examples{103};
    dataset data = examples.data();
    data_description const& describe() const { return data.describe(); }
    std::int64_t size() const { return data.size(); }
    void get(std::int64_t i, example_view& out) const { data.model().get(i, out); }
  };
  auto const examples = std::make_shared<one_by_one const>();
  std::set<std::string> sums;
  std::set<std::optional<double>> accuracies;
  for (int readers : {1, 2, 3})
    for (int prefetch : {0, 2}) {
      training made = trainer<fast>(small, with(1));
      made.fit(examples, {.batch = 10, .epochs = 2, .prefetch = prefetch, .readers = readers});
      sums.insert(made.checksum());
      accuracies.insert(made.evaluate(examples, {.batch = 20, .readers = readers}).accuracy());
    }
  EXPECT_EQ(sums.size(), 1U);
  EXPECT_EQ(accuracies.size(), 1U);
}

TEST(training, runs_concurrently_on_two_threads_with_equal_results) {
  bright_thirds const examples(103);
  std::string const alone = trained<fast>(with(2));
  std::string left, right;
  std::thread one([&] { left = trained<fast>(with(2)); }), other([&] { right = trained<fast>(with(2)); });
  one.join();
  other.join();
  EXPECT_EQ(left, alone);
  EXPECT_EQ(right, alone);
}

}  // namespace training_test
