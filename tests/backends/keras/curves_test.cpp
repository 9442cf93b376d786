// SPDX-License-Identifier: Apache-2.0
// Losses of 20 steps of imported models, compared with Keras' losses in golden/keras/curves.txt.
// covers: keras
#include <gtest/gtest.h>

#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/keras/detail/import_keras.hpp>

#include "keras_cases.hpp"
#include "keras_models.hpp"

using namespace cohort;
using keras_models::without_remedy;

namespace {

/// Trains 20 steps on the batch of a case. Keras' losses contain the penalties, Cohort's do not, so the
/// outputs after the steps are compared for all cases.
std::string curve_differences(keras_case const& one) {
  named_waves const weights;
  imported_model const model =
      detail::import_keras(one.config, "Keras configuration", {}, {3, 15}, nullptr, &weights);
  training run = load_imported<reference<double>>(model);
  keras_batch batch(one);
  // A class per example or step is i32.
  std::vector<std::vector<std::int32_t>> classes(one.targets.size());
  for (std::size_t i = 0; i < one.targets.size(); ++i) {
    keras_tensor const& target = one.targets[i];
    auto const output =
        std::ranges::max(one.outputs, {}, [](keras_tensor const& o) { return o.dims.size(); });
    bool const is_class = one.outputs.size() == 1 && target.dims.size() + 1 == output.dims.size();
    if (is_class) {
      for (double const number : target.values) classes[i].push_back(static_cast<std::int32_t>(number));
      batch.view.targets.emplace_back(classes[i].data(), keras_shape(target.dims));
    } else {
      batch.view.targets.emplace_back(batch.numbers[one.inputs.size() + i].data(), keras_shape(target.dims));
    }
  }
  bool const has_penalty = one.name == "penalties";
  for (std::size_t step = 0; step < one.losses.size(); ++step) {
    double const loss = run.train_on(batch.view).loss;
    if (!has_penalty
        && !(std::abs(loss - one.losses[step]) <= 1e-4 * std::max(1.0, std::abs(one.losses[step]))))
      return "step " + std::to_string(step) + ": expected a loss of " + std::to_string(one.losses[step])
             + ", got " + std::to_string(loss);
  }
  if (one.name == "logits") return "";  // Keras returns logits, Cohort's loss their softmax
  return compare_outputs(run, model, one, 1e-4);
}

TEST(keras_training, has_the_losses_of_keras_with_every_optimizer) {
  std::vector<keras_case> const cases = read_keras_cases("optimizers.txt").cases;
  EXPECT_EQ(cases.size(), 36U);  // 9 optimizers, with 3 sizes of ε and with small gradients
  for (keras_case const& one : cases) EXPECT_EQ(curve_differences(one), "") << one.name;
}

TEST(keras_training, has_the_losses_of_keras) {
  int compared = 0;
  for (keras_case const& one : read_keras_cases("curves.txt").cases) {
    if (!one.refused.empty()) continue;
    try {
      EXPECT_EQ(curve_differences(one), "") << one.name;
    } catch (std::exception const& problem) {
      ADD_FAILURE() << one.name << ": " << problem.what();
    }
    ++compared;
  }
  EXPECT_GT(compared, 30);
}

TEST(keras_training, refuses_training_settings_without_equivalent) {
  for (keras_case const& one : read_keras_cases("curves.txt").cases) {
    if (one.refused.empty()) continue;
    try {
      from_keras_config(one.config);
      ADD_FAILURE() << one.name << " was imported";
    } catch (data_error const& problem) {
      std::string const text = without_remedy(problem.what());
      EXPECT_TRUE(text.starts_with("cannot import the Keras model: " + one.refused))
          << one.name << ": " << text;
    }
    EXPECT_NO_THROW(from_keras_config(one.config, {.training = false})) << one.name;
  }
}

TEST(keras_training, omits_the_optimizer_if_the_caller_disables_it) {
  for (keras_case const& one : read_keras_cases("curves.txt").cases) {
    if (one.name != "RMSprop") continue;
    imported_model const model = from_keras_config(one.config, {.optimizer = false});
    EXPECT_EQ(model.settings.optimizer.rule.name(), "sgd");
    EXPECT_EQ(model.network().view().with_role(layer_role::loss).size(), 1U);
  }
}

TEST(keras_training, imports_metrics_unless_disabled) {
  for (keras_case const& one : read_keras_cases("curves.txt").cases) {
    if (one.name != "SGD_0") continue;
    ASSERT_EQ(from_keras_config(one.config).metrics.size(), 1U);
    EXPECT_EQ(from_keras_config(one.config).metrics[0].name, "accuracy");
    EXPECT_EQ(from_keras_config(one.config, {.metrics = false}).metrics.size(), 0U);
  }
}

}  // namespace
