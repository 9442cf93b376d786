// SPDX-License-Identifier: Apache-2.0
// Tests the effects of the options of Keras models, and that no option is ignored.
// covers: keras
#include <gtest/gtest.h>
#include <unistd.h>
#include <algorithm>

#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/keras/detail/import_keras.hpp>
#include <filesystem>
#include <fstream>

#include "keras_cases.hpp"
#include "keras_models.hpp"

namespace keras_options_test {

using namespace cohort;
using namespace keras_models;

std::string const folder = COHORT_SOURCE_DIR "/tests/golden/keras/";

/// All elements of array n of a layer are values[n]; a dense layer adds its inputs.
class constant_arrays : public detail::keras_weight_source {
 public:
  explicit constant_arrays(std::vector<float> values) : values_(std::move(values)) {}
  bool has_paths() const override { return true; }
  std::optional<std::size_t> count_of(std::string const&) const override { return {}; }
  detail::keras_array read(std::string const& object, std::size_t index,
                           std::vector<int> const& dims) const override {
    std::size_t count = 1;
    for (int const extent : dims) count *= static_cast<std::size_t>(extent);
    bool const is_dense = object.find("dense") != std::string::npos;
    float const value = is_dense ? index == 0 ? 1.0F : 0.0F : values_.at(index);
    return {.dims = dims, .values = std::vector<float>(count, value)};
  }
  std::size_t count_in_group(std::string const&) const override { return 0; }
  detail::keras_array read_in_group(std::string const&, std::size_t, std::vector<int> const&) const override {
    return {};
  }
  std::string const& name() const override { return name_; }

