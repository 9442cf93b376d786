// SPDX-License-Identifier: Apache-2.0
// Each class of keras.layers in golden/keras/layers.txt has the outputs of Keras, or is refused.
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

/// Returns the differences between the outputs of a case and Keras' outputs; empty if there are none.
std::string layer_differences(keras_case const& one, keras_options const& how = {}) {
  try {
    named_waves const weights;
    imported_model const model =
        detail::import_keras(one.config, "Keras configuration", how, {3, 15}, nullptr, &weights);
    training const run = load_imported<reference<double>>(model);
    return compare_outputs(run, model, one);
  } catch (std::exception const& problem) {
    return problem.what();
  }
}

TEST(keras_layers, have_the_outputs_of_keras) {
  keras_cases const cases = read_keras_cases();
  int compared = 0;
  for (keras_case const& one : cases.cases) {
    if (!one.refused.empty()) continue;
    EXPECT_EQ(layer_differences(one), "") << one.name;
    ++compared;
  }
  EXPECT_GT(compared, 200);
}

TEST(keras_layers, refuse_options_without_equivalent) {
  for (keras_case const& one : read_keras_cases().cases) {
    if (one.refused.empty()) continue;
    std::string wanted = one.refused;
    if (auto const at = wanted.find("WHERE"); at != std::string::npos)
      wanted.replace(at, 5, "Keras configuration, layer layer");
    else if (wanted.find('(') == std::string::npos)
      wanted += " (Keras configuration, layer layer)";
    try {
      from_keras_config(one.config);
      ADD_FAILURE() << one.name << " was imported: expected " << wanted;
    } catch (data_error const& problem) {
      std::string const text = without_remedy(problem.what());
      EXPECT_TRUE(text.starts_with("cannot import the Keras model: " + wanted)) << one.name << ": " << text;
    }
  }
}

TEST(keras_layers, of_all_classes_are_imported_or_refused_by_name) {
  int imported = 0, refused = 0;
  for (auto const& [name, config] : read_keras_cases().classes) {
    if (config.empty()) {
      ++imported;
      continue;
    }
    try {
      from_keras_config(config);
      ADD_FAILURE() << name << " was imported without a case";
    } catch (data_error const& problem) {
      std::string const text = problem.what();
      EXPECT_TRUE(text.starts_with("cannot import the Keras model: ") && text.find(name) != std::string::npos
                  && text.find("is unknown") == std::string::npos)
          << text;
    }
    ++refused;
  }
  RecordProperty("imported", imported);
  RecordProperty("refused", refused);
  std::cout << imported << " classes of keras.layers are imported, " << refused << " refused by name\n";
  EXPECT_EQ(imported + refused, 144);
}

TEST(keras_layers, that_act_only_in_training_are_omitted_for_predictions) {
  for (char const* const name : {"GaussianDropout", "AlphaDropout", "RandomFlip"}) {
    std::string const config =
        R"({"class_name": "Sequential", "module": "keras", "config": {"layers": [
          {"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [null, 4], "name": "x"}},
          {"module": "keras.layers", "class_name": ")"
        + std::string(name) + R"(", "config": {"name": "layer", "rate": 0.5}},
          {"module": "keras.layers", "class_name": "Dense", "config": {"name": "out", "units": 2}}]}})";
    EXPECT_THROW(from_keras_config(config), data_error) << name;
    EXPECT_EQ(from_keras_config(config, {.training = false}).network().view().size(), 2) << name;
  }
}

}  // namespace
