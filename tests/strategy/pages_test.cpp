// SPDX-License-Identifier: Apache-2.0
// Programs of docs/, identical to the pages (checked by tests/docs_test.py), and the pages' claims about
// them.
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/codec/top_k_compressor.hpp>
#include <cohort/cohort.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/strategy/sharing_by.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <cohort/strategy/top_k_sharing.hpp>
#include <cstdio>

namespace pages_test {

namespace allreduce_page {

constexpr auto digits = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  return net.input({1, 28, 28}) | dense{.units = 32} | relu{} | dense{.units = 10} | softmax_cross_entropy{};
}>();

int main() try {
  return cohort::launch<cohort::threads>(2, [](cohort::communicator& world) {
    auto training = cohort::trainer<cohort::reference<float>>(
        digits, world, cohort::allreduce{}, {.optimizer = {cohort::momentum{.learning_rate = 0.05}}});
    cohort::performance_listener speed(20);
    std::vector<cohort::listener*> listeners;
    if (world.rank() == 0) listeners.push_back(&speed);
    training.fit(cohort::synthetic_digits(2'000, 1), {.batch = 16, .epochs = 1, .listeners = listeners});
    auto const report = training.evaluate(cohort::synthetic_digits(500, 2));
    if (world.rank() == 0) std::printf("accuracy %.3f\n", report.accuracy().value_or(0));
  });
} catch (cohort::communicator_error const& lost) {
  std::fprintf(stderr, "%s\n", lost.what());
  return cohort::communicator_exit_status;  // 75: the same command can be started again
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}

}  // namespace allreduce_page

namespace averaging_page {

constexpr auto digits = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  return net.input({1, 28, 28}) | dense{.units = 32} | relu{} | dense{.units = 10} | softmax_cross_entropy{};
}>();

int main() try {
  return cohort::launch<cohort::threads>(2, [](cohort::communicator& world) {
    auto training = cohort::trainer<cohort::reference<float>>(
        digits, world, cohort::parameter_averaging{.every = 5, .outer = cohort::outer::bmuf{}},
        {.optimizer = {cohort::adagrad{.learning_rate = 0.02}}});
    training.fit(cohort::synthetic_digits(2'000, 1), {.batch = 16, .epochs = 1});
    auto const report = training.evaluate(cohort::synthetic_digits(500, 2));
    if (world.rank() == 0) std::printf("accuracy %.3f\n", report.accuracy().value_or(0));
  });
} catch (cohort::communicator_error const& lost) {
  std::fprintf(stderr, "%s\n", lost.what());
  return cohort::communicator_exit_status;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}

}  // namespace averaging_page

namespace sharing_page {

constexpr auto digits = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  return net.input({1, 28, 28}) | dense{.units = 32} | relu{} | dense{.units = 10} | softmax_cross_entropy{};
}>();

int main() try {
  return cohort::launch<cohort::threads>(2, [](cohort::communicator& world) {
    auto training = cohort::trainer<cohort::reference<float>>(
        digits, world,
        cohort::threshold_sharing{.threshold = cohort::threshold::quantile{.density = 0.01},
                                  .settings = {.warm_up = 10}},
        {.optimizer = {cohort::sgd{.learning_rate = 0.2}}});
    training.fit(cohort::synthetic_digits(2'000, 1), {.batch = 16, .epochs = 1});
    auto const report = training.evaluate(cohort::synthetic_digits(500, 2));
    if (world.rank() != 0) return;
    std::printf("accuracy %.3f\n", report.accuracy().value_or(0));
    for (cohort::measurement const& one : training.exchange_report())
      std::printf("%.*s %.4g\n", static_cast<int>(one.name.size()), one.name.data(), one.value);
  });
} catch (cohort::communicator_error const& lost) {
  std::fprintf(stderr, "%s\n", lost.what());
  return cohort::communicator_exit_status;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}

}  // namespace sharing_page

TEST(docs_strategies, all_programs_end_with_status_0) {
  EXPECT_EQ(allreduce_page::main(), 0);
  EXPECT_EQ(averaging_page::main(), 0);
  EXPECT_EQ(sharing_page::main(), 0);
}

/// Whether a strategy accepts its settings, and the text that describes it.
template <class Description>
std::string described(Description const& how) {
  auto const world = cohort::make_self();
  return how.on(*world)->describe();
}

TEST(settings_in_the_docs, of_allreduce_have_the_expected_descriptions) {
  auto const half = cohort::allreduce{.wire = cohort::element_type::bf16};
  EXPECT_EQ(described(half), "allreduce, resync 100, wire type bf16");
  auto const late = cohort::allreduce{.overlap_next_forward = true};
  EXPECT_EQ(described(late), "allreduce, resync 100, overlap with the next forward");
  auto const sharded = cohort::allreduce{.shard = cohort::shard::optimizer_state};
  EXPECT_EQ(described(sharded), "allreduce, resync 100, sharded optimizer state");
}

TEST(settings_in_the_docs, of_averaging_have_the_expected_or_distinct_descriptions) {
  auto const rarely = cohort::parameter_averaging{.every = 20};
  auto const by_time = cohort::parameter_averaging{.seconds = 0.5};
  auto const hidden = cohort::parameter_averaging{.every = 5, .overlap = true};
  auto const block_momentum = cohort::parameter_averaging{.every = 16, .outer = cohort::outer::bmuf{}};
  auto const far_apart = cohort::parameter_averaging{
      .every = 500, .average_optimizer_state = false, .outer = cohort::outer::diloco{}};
  EXPECT_NE(described(rarely), described(by_time));
  EXPECT_NE(described(hidden), described(block_momentum));
  EXPECT_EQ(described(far_apart),
            "parameter averaging every 500 steps, outer rate 0.7, Nesterov momentum 0.9");
}

TEST(settings_in_the_docs, of_sharing_strategies_have_distinct_descriptions) {
  auto const denser = cohort::threshold_sharing{.threshold = cohort::threshold::quantile{.density = 0.01}};
  auto const as_deeplearning4j = cohort::threshold_sharing{.threshold = cohort::threshold::adaptive{},
                                                           .residual = cohort::residual::clip{},
                                                           .settings = {.share = cohort::share::update}};
  auto const hidden =
      cohort::threshold_sharing{.threshold = cohort::threshold::fixed{1e-3},
                                .settings = {.share = cohort::share::update, .max_staleness = 2}};
  EXPECT_NE(described(denser), described(hidden));
  EXPECT_NE(described(as_deeplearning4j), described(hidden));

  auto const largest = [](cohort::tensor_table table) {
    return cohort::top_k_compressor(std::move(table), {.density = 0.05});
  };
  cohort::sharing_by const own{std::string_view("the largest twentieth"), largest};
  EXPECT_NE(described(own), described(denser));
}

TEST(settings_in_the_docs, for_users_of_deeplearning4j_are_valid) {
  using namespace cohort;
  training_settings const from_deeplearning4j{
      .optimizer = {.rule = nesterov{.learning_rate = 0.01, .momentum = 0.9},
                    .l2 = 5e-4,
                    .normalisation = normalise::clip_l2_per_layer{.at = 1},
                    .layers = {{.layer = "output", .rule = adam{.learning_rate = 1e-3}}}},
      .weights = init::xavier{},
      .seed = 12345};
  EXPECT_NO_THROW(from_deeplearning4j.optimizer.check());
}

}  // namespace pages_test