 private:
  std::vector<float> values_;
  std::string name_ = "arrays";
};

/// The outputs of a model for inputs whose elements are given.
std::vector<std::vector<float>> outputs_of(std::string const& config,
                                           detail::keras_weight_source const& weights,
                                           std::vector<std::vector<float>> const& inputs) {
  imported_model const model = detail::import_keras(config, "model", {}, {3, 15}, nullptr, &weights);
  training const run = load_imported<reference<double>>(model);
  graph_view const net = run.network();
  batch_view batch;
  batch.count = 1;
  std::vector<int> const ids = net.with_role(layer_role::input);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    batch.inputs.emplace_back(inputs[i].data(), net[ids[i]].output.batched(1));
  std::vector<std::string> names;
  for (int const id : net.outputs()) names.push_back(net.name(id));
  std::vector<std::vector<float>> made;
  for (predictions const& one : run.outputs_of(names, batch))
    made.emplace_back(one.values.begin(), one.values.end());
  return made;
}

/// A model that calls a layer with two inputs, and a dense layer with both results.
std::string called_twice(std::string const& class_name, std::string const& config, std::string const& shape) {
  return functional(
      {input_json("a", shape), input_json("b", shape), layer_json("l", class_name, config, calls({"a", "b"})),
       layer_json("d", "Dense", R"("units": 1)", calls({"l", "l/1"}))},
      R"([["a",0,0],["b",0,0]])", R"([["d",0,0],["d",1,0]])");
}

TEST(keras_shared_layers, have_the_same_parameters_in_each_call) {
  named_waves const weights;
  for (auto const& [class_name, config] : std::vector<std::pair<std::string, std::string>>{
           {"Rescaling", R"("scale": 0.5, "offset": 1)"},
           {"Rescaling", R"("scale": 0.5)"},
           {"Normalization", R"("axis": [-1], "mean": [1, 2, 3], "variance": [4, 5, 6])"},
           {"Normalization", R"("axis": [-1])"}}) {
    auto const two =
        outputs_of(called_twice(class_name, config, "[null,3]"), weights, {{1, 2, 4}, {1, 2, 4}});
    ASSERT_EQ(two.size(), 2U);
    EXPECT_EQ(two[0], two[1]) << class_name << config;
    auto const other =
        outputs_of(called_twice(class_name, config, "[null,3]"), weights, {{1, 2, 4}, {5, 2, 4}});
    EXPECT_EQ(other[0], two[0]);
    EXPECT_NE(other[0], other[1]);
  }
  auto const hot =
      outputs_of(called_twice("CategoryEncoding", R"("num_tokens": 5, "output_mode": "one_hot")", "[null,1]"),
                 weights, {{3}, {3}});
  EXPECT_EQ(hot[0], hot[1]);
}

TEST(keras_normalization, divides_columns_of_variance_zero_by_1e_minus_7) {
  auto const model = [](std::string const& config) {
    return sequential({input_json("x", "[null,2]"),
                       layer_json("n", "Normalization", R"("axis": [-1])" + config),
                       layer_json("d", "Dense", R"("units": 1)")});
  };
  // Arrays of the layer: mean, variance, count.
  EXPECT_NEAR(outputs_of(model(""), constant_arrays({0, 0, 1}), {{1e-7F, 3e-7F}})[0][0], 4, 1e-5);
  EXPECT_NEAR(outputs_of(model(""), constant_arrays({1, 4, 1}), {{2, 3}})[0][0], 1.5, 1e-6);
  EXPECT_NEAR(
      outputs_of(model(R"(, "mean": [0, 0], "variance": [0, 4])"), constant_arrays({}), {{1e-7F, 0}})[0][0],
      1, 1e-5);
}

TEST(keras_normalization, requires_one_mean_per_channel) {
  auto const of = [](std::string const& config) {
    return config_refusal(
        sequential({input_json("x", "[null,3,3]"), layer_json("n", "Normalization", config)}));
  };
  EXPECT_EQ(of(R"("axis": [1], "mean": [1, 2, 3], "variance": [1, 1, 1])"),
            config_message("mean and variance of a normalisation are imported only per channel", ", layer n",
                           ": expected the channel axis, or one number, got another axis"));
  EXPECT_EQ(of(R"("axis": [], "mean": 1, "variance": 2)"), "imported");
  EXPECT_EQ(of(R"("mean": [1, 2, 3], "variance": [1, 1, 1])"), "imported");
  EXPECT_EQ(of(R"("axis": [1])"), config_message("an adapted normalisation is imported only per channel",
                                                 ", layer n", ": expected axis -1, got other axes"));
}

// ---- options that must not be ignored ---------------------------------------------------------------------

std::string keras_1(std::string const& class_name, std::string const& config) {
  return R"({"class_name": "Sequential", "keras_version": "1.2.2", "config": [{"class_name": ")" + class_name
         + R"(", "config": {"name": "l", "batch_input_shape": [null, 4], )" + config + "}}]}";
}

TEST(keras_options, of_keras_1_without_equivalent_are_refused) {
  std::string const penalty = R"({"name": "WeightRegularizer", "l1": 0.0, "l2": 0.01})";
  for (char const* const field : {"W_regularizer", "b_regularizer", "W_constraint", "b_constraint"}) {
    std::string const config =
        keras_1("Dense", R"("output_dim": 2, ")" + std::string(field) + "\": " + penalty);
    EXPECT_EQ(config_refusal(config), config_message("penalties and constraints of Keras 1 are not imported ("
                                                         + std::string(field) + ")",
                                                     ", layer l", ": expected null or false, got a value"));
    EXPECT_EQ(config_refusal(config, {.training = false}), "imported");
  }
  EXPECT_EQ(config_refusal(keras_1("Embedding", R"("input_dim": 5, "output_dim": 2, "dropout": 0.5)")),
            config_message("the field dropout is not imported", ", layer l",
                           ": expected no such field, or null, got a value"));
  EXPECT_EQ(config_refusal(
                R"({"class_name": "Sequential", "keras_version": "1.2.2", "config": [{"class_name": "LSTM",
                        "config": {"name": "l", "batch_input_shape": [null, 4, 3], "output_dim": 2, "U_regularizer": )"
                + penalty + "}}]}"),
            config_message("penalties of Keras 1 are not imported (U_regularizer)", ", layer l",
                           ": expected null or false, got a value"));
}

