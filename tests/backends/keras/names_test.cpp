// SPDX-License-Identifier: Apache-2.0
// The output that has a name of a Keras model equals the output of the layer with this name in Keras. Masks
// are passed, dropped or computed as in Keras: golden/keras/names.txt and masks.txt.
// covers: keras
#include <gtest/gtest.h>

#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/keras/detail/import_keras.hpp>
#include <cohort/keras/detail/keras_translation.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/training/load.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include "keras_cases.hpp"
#include "keras_models.hpp"

using namespace cohort;

namespace keras_names_test {

imported_model imported(keras_case const& one, keras_options const& how = {}) {
  named_waves const weights;
  return detail::import_keras(one.config, "Keras configuration", how, {3, 15}, nullptr, &weights);
}

keras_case case_named(std::string const& name) {
  for (keras_case const& one : read_keras_cases("names.txt").cases)
    if (one.name == name) return one;
  ADD_FAILURE() << "no case " << name;
  return {};
}

imported_model imported(std::string const& config) {
  named_waves const weights;
  return detail::import_keras(config, "Keras configuration", {}, {3, 15}, nullptr, &weights);
}

std::vector<std::vector<float>> outputs_of(imported_model const& model,
                                           std::vector<std::string> const& layers,
                                           std::vector<tensor_view> inputs) {
  batch_view data;
  data.count = inputs[0].dims[0];
  data.inputs = std::move(inputs);
  training const run = load_imported<reference<float>>(model);
  std::vector<std::vector<float>> values;
  for (predictions const& one : run.outputs_of(layers, data)) values.push_back(one.values);
  return values;
}

/// Derived names: a/dense is the part of a layer a before its activation, d@2 the second call of a layer d.
TEST(keras_names, of_layers_have_precedence_over_equal_derived_names) {
  using namespace keras_models;
  std::vector<float> const x{1, -2, 3, 0.5F, 2, -1};
  tensor_view const rows(x.data(), {2, 3});
  imported_model const parts = imported(sequential(
      {input_json("x", "[null, 3]"), layer_json("a", "Dense", R"("units": 2, "activation": "relu")"),
       layer_json("a/dense", "Dense", R"("units": 2)")}));
  auto const of_parts = outputs_of(parts, {"a", "a/dense"}, {rows});
  EXPECT_EQ(of_parts[1], outputs_of(parts, {}, {rows})[0]);
  EXPECT_NE(of_parts[0], of_parts[1]);
  auto const called_twice = [](std::string const& other) {
    return imported(
        functional({input_json("x", "[null, 3]"),
                    layer_json("d", "Dense", R"("units": 3)", R"([[["x",0,0,{}]],[["d",0,0,{}]]])"),
                    layer_json(other, "Dense", R"("units": 3)", R"([[["x",0,0,{}]]])"),
                    layer_json("sum", "Add", "", R"([[["d",1,0,{}],[")" + other + R"(",0,0,{}]]])")},
                   R"([["x",0,0]])", R"([["sum",0,0]])"));
  };
  EXPECT_EQ(outputs_of(called_twice("d@2"), {"d@2", "sum"}, {rows}),
            outputs_of(called_twice("other"), {"other", "sum"}, {rows}));
}

/// The loss computes the softmax of the last layer of the nested model, and has its name.
TEST(keras_names, refer_to_the_nested_layer_if_the_loss_computes_its_softmax) {
  using namespace keras_models;
  std::string const nested = R"({"class_name": "Sequential", "config": {"name": "head", "layers": [)"
                             + layer_json("probs", "Dense", R"("units": 3, "activation": "softmax")") + "]}}";
  std::vector<float> const x{1, -2, 3, 0.5F, 2, -1};
  imported_model const model = imported(
      sequential({input_json("x", "[null, 3]"), nested},
                 R"(, "compile_config": {"loss": "sparse_categorical_crossentropy", "optimizer": "sgd"})"));
  EXPECT_EQ(model.outputs, std::vector<std::string>{"head/probs"});
  auto const both = outputs_of(model, {"head/probs"}, {tensor_view(x.data(), {2, 3})});
  EXPECT_NEAR(static_cast<double>(both[0][0] + both[0][1] + both[0][2]), 1, 1e-6);
}

TEST(keras_names, of_layers_must_differ_even_from_names_inside_nested_models) {
  using namespace keras_models;
  std::string const nested = R"({"class_name": "Sequential", "config": {"name": "enc", "layers": [)"
                             + layer_json("d", "Dense", R"("units": 3)") + "]}}";
  EXPECT_EQ(config_refusal(sequential(
                {input_json("x", "[null, 3]"), nested, layer_json("other", "Dense", R"("units": 3)")})),
            "imported");
  EXPECT_NE(config_refusal(sequential({input_json("x", "[null, 3]"), nested,
                                       layer_json("enc/d", "Dense", R"("units": 3)")}))
                .find("two layers have the name enc/d"),
            std::string::npos);
}

TEST(keras_names, select_the_outputs_of_the_keras_layers) {
  std::vector<keras_case> const cases = read_keras_cases("names.txt").cases;
  EXPECT_GE(cases.size(), 29U);
  std::set<std::string> refused;
  int compared = 0;
  for (keras_case const& one : cases) {
    imported_model const model = imported(one);
    training const run = load_imported<reference<double>>(model);
    EXPECT_EQ(compare_outputs(run, model, one), "") << one.name;
    keras_batch const batch(one);
    for (keras_tensor const& layer : one.inner) {
      std::vector<predictions> made;
      try {
        made = run.outputs_of({layer.name}, batch.view);
      } catch (setting_error const& problem) {
        EXPECT_EQ(problem.why().what, "the network has no layer with this name");
        refused.insert(one.name + ": " + layer.name);
        continue;
      }
      EXPECT_FALSE(layer.dims.empty()) << one.name << ": " << layer.name << " has several outputs";
      EXPECT_EQ(compare_output(made[0], layer), "") << one.name << ": " << layer.name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 120);
  // Layers with several outputs, models, flattened images in another order, and layers that compute nothing.
  EXPECT_EQ(refused, (std::set<std::string>{"images: flat", "images: order", "nested: drop", "nested: inner",
                                            "recurrent: apart", "recurrent: states"}));
}

// ---- masks ------------------------------------------------------------------------------------------------

TEST(keras_masks, pass_through_the_same_layer_classes_as_in_keras) {
  std::ifstream file(COHORT_SOURCE_DIR "/tests/golden/keras/masks.txt");
  ASSERT_TRUE(file);
  int classes = 0;
  for (std::string name, output, use; file >> name >> output >> use; ++classes)
    EXPECT_EQ(detail::keeps_keras_mask(name), output == "passes" || use == "uses") << name;
  EXPECT_GT(classes, 90);
}

/// Rows of a case, with or without a mask, and classes as targets.
struct padded_rows {
  std::vector<float> x{};
  std::vector<std::int32_t> const labels{0, 1};
  std::vector<std::uint8_t> mask{};

  explicit padded_rows(keras_case const& one) {
    for (double const number : one.inputs[0].values) x.push_back(static_cast<float>(number));
    for (std::size_t i = 0; i < x.size(); i += 3)
      mask.push_back(x[i] != -1 || x[i + 1] != -1 || x[i + 2] != -1);
  }
};

std::string const trained_config = [] {
  using namespace keras_models;
  std::string const compile =
      R"(, "compile_config": {"loss": "sparse_categorical_crossentropy", "optimizer": "sgd"})";
  return sequential({input_json("x", "[null, 5, 3]"), layer_json("mask", "Masking", R"("mask_value": -1)"),
                     layer_json("steps", "LSTM", R"("units": 3)"),
                     layer_json("out", "Dense", R"("units": 2, "activation": "softmax")")},
                    compile);
}();

TEST(keras_masks, of_masking_layers_are_computed_if_the_batch_has_no_mask) {
  keras_case const one = case_named("masked_1");
  padded_rows const rows(one);
  tensor_view const x(rows.x.data(), {2, 5, 3}), mask(rows.mask.data(), {2, 5});
  auto const batch_of = [&](std::vector<tensor_view> masks) {
    batch_view made;
    made.inputs = {x};
    made.masks = std::move(masks);
    made.count = 2;
    return made;
  };
  batch_view const plain = batch_of({}), masked = batch_of({mask});

  imported_model const model = imported(one);
  training run = load_imported<reference<float>>(model);
  predictions const made = run.predict(x);
  EXPECT_EQ(compare_output(made, one.outputs[0]), "");
  EXPECT_EQ(made.values, run.predict(masked).values);
  std::vector<std::uint8_t> const all(10, 1);
  EXPECT_NE(made.values, run.predict(batch_of({tensor_view(all.data(), {2, 5})})).values);

  std::string const path = testing::TempDir() + "keras_masks.cohort";
  run.save(path);
  EXPECT_EQ(load_trained<reference<float>>(path).predict(x).values, made.values);
  std::filesystem::remove(path);

  auto const trained = [&](bool with_mask) {
    named_waves const weights;
    training again = load_imported<reference<float>>(
        detail::import_keras(trained_config, "config", {}, {3, 15}, nullptr, &weights));
    batch_view batch = with_mask ? masked : plain;
    batch.targets = {tensor_view(rows.labels.data(), shape{2})};
    std::vector<double> losses;
    for (int step = 0; step < 3; ++step) losses.push_back(again.train_on(batch).loss);
    losses.push_back(again.loss_of(batch));
    return std::pair(losses, again.checksum());
  };
  EXPECT_EQ(trained(false), trained(true));
}

TEST(keras_masks, by_padding_value_cannot_be_combined_with_normalisation) {
  training run = load_imported<reference<float>>(imported(case_named("masked_1")));
  normalisation how;
  how.inputs = {{{2, 0}, {2, 0}, {2, 0}}};
  try {
    run.normalise(how);
    ADD_FAILURE();
  } catch (shape_error const& problem) {
    EXPECT_EQ(
        problem.why().expected,
        "no maps for an input whose padding is marked by a value, which the maps would change: normalise "
        "the steps before they are padded");
  }
}

TEST(keras_masks, that_keras_drops_are_refused_unless_padding_is_zero) {
  using namespace keras_models;
  auto const refusal = [](std::string const& class_name, std::string const& config) {
    return config_refusal(
        sequential({input_json("x", "[null, 5, 3]"), layer_json("mask", "Masking", ""),
                    layer_json("each", "Dense", R"("units": 3)"), layer_json("layer", class_name, config)}));
  };
  std::string const expected = config_message(
      "Keras computes this layer with the padding of the masked sequence, which Cohort excludes",
      ", layer layer", ": expected a sequence without mask, got a masked sequence");
  EXPECT_EQ(refusal("RMSNormalization", ""), expected);
  EXPECT_EQ(refusal("EinsumDense", R"("equation": "abc,cd->abd", "output_shape": [null, 2])"), expected);
  EXPECT_EQ(refusal("Conv1D", R"("filters": 2, "kernel_size": 3, "padding": "same")"), expected);
  EXPECT_EQ(refusal("Flatten", ""), expected);
  EXPECT_EQ(refusal("GlobalMaxPooling1D", ""), expected);
  EXPECT_EQ(refusal("Softmax", ""), expected);
  EXPECT_EQ(refusal("LayerNormalization", ""), "imported");
  EXPECT_EQ(config_refusal(sequential({input_json("x", "[null, 5, 3]"), layer_json("mask", "Masking", ""),
                                       layer_json("layer", "Softmax", "")})),
            expected);
  auto const refusal_of_readers = [](std::string const& first, std::string const& second) {
    return config_refusal(functional({input_json("x", "[null, 5, 3]"), first, second,
                                      layer_json("sum", "Add", "", R"([[["a",0,0,{}],["b",0,0,{}]]])")},
                                     R"([["x",0,0]])", R"([["sum",0,0]])"));
  };
  auto const message_with = [](std::string const& readers) {
    return config_message(
        "the input x of a Masking layer is also read by other layers, with another mask or without", "",
        ": expected an input that only Masking layers read, with the same mask_value, got " + readers);
  };
  EXPECT_EQ(refusal_of_readers(layer_json("a", "Masking", R"("mask_value": 1)", calls({"x"})),
                               layer_json("b", "Masking", R"("mask_value": 2)", calls({"x"}))),
            message_with("2 readers, 2 of them Masking"));
  EXPECT_EQ(refusal_of_readers(layer_json("a", "Masking", "", calls({"x"})),
                               layer_json("b", "ReLU", "", calls({"x"}))),
            message_with("2 readers, 1 of them Masking"));
}

/// Keras 3 passes no mask to a layer with a second tensor argument, such as initial_state: these layers read
/// the padding, which is 0 after Masking.
TEST(keras_masks, are_not_passed_to_recurrent_layers_with_initial_states_by_keras_3) {
  using namespace keras_models;
  auto const tensor = [](std::string const& name) {
    return R"({"class_name": "__keras_tensor__", "config": {"keras_history": [")" + name + R"(", 0, 0]}})";
  };
  auto const model = [&](bool is_masked, std::string const& class_name, std::string const& config) {
    std::string const first = is_masked ? "mask" : "linear";
    return imported(
        functional({input_json("x", "[null, 5, 3]"), input_json("state", "[null, 2]"),
                    is_masked ? layer_json("mask", "Masking", R"("mask_value": 0.0)",
                                           R"([{"args": [)" + tensor("x") + R"(], "kwargs": {}}])")
                              : layer_json("linear", "Activation", R"("activation": "linear")",
                                           R"([{"args": [)" + tensor("x") + R"(], "kwargs": {}}])"),
                    layer_json("steps", class_name, config,
                               R"([{"args": [)" + tensor(first) + R"(], "kwargs": {"initial_state": )"
                                   + tensor("state") + "}}]")},
                   R"([["x",0,0],["state",0,0]])", R"([["steps",0,0]])"));
  };
  std::vector<float> x(2 * 5 * 3);
  for (std::size_t i = 0; i < 9; ++i)
    x[i] = x[15 + i] = 0.1F * static_cast<float>(i + 1);  // then 2 steps of padding
  std::vector<float> const state{0.3F, -0.2F, 0.1F, 0.4F};
  std::vector<tensor_view> const inputs{tensor_view(x.data(), {2, 5, 3}), tensor_view(state.data(), {2, 2})};
  for (std::string const class_name : {"GRU", "SimpleRNN"})
    EXPECT_EQ(outputs_of(model(true, class_name, R"("units": 2)"), {}, inputs),
              outputs_of(model(false, class_name, R"("units": 2)"), {}, inputs))
        << class_name;
  try {
    model(true, "GRU", R"("units": 2, "return_sequences": true)");
    ADD_FAILURE() << "the outputs of all steps keep the mask in Keras";
  } catch (error const& refused) {
    EXPECT_EQ(refused.why().expected, "a sequence without mask");
  }
}

TEST(keras_masks, passed_as_arguments_must_be_the_mask_of_the_layers_input) {
  using namespace keras_models;
  auto const tensor = [](std::string const& name) {
    return R"({"class_name": "__keras_tensor__", "config": {"keras_history": [")" + name + R"(", 0, 0]}})";
  };
  auto const call = [](std::string const& arguments, std::string const& named = "") {
    return R"([{"args": [)" + arguments + R"(], "kwargs": {)" + named + "}}]";
  };
  auto const masked_by = [&](std::string const& input) {
    return config_refusal(functional(
        {input_json("x", "[null, 5, 3]"), input_json("y", "[null, 5, 3]"),
         layer_json("mask", "Masking", "", call(tensor("x"))),
         layer_json("other", "Masking", "", call(tensor("y"))),
         layer_json("differs", "NotEqual", "", call(tensor(input) + ", 0.0")),
         layer_json("any", "Any", R"("axis": -1, "keepdims": false)", call(tensor("differs"))),
         layer_json("last", "LSTM", R"("units": 2)", call(tensor("mask"), R"("mask": )" + tensor("any"))),
         layer_json("mean", "GlobalAveragePooling1D", "", call(tensor("other")))},
        R"([["x",0,0],["y",0,0]])", R"([["last",0,0],["mean",0,0]])"));
  };
  EXPECT_EQ(masked_by("x"), "imported");
  EXPECT_EQ(
      masked_by("y"),
      config_message("an explicit mask is an argument of the layer, and Cohort derives masks from inputs",
                     ", layer last", ": expected the mask of the layer's input, got another mask"));
}

}  // namespace keras_names_test
