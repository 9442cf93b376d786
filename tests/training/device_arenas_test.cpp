// SPDX-License-Identifier: Apache-2.0
// alone: it protects memory, and an access to this memory ends the process
#include "../backend/device_passes.hpp"

#include <gtest/gtest.h>
#include <array>
#include <cohort/checkpoint/matching_layers.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <string_view>
#include <utility>

#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"
#include "../strategy/rank_cases.hpp"

namespace {

using namespace cohort;
using namespace cohort_test;
using away = device_passes<float>;

/// Convolution, running statistics, masks.
constexpr auto lively = network<[](builder& net) {
  return net.input({1, 8, 8}) | conv2d{.filters = 4, .kernel = 3} | batch_norm{} | relu{}
         | max_pool{.window = 2} | dropout{.rate = 0.2} | dense{.units = 10} | relu{} | dense{.units = 3}
         | softmax_cross_entropy{};
}>();

template <class B>
std::string trained(training_settings const& settings, fit_settings const& how = {.batch = 10, .epochs = 2}) {
  bright_thirds const examples(57);
  training made = trainer<B>(lively, settings);
  made.fit(examples.data(), how);
  return made.checksum();
}

TEST(device_arenas, are_updated_like_host_arenas_by_every_rule) {
  for (optimizer_rule const& rule : detail::default_rules) {
    training_settings const settings{.optimizer = {.rule = rule, .l1 = 1e-5, .l2 = 1e-4}, .seed = 3};
    EXPECT_EQ(trained<away>(settings), trained<narrow>(settings)) << rule.name();
  }
}

TEST(device_arenas, are_normalised_and_constrained_like_host_arenas) {
  for (gradient_normalisation const& how : {gradient_normalisation(normalise::clip_global_norm{0.1}),
                                            gradient_normalisation(normalise::renormalize_l2_per_layer{}),
                                            gradient_normalisation(normalise::clip_l2_per_parameter{0.05}),
                                            gradient_normalisation(normalise::clip_elementwise{0.01})}) {
    training_settings const settings{
        .optimizer = {.rule = lamb{}, .normalisation = how, .constraint = constraint::max_norm{0.5}},
        .seed = 3,
        .workers = 2};
    EXPECT_EQ(trained<away>(settings), trained<narrow>(settings));
  }
}

TEST(device_arenas, sum_gradients_of_workers_and_micro_batches) {
  for (int workers : {1, 3})
    for (int pieces : {1, 4}) {
      training_settings settings = with_state(workers);
      fit_settings const how{.batch = 10, .epochs = 2, .accumulate = pieces};
      EXPECT_EQ(trained<away>(settings, how), trained<narrow>(settings, how)) << workers << ' ' << pieces;
    }
}

/// u = η·g
struct plain_step {
  static constexpr std::string_view kind_name = "plain_step";
  static constexpr std::array<std::string_view, 0> states{};
  rate_schedule learning_rate = 0.1;

  static constexpr auto fields() { return std::array<std::pair<char const*, double plain_step::*>, 0>{}; }
  std::array<double, 1> constants(optimizer_step const& next) const { return {next.rate}; }
  template <class T>
  static T step(T g, T, T*, T const* c) {
    return c[0] * g;
  }
};

TEST(device_arenas, refuse_optimizers_of_programs_when_the_trainer_is_made) {
  EXPECT_NE(refusal_of<setting_error>([] {
              trainer<away>(lively, {.optimizer = {plain_step{}}});
            }).find("cannot run on a device"),
            std::string::npos);
  trainer<narrow>(lively, {.optimizer = {plain_step{}}});
}

template <class B>
std::vector<double> last_gradient_of(int workers) {
  bright_thirds const examples(57);
  training made = trainer<B>(lively, with_state(workers));
  made.fit(examples.data(), {.batch = 10, .epochs = 1});
  return made.last_gradient("dense_1");
}

TEST(device_arenas, provide_the_last_gradient) {
  for (int workers : {1, 3}) EXPECT_EQ(last_gradient_of<away>(workers), last_gradient_of<narrow>(workers));
  EXPECT_NE(last_gradient_of<away>(1).at(0), 0);
}

TEST(device_arenas, are_freed) {
  auto const backend = std::make_shared<away>();
  bright_thirds const examples(20);
  graph const net = small;
  {
    auto const store = std::make_shared<parameter_store<away>>(*backend, net);
    auto const plan = make_plan(store, net, {.batch = 4});
    store->initialise(1);
    parameter_update update(*store, {.rule = adam{}});
    auto const run = plan->make_context();
    EXPECT_GE(backend->memory().held(), 5);  // parameters, two arrays of state, gradients, activations
  }
  EXPECT_EQ(backend->memory().held(), 0);
}

template <class B, class Strategy>
std::string checksum_of_ranks(Strategy const& how) {
  std::string sum;
  bright_thirds const examples(103);
  launch<threads>(2, [&](communicator& world) {
    training made = trainer<B>(lively, world, how, with_state());
    made.fit(examples.data(), {.batch = 7, .epochs = 2});
    if (world.rank() == 0) sum = made.checksum();
  });
  return sum;
}

TEST(device_arenas, are_exchanged_by_every_strategy) {
  EXPECT_EQ(checksum_of_ranks<away>(allreduce{}), checksum_of_ranks<narrow>(allreduce{}));
  EXPECT_EQ(checksum_of_ranks<away>(parameter_averaging{.every = 3}),
            checksum_of_ranks<narrow>(parameter_averaging{.every = 3}));
  EXPECT_EQ(checksum_of_ranks<away>(threshold_sharing{}), checksum_of_ranks<narrow>(threshold_sharing{}));
}

TEST(device_arenas, are_saved_and_loaded) {
  scratch_folder const folder;
  bright_thirds const examples(57), held(30, 2);
  auto const report_of = [&]<class B>(std::type_identity<B>, std::string const& path) {
    training first = trainer<B>(lively, with_state());
    first.fit(examples.data(), {.batch = 10, .epochs = 1});
    first.save(path);
    training second = trainer<B>(lively, with_state());
    second.load(path);
    second.fit(examples.data(), {.batch = 10, .epochs = 2});
    return second.checksum() + second.evaluate(held.data()).stats();
  };
  EXPECT_EQ(report_of(std::type_identity<away>{}, folder / "away"),
            report_of(std::type_identity<narrow>{}, folder / "here"));
}

template <class B>
std::string trouble_of() {
  try {
    trained<B>({.optimizer = {sgd{.learning_rate = 1e38}}, .seed = 3});
  } catch (numeric_error const& why) {
    return why.what();
  }
  return "";
}

TEST(device_arenas, report_the_position_of_a_non_finite_number) {
  EXPECT_NE(trouble_of<narrow>(), "");
  EXPECT_EQ(trouble_of<away>(), trouble_of<narrow>());
}

TEST(device_arenas, predict_like_host_arenas) {
  bright_thirds const examples(5);
  tensor_view const images(examples.pixels.data(), shape{5, 1, 8, 8});
  auto const predicted = [&](training const& by) {
    predictions const made = by.predict(images);
    std::vector<float> all;
    for (int i = 0; i < made.count(); ++i) all.insert(all.end(), made[i].begin(), made[i].end());
    return all;
  };
  EXPECT_EQ(predicted(trainer<away>(lively, with_state())), predicted(trainer<narrow>(lively, with_state())));
}

}  // namespace