TEST(keras_options, that_are_unknown_are_refused_unless_false_zero_or_empty) {
  auto const of = [](std::string const& config) {
    return config_refusal(
        sequential({input_json("x", "[null,4]"), layer_json("l", "Dense", R"("units": 2, )" + config)}));
  };
  EXPECT_EQ(of(R"("future": true)"), config_message("the field future is not imported", ", layer l",
                                                    ": expected no such field, or null, got a value"));
  for (char const* const unset : {"false", "null", "0", "\"\"", "[]", "{}"})
    EXPECT_EQ(of(R"("future": )" + std::string(unset)), "imported");
  EXPECT_EQ(of(R"("kernel_initializer": "zeros", "seed": 5, "trainable": true)"), "imported");
  std::string const inner = R"("layer": {"class_name": "Dense", "config": {"units": 2, "future": true}})";
  EXPECT_EQ(
      config_refusal(sequential({input_json("x", "[null,3,4]"), layer_json("l", "TimeDistributed", inner)})),
      config_message("the field future is not imported", ", layer l",
                     ": expected no such field, or null, got a value"));
  EXPECT_EQ(config_refusal(sequential(
                {input_json("x", "[null,3,4]"),
                 layer_json("l", "Bidirectional",
                            R"("layer": {"class_name": "GRU", "config": {"units": 2, "future": 1}})")})),
            config_message("the field future is not imported", ", layer l",
                           ": expected no such field, or null, got a value"));
}

TEST(keras_options, that_are_unknown_in_activations_are_refused) {
  auto const of = [](std::string const& config) {
    return config_refusal(
        sequential({input_json("x", "[null,4]"),
                    layer_json("l", "Dense",
                               R"("units": 2, "activation": {"class_name": "ReLU", "config": {"name": "r")"
                                   + config + "}}")}));
  };
  EXPECT_EQ(of(R"(, "max_value": 6, "negative_slope": 0, "threshold": 0)"), "imported");
  EXPECT_EQ(of(R"(, "future": 2)"), config_message("the field future is not imported", ", layer l",
                                                   ": expected no such field, or null, got a value"));
}

TEST(keras_options, that_are_unknown_in_batch_normalisation_are_refused_for_training) {
  std::string const config = sequential(
      {input_json("x", "[null,4]"), layer_json("n", "BatchNormalization", R"("virtual_batch_size": 8)")});
  EXPECT_EQ(config_refusal(config),
            config_message("the field virtual_batch_size is not imported", ", layer n",
                           ": expected no such field, or null, got a value"));
  EXPECT_EQ(config_refusal(config, {.training = false}), "imported");
  EXPECT_EQ(config_refusal(sequential(
                {input_json("x", "[null,4]"),
                 layer_json("n", "BatchNormalization", R"("virtual_batch_size": 8, "trainable": false)")})),
            "imported");
}

TEST(keras_options, that_are_unknown_in_penalties_and_constraints_are_refused) {
  auto const of = [](std::string const& field, std::string const& class_name, std::string const& config) {
    return config_refusal(sequential(
        {input_json("x", "[null,4]"), layer_json("l", "Dense",
                                                 R"("units": 2, "kernel_)" + field + R"(": {"class_name": ")"
                                                     + class_name + R"(", "config": {)" + config + "}}")}));
  };
  std::string const refused = config_message("the field future is not imported", ", layer l",
                                             ": expected no such field, or null, got a value");
  EXPECT_EQ(of("regularizer", "L1L2", R"("l1": 0.1, "l2": 0.2)"), "imported");
  EXPECT_EQ(of("regularizer", "L1", R"("l1": 0.1)"), "imported");
  EXPECT_EQ(of("regularizer", "L2", R"("l2": 0.1, "future": 1)"), refused);
  EXPECT_EQ(of("constraint", "MaxNorm", R"("max_value": 3, "axis": 0)"), "imported");
  EXPECT_EQ(of("constraint", "UnitNorm", R"("axis": 0)"), "imported");
  EXPECT_EQ(of("constraint", "NonNeg", ""), "imported");
  for (char const* const name : {"MaxNorm", "UnitNorm", "NonNeg"})
    EXPECT_EQ(of("constraint", name, R"("future": 1)"), refused);
}

TEST(keras_masks, apply_to_batch_statistics_since_keras_2_12_except_3_0) {
  auto const of = [](std::string const& version, std::string const& config = {},
                     keras_options const& how = {}) {
    std::string made =
        sequential({input_json("x", "[null,5,4]"), layer_json("m", "Masking", R"("mask_value": 0)"),
                    layer_json("n", "BatchNormalization", config)});
    made.replace(made.find("3.15.0"), 6, version);
    return config_refusal(made, how);
  };
  std::string const refused = config_message(
      "this Keras ignores masks in the statistics of a batch, Cohort uses them", ", layer n",
      ": expected Keras 2.12 or later except 3.0, trainable=False, or keras_options::training false, "
      "got Keras ");
  EXPECT_EQ(of("2.11.0"), refused + "2.11");
  EXPECT_EQ(of("2.11.0", R"("trainable": false)"), "imported");
  EXPECT_EQ(of("2.11.0", {}, {.training = false}), "imported");
  EXPECT_EQ(of("2.12.0"), "imported");
  EXPECT_EQ(of("3.0.0"), refused + "3.0");
  EXPECT_EQ(of("3.1.0"), "imported");
}

// ---- losses and optimizers -------------------------------------------------------------------------------

TEST(keras_losses, with_unknown_or_unsupported_options_are_refused) {
  auto const of = [](std::string const& class_name, std::string const& config) {
    return config_refusal(sequential(
        {input_json("x", "[null,5,4]"), layer_json("d", "Dense", R"("units": 3, "activation": "softmax")")},
        R"(, "compile_config": {"optimizer": "sgd", "loss": {"class_name": ")" + class_name
            + R"(", "config": {"name": "l", "reduction": "sum_over_batch_size")" + config + "}}}"));
  };
  EXPECT_EQ(of("CategoricalCrossentropy", R"(, "from_logits": false, "axis": -1)"), "imported");
  EXPECT_EQ(of("CategoricalCrossentropy", R"(, "axis": 2)"), "imported");
  EXPECT_EQ(
      of("CategoricalCrossentropy", R"(, "axis": 1)"),
      config_message("Cohort's classes are the channels", ", loss d", ": expected the channel axis, got 1"));
  std::string const keras_2_15 = R"(, "from_logits": false, "ignore_class": null, "fn": )";
  EXPECT_EQ(of("SparseCategoricalCrossentropy", keras_2_15 + R"("sparse_categorical_crossentropy")"),
            "imported");
  EXPECT_EQ(of("SparseCategoricalCrossentropy", keras_2_15 + R"("own_loss")"),
            config_message("the function of the loss is not that of its class", ", loss d",
                           ": expected sparse_categorical_crossentropy, got own_loss"));
  EXPECT_EQ(of("SparseCategoricalCrossentropy", R"(, "future": 1)"),
            config_message("the field future is not imported", ", loss d",
                           ": expected no such field, or null, got a value"));
}

TEST(keras_optimizers, with_unknown_or_unsupported_options_are_refused) {
  auto const of = [](std::string const& config) {
    return config_refusal(
        sequential({input_json("x", "[null,4]"), layer_json("d", "Dense", R"("units": 1)")},
                   R"(, "compile_config": {"loss": "mse", "optimizer": {"class_name": "SGD", "config":
           {"name": "o", "learning_rate": 0.1)"
                       + config + "}}}"));
  };
  EXPECT_EQ(of(R"(, "momentum": 0, "nesterov": true, "use_ema": false, "ema_momentum": 0.99,
                  "ema_overwrite_frequency": 10, "jit_compile": true, "is_legacy_optimizer": true)"),
            "imported");
  EXPECT_EQ(of(R"(, "future": 1)"), config_message("the field future is not imported", ", optimizer SGD",
                                                   ": expected no such field, or null, got a value"));
  EXPECT_EQ(of(R"(, "initial_accumulator_value": 1)"),
            config_message("the field initial_accumulator_value is not imported", ", optimizer SGD",
                           ": expected no such field, or null, got a value"));
}

/// Since 2.11, Keras adds ε below the root, except in legacy optimizers, whose files have no
/// is_legacy_optimizer.
TEST(keras_optimizers, add_epsilon_inside_or_outside_the_root_by_keras_version) {
  auto const of = [](std::string const& version, std::string const& more = "") {
    std::string model = sequential({input_json("x", "[null,4]"), layer_json("d", "Dense", R"("units": 1)")},
                                   R"(, "compile_config": {"loss": "mse", "optimizer": {"class_name":
           "Adagrad", "config": {"learning_rate": 0.1, "initial_accumulator_value": 0.5,
           "epsilon": 0.25)" + more + "}}}");
    model.replace(model.find("3.15.0"), 6, version);
    return from_keras_config(model).settings.optimizer.rule;
  };
  optimizer_rule const to_root(adagrad{.learning_rate = 0.1, .epsilon = 0.25, .initial = 0.5}),
      below_root(adagrad{.learning_rate = 0.1, .epsilon = 1e-30, .initial = 0.75});
  EXPECT_EQ(of("2.10.0"), to_root);
  EXPECT_EQ(of("2.15.0"), to_root) << "a legacy optimizer";
  EXPECT_EQ(of("2.15.0", R"(, "is_legacy_optimizer": true)"), to_root);
  EXPECT_EQ(of("2.11.0", R"(, "is_legacy_optimizer": false)"), below_root);
  EXPECT_EQ(of("3.0.0"), below_root);
}

/// The .h5 files of Keras 2.11 to 2.15 contain registered names.
TEST(keras_optimizers, are_found_by_their_registered_names) {
  auto const of = [](std::string const& name) {
    return config_refusal(sequential({input_json("x", "[null,4]"), layer_json("d", "Dense", R"("units": 1)")},
                                     R"(, "compile_config": {"loss": "mse", "optimizer": {"class_name": ")"
                                         + name + R"(", "config": {"learning_rate": 0.1}}})"));
  };
  EXPECT_EQ(of("Custom>Adam"), "imported");
  EXPECT_NE(of("Custom>Own").find("Cohort has no optimizer Own"), std::string::npos);
}

// ---- metrics ---------------------------------------------------------------------------------------------

std::string compiled(std::string const& metrics) {
  return sequential(
      {input_json("x", "[null,4]"), layer_json("d", "Dense", R"("units": 1, "activation": "sigmoid")")},
      R"(, "compile_config": {"loss": "binary_crossentropy", "optimizer": "sgd", "metrics": )" + metrics
          + "}");
}
std::string metric_json(std::string const& class_name, std::string const& config) {
  return R"({"class_name": ")" + class_name + R"(", "config": {"name": "m", "dtype": "float32")"
         + (config.empty() ? "" : ", " + config) + "}}";
}

TEST(keras_metrics, with_unknown_or_unsupported_options_are_refused) {
  auto const of = [](std::string const& class_name, std::string const& config) {
    return config_refusal(compiled('[' + metric_json(class_name, config) + ']'));
  };
  EXPECT_EQ(of("AUC", R"("num_thresholds": 200, "curve": "ROC", "summation_method": "interpolation")"),
            "imported");
  EXPECT_EQ(of("AUC", R"("num_thresholds": 3, "thresholds": [0.5])"), "imported");
  EXPECT_EQ(of("AUC", R"("curve": "PR")"), config_message("Cohort has the area under the ROC curve",
                                                          ", metric AUC", ": expected curve ROC, got PR"));
  EXPECT_EQ(of("AUC", R"("summation_method": "minoring")"),
            config_message("Cohort computes the AUC by linear interpolation only", ", metric AUC",
                           ": expected summation_method interpolation, got minoring"));
  EXPECT_EQ(of("AUC", R"("multi_label": true)"),
            config_message("the field multi_label is not imported", ", metric AUC",
                           ": expected no such field, or null, got a value"));
  EXPECT_EQ(of("BinaryAccuracy", R"("threshold": 0.5)"), "imported");
  EXPECT_EQ(of("BinaryAccuracy", R"("threshold": 0.7)"),
            config_message("Cohort's accuracy has the threshold 0.5", ", metric BinaryAccuracy",
                           ": expected threshold 0.5, got 0.700000"));
  EXPECT_EQ(config_refusal(compiled('[' + metric_json("AUC", R"("curve": "PR")") + ']'), {.metrics = false}),
            "imported");
}

TEST(keras_metrics, must_belong_to_the_first_output) {
  auto const of = [](std::string const& metrics, std::string const& version = "3.15.0") {
    std::string made =
        functional({input_json("x", "[null,4]"), layer_json("a", "Dense", R"("units": 1)", calls({"x"})),
                    layer_json("b", "Dense", R"("units": 1)", calls({"x"}))},
                   R"([["x",0,0]])", R"([["a",0,0],["b",0,0]])",
                   R"(, "compile_config": {"loss": "mse", "optimizer": "sgd", "metrics": )" + metrics + "}");
    made.replace(made.find("3.15.0"), 6, version);
    return config_refusal(made);
  };
  auto const other = [](std::string const& got) {
    return config_message(
        "the metrics are of several outputs", ", metrics",
        ": expected metrics of the first output with a loss, a; or keras_options::metrics false, got " + got);
  };
  EXPECT_EQ(of(R"([["mae"], []])"), "imported");
  EXPECT_EQ(of(R"({"a": "mae"})"), "imported");
  EXPECT_EQ(of(R"(["mae", null])"), "imported");
  EXPECT_EQ(of(R"([[], ["mae"]])"), other("mae of b"));
  EXPECT_EQ(of(R"({"b": ["mae"]})"), other("mae of b"));
  EXPECT_EQ(of(R"([null, "mae"])"), other("mae of b"));
  EXPECT_EQ(of(R"(["mae"])", "2.15.0"), other("mae of b"));  // of each output
}

// ---- training --------------------------------------------------------------------------------------------

TEST(keras_schedules, accept_whole_numbers_of_steps_up_to_2_to_the_53) {
  auto const of = [](std::string const& steps) {
    return config_refusal(sequential(
        {input_json("x", "[null,4]"), layer_json("d", "Dense", R"("units": 1)")},
        R"(, "compile_config": {"loss": "mse", "optimizer": {"class_name": "SGD", "config": {"learning_rate":
           {"class_name": "CosineDecay", "config": {"initial_learning_rate": 0.1, "decay_steps": )"
            + steps + "}}}}}"));
  };
  EXPECT_EQ(of("10000000"), "imported");
  EXPECT_EQ(of("9007199254740992"), "imported");
  for (char const* const steps : {"0", "-3", "2.5", "1e300"}) EXPECT_NE(of(steps), "imported") << steps;
  EXPECT_NE(of("0").find("expected a whole number of at least 1"), std::string::npos) << of("0");
}

TEST(keras_schedules, with_unknown_or_unsupported_options_are_refused) {
  auto const of = [](std::string const& class_name, std::string const& config,
                     std::string const& others = {}) {
    return config_refusal(sequential(
        {input_json("x", "[null,4]"), layer_json("d", "Dense", R"("units": 1)")},
        R"(, "compile_config": {"loss": "mse", "optimizer": {"class_name": "SGD", "config": {"learning_rate":
           {"class_name": ")"
            + class_name + R"(", "config": {"name": "s", )" + config + "}}" + others + "}}}"));
  };
  std::string const rate = R"("initial_learning_rate": 0.1, )", steps = rate + R"("decay_steps": 9, )";
  for (auto const& [class_name, config] : std::vector<std::pair<std::string, std::string>>{
           {"ExponentialDecay", steps + R"("decay_rate": 0.9, "staircase": true)"},
           {"ExponentialDecay", steps + R"("decay_rate": 0.9, "staircase": false)"},
           {"InverseTimeDecay", steps + R"("decay_rate": 0.9, "staircase": false)"},
           {"PolynomialDecay", steps + R"("end_learning_rate": 0, "power": 2, "cycle": false)"},
           {"CosineDecay", steps + R"("alpha": 0.1, "warmup_target": null, "warmup_steps": 3)"},
           {"CosineDecayRestarts", rate + R"("first_decay_steps": 9, "t_mul": 2, "m_mul": 1, "alpha": 0.1)"},
           {"PiecewiseConstantDecay", R"("boundaries": [5], "values": [0.1, 0.2])"}}) {
    EXPECT_EQ(of(class_name, config), "imported") << class_name;
    EXPECT_EQ(of(class_name, config + R"(, "future": 1)"),
              config_message("the field future is not imported", ", optimizer SGD, learning_rate",
                             ": expected no such field, or null, got a value"))
        << class_name;
  }
  EXPECT_EQ(of("CosineDecay", steps + R"("warmup_target": 0.2, "warmup_steps": 0)"),
            config_message("Keras decays after the warm-up, Cohort's schedule starts with it",
                           ", optimizer SGD, learning_rate",
                           ": expected warmup_target None, got warmup_target 0.200000"));
  EXPECT_EQ(of("CosineDecay", steps + R"("alpha": 0)", R"(, "decay": 0.1)"),
            config_message("Keras multiplies the schedule by a decay, Cohort's schedules have none",
                           ", optimizer SGD", ": expected decay 0, got decay 0.100000"));
}

// ---- files -----------------------------------------------------------------------------------------------

std::string refusal_of_file(std::string const& path, keras_options const& how = {}) {
  try {
    load_keras(path, how);
    return "imported";
  } catch (error const& problem) {
    return without_remedy(problem.what());
  }
}

/// cnn_keras2.h5, of which the other copy says that Theano saved it: its kernels are reversed.
TEST(keras_backends, of_theano_reverse_the_kernels_of_convolutions) {
  std::string const path =
      std::filesystem::temp_directory_path() / (std::to_string(::getpid()) + "theano.h5");
  std::ifstream from(folder + "cnn_keras2.h5", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(from)), std::istreambuf_iterator<char>());
  std::size_t const at = bytes.find("tensorflow");
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 10, std::string("theano\0\0\0\0", 10));
  std::ofstream(path, std::ios::binary) << bytes;
  training const plain = load_imported<reference<double>>(load_keras(folder + "cnn_keras2.h5")),
                 flipped = load_imported<reference<double>>(load_keras(path));
  parameter_set const &before = plain.parameters(), &after = flipped.parameters();
  int convolutions = 0;
  for (int p = 0; p < static_cast<int>(before.table().size()); ++p) {
    shape const dims = before.table()[static_cast<std::size_t>(p)].spec.dims;
    std::vector<double> expected(static_cast<std::size_t>(dims.elements())), got(expected.size());
    before.read(p, before.master(), reinterpret_cast<std::byte*>(expected.data()));
    after.read(p, after.master(), reinterpret_cast<std::byte*>(got.data()));
    if (dims.rank == 4) {
      ++convolutions;
      auto const area = static_cast<std::ptrdiff_t>(dims[2]) * dims[3];
      for (auto kernel = expected.begin(); kernel != expected.end(); kernel += area)
        std::reverse(kernel, kernel + area);
    }
    EXPECT_EQ(got, expected) << before.table()[static_cast<std::size_t>(p)].name;
  }
  EXPECT_GT(convolutions, 0);
  std::filesystem::remove(path);
}

TEST(keras_weights, are_read_from_a_separate_file_for_a_json_configuration_only) {
  std::string const weights = folder + "cnn.weights.h5";
  std::ifstream file(folder + "cnn.json");
  std::string const config((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_NO_THROW(load_imported<reference<double>>(from_keras_config(config, {.weights = weights})));
  for (char const* const name : {"cnn.keras", "cnn.h5"})
    EXPECT_EQ(refusal_of_file(folder + name, {.weights = weights}),
              "cannot import the Keras model: only a configuration .json needs a file of weights (" + folder
                  + name + "): expected no keras_options::weights, got " + weights);
  EXPECT_EQ(refusal_of_file(folder + "cnn.json", {.weights = "/nowhere/a.weights.h5"}),
            "cannot open the file (/nowhere/a.weights.h5): No such file or directory");
  auto const size = [](std::string const& path) { return std::to_string(std::filesystem::file_size(path)); };
  EXPECT_EQ(refusal_of_file(folder + "cnn.json", {.max_bytes = 100}),
            "the file is too large (" + folder + "cnn.json): expected at most 100 bytes, got "
                + size(folder + "cnn.json") + " bytes");
  EXPECT_EQ(refusal_of_file(folder + "cnn.json", {.weights = weights, .max_bytes = 10'000}),
            "the file is too large (" + weights + "): expected at most 10000 bytes, got " + size(weights)
                + " bytes");
}

TEST(keras_constants, may_vary_only_along_the_channel_axis) {
  // x * constant, where x has 4 steps and 4 channels.
  auto const product = [](std::string const& constant) {
    return R"({"class_name": "Functional", "config": {"name": "m", "layers": [
      {"class_name": "InputLayer", "config": {"batch_shape": [null, 4, 4], "dtype": "float32", "name": "x"},
       "name": "x", "inbound_nodes": []},
      {"class_name": "Multiply", "registered_name": "Multiply", "module": "keras.src.ops.numpy",
       "config": {"name": "multiply"}, "name": "multiply", "inbound_nodes": [{"args": [
         {"class_name": "__keras_tensor__",
          "config": {"shape": [null, 4, 4], "dtype": "float32", "keras_history": ["x", 0, 0]}},
         {"class_name": "__numpy__", "config": {"value": )"
           + constant + R"(, "dtype": "float32"}}], "kwargs": {}}]}],
      "input_layers": ["x", 0, 0], "output_layers": ["multiply", 0, 0]}})";
  };
  keras_options const untrained{.training = false};
  for (char const* const channels : {"[1, 2, 3, 4]", "[[1, 2, 3, 4]]", "[[[1, 2, 3, 4]]]", "2", "[[2]]"})
    EXPECT_NO_THROW(from_keras_config(product(channels), untrained)) << channels;
  for (char const* const steps : {"[[1], [2], [3], [4]]", "[[[1], [2], [3], [4]]]", "[[1, 2], [3, 4]]"}) try {
      from_keras_config(product(steps), untrained);
      ADD_FAILURE() << steps;
    } catch (data_error const& refusal) {
      EXPECT_NE(std::string(refusal.what()).find("lie along another axis than the channels"),
                std::string::npos)
          << refusal.what();
    }
}

}  // namespace keras_options_test
