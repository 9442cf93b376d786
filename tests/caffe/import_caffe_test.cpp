// SPDX-License-Identifier: Apache-2.0
// covers: caffe/caffe_model
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/caffe/detail/caffe_importer.hpp>
#include <cohort/caffe/import_caffe.hpp>
#include <cohort/io/file.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/training/trainer.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "../checkpoint/refusals.hpp"
#include "../golden/golden_cases.hpp"

namespace import_caffe_test {

using namespace cohort;
using numbers = std::vector<float>;

constexpr auto train = caffe_state::phases::train;
std::string const folder = COHORT_SOURCE_DIR "/tests/golden/caffe/";

/// Imports a network from a text.
caffe_model imported(std::string const& text, caffe_import_settings const& settings = {}) {
  return import_caffe(parse_prototxt(text, "net.prototxt"), "", settings);
}
std::string refused(std::string const& text, caffe_import_settings const& settings = {}) {
  return refusal_of<graph_error>([&] { imported(text, settings); });
}
std::string const input =
    "layer { name: 'data' type: 'Input' top: 'data' top: 'label' input_param { shape { dim: 2 dim: 4 dim: 6 "
    "dim: 6 } "
    "shape { dim: 2 } } }\n";
/// A network of the input above and one layer.
std::string one(std::string const& layer) { return input + "layer { name: 'l' " + layer + " }"; }

/// Runs a network whose parameters are all known or constant.
numbers outputs(caffe_model const& made, std::string const& layer, std::vector<tensor_view> const& inputs) {
  training run = load_imported<reference<float>>(made.model);
  return run.outputs_of({layer}, inputs)[0].values;
}

void expect_near(numbers const& have, std::vector<double> const& wanted, double tolerance,
                 std::string const& where) {
  ASSERT_EQ(have.size(), wanted.size()) << where;
  for (std::size_t i = 0; i < have.size(); ++i)
    EXPECT_NEAR(static_cast<double>(have[i]), wanted[i], tolerance * (1 + std::abs(wanted[i])))
        << where << ' ' << i;
}

// The values are rounded to 9 digits, and OpenCV computes in float.
TEST(import_caffe, outputs_equal_those_of_opencv_and_of_the_definitions) {
  auto const cases = read_golden_cases("caffe.txt");
  for (auto const& [name, values] : cases) {
    bool const has_weights = name != "pooling";
    caffe_model const made =
        import_caffe(folder + name + ".prototxt", has_weights ? folder + name + ".caffemodel" : "");
    std::vector<double> const& all = numbers_of(values, "input");
    numbers data(all.begin(), all.end());
    int const batch = static_cast<int>(numbers_of(values, "batch")[0]);
    graph_view const net = made.model.network();
    std::vector<numbers> parts;
    std::vector<tensor_view> views;
    std::size_t at_input = 0;
    std::size_t const row = data.size() / static_cast<std::size_t>(batch);
    for (std::size_t i = 0; i < made.model.inputs.size(); ++i) {
      shape const dims = net[static_cast<int>(i)].output;
      auto const size = static_cast<std::size_t>(dims.elements());
      numbers part;
      for (std::size_t n = 0; n < static_cast<std::size_t>(batch); ++n)
        part.insert(part.end(), data.begin() + static_cast<std::ptrdiff_t>(n * row + at_input),
                    data.begin() + static_cast<std::ptrdiff_t>(n * row + at_input + size));
      parts.push_back(std::move(part));
      at_input += size;
    }
    for (std::size_t i = 0; i < parts.size(); ++i)
      views.emplace_back(parts[i].data(), net[static_cast<int>(i)].output.batched(batch));
    EXPECT_EQ(at_input, row) << name;
    for (auto const& [key, tensors] : values)
      if (key.starts_with("output "))
        expect_near(outputs(made, made.blobs.at(key.substr(7)), views), tensors[0].values, 1e-5,
                    name + ' ' + key);
  }
  EXPECT_EQ(cases.size(), 4U);
}

TEST(import_caffe, writes_a_caffemodel_that_reads_back) {
  for (std::string const name : {"convnet", "branches", "recurrent"}) {
    caffe_model const made = import_caffe(folder + name + ".prototxt", folder + name + ".caffemodel");
    training run = load_imported<reference<float>>(made.model);
    std::string const path = testing::TempDir() + name + "_written.caffemodel";
    save_caffemodel(made, run.parameters(), path);
    caffe_model const again = import_caffe(folder + name + ".prototxt", path);
    training second = load_imported<reference<float>>(again.model);
    EXPECT_EQ(run.checksum(), second.checksum()) << name;
    std::remove(path.c_str());
  }
}

TEST(import_caffe, imports_or_refuses_each_type_of_the_catalogue) {
  // The types that BVLC's Caffe and CaffeOnSpark register, and the base of the recurrent layers.
  std::map<std::string, bool> const catalogue{{"AbsVal", true},
                                              {"Accuracy", true},
                                              {"ArgMax", false},
                                              {"BNLL", true},
                                              {"BatchNorm", true},
                                              {"BatchReindex", false},
                                              {"Bias", true},
                                              {"Clip", true},
                                              {"CoSData", true},
                                              {"Concat", true},
                                              {"ContrastiveLoss", false},
                                              {"Convolution", true},
                                              {"Crop", true},
                                              {"Data", true},
                                              {"Deconvolution", true},
                                              {"Dropout", true},
                                              {"DummyData", true},
                                              {"ELU", true},
                                              {"Eltwise", true},
                                              {"Embed", true},
                                              {"EuclideanLoss", true},
                                              {"Exp", false},
                                              {"Filter", false},
                                              {"Flatten", true},
                                              {"HDF5Data", true},
                                              {"HDF5Output", false},
                                              {"HingeLoss", true},
                                              {"Im2col", false},
                                              {"ImageData", true},
                                              {"InfogainLoss", false},
                                              {"InnerProduct", true},
                                              {"Input", true},
                                              {"LRN", true},
                                              {"LSTM", true},
                                              {"LSTMUnit", false},
                                              {"Log", false},
                                              {"MVN", false},
                                              {"MemoryData", true},
                                              {"MultinomialLogisticLoss", true},
                                              {"PReLU", true},
                                              {"Parameter", false},
                                              {"Pooling", true},
                                              {"Power", true},
                                              {"Python", false},
                                              {"RNN", true},
                                              {"ReLU", true},
                                              {"Recurrent", false},
                                              {"Reduction", true},
                                              {"Reshape", true},
                                              {"SPP", true},
                                              {"Scale", true},
                                              {"Sigmoid", true},
                                              {"SigmoidCrossEntropyLoss", true},
                                              {"Silence", true},
                                              {"Slice", true},
                                              {"Softmax", true},
                                              {"SoftmaxWithLoss", true},
                                              {"Split", true},
                                              {"Swish", true},
                                              {"TanH", true},
                                              {"Threshold", false},
                                              {"Tile", true},
                                              {"WindowData", true}};
  for (auto const& [type, is_imported] : catalogue) {
    EXPECT_EQ(detail::caffe_importer::imports(type), is_imported) << type;
    EXPECT_EQ(detail::caffe_importer::refusal_of(type).empty(), is_imported) << type;
    if (is_imported) continue;
    std::string const text = refused(one("type: '" + type + "' bottom: 'data' top: 'y'"));
    EXPECT_NE(
        text.find("layers of this type are not imported (net.prototxt:2:7, layer \"l\" of type \"" + type),
        std::string::npos)
        << text;
  }
  EXPECT_NE(
      refused(one("type: 'Convolutio' bottom: 'data' top: 'y'")).find("the nearest type is Convolution"),
      std::string::npos);
}

TEST(import_caffe, selects_layers_by_phase_level_and_stage) {
  std::string const text = input + R"(
layer { name: 'a' type: 'ReLU' bottom: 'data' top: 'y' include { phase: TRAIN } }
layer { name: 'b' type: 'TanH' bottom: 'data' top: 'y' exclude { phase: TRAIN } }
layer { name: 'c' type: 'Sigmoid' bottom: 'y' top: 'z' include { min_level: 2 max_level: 3 } include { stage: 's' not_stage: 't' } })";
  auto const names = [&](caffe_state const& state) {
    caffe_model const made = imported(text, {.state = state});
    graph_view const net = made.model.network();
    std::string all;
    for (int id = 1; id < net.size(); ++id) all += net.name(id);
    return all;
  };
  EXPECT_EQ(names({.phase = train}), "a");
  EXPECT_EQ(names({}), "b");
  EXPECT_EQ(names({.level = 2}), "bc");
  EXPECT_EQ(names({.level = 4}), "b");
  EXPECT_EQ(names({.stages = {"s"}}), "bc");
  EXPECT_EQ(names({.stages = {"s", "t"}}), "b");
}

TEST(import_caffe, reads_data_layers_losses_accuracies_and_rates) {
  std::string const text = R"(
layer { name: 'mnist' type: 'Data' top: 'data' top: 'label' transform_param { scale: 0.5 } data_param { source: 'x' batch_size: 4 } }
layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' param { lr_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
  inner_product_param { num_output: 3 weight_filler { type: 'xavier' } bias_filler { value: 0.25 } } }
layer { name: 'acc' type: 'Accuracy' bottom: 'ip' bottom: 'label' top: 'acc' accuracy_param { top_k: 2 } include { phase: TEST } }
layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' loss_weight: 0.5 })";
  caffe_import_settings const settings{.inputs = {{"data", {1, 2, 2}}}};
  caffe_model const made = imported(text, settings);
  ASSERT_EQ(made.data.size(), 1U);
  EXPECT_EQ(made.data[0].type, "Data");
  EXPECT_EQ(made.data[0].layer.message("transform_param").number("scale", 1), 0.5);
  ASSERT_EQ(made.targets.size(), 1U);
  EXPECT_EQ(made.targets[0].loss, "loss");
  EXPECT_EQ(made.targets[0].top, "label");
  ASSERT_EQ(made.accuracies.size(), 1U);
  EXPECT_EQ(made.accuracies[0].scores, "loss");
  EXPECT_EQ(made.accuracies[0].top_k, 2);
  EXPECT_EQ(made.rates, (std::vector<caffe_rates>{{.layer = "ip", .bias_rate = 2, .bias_decay = 0}}));
  graph_view const net = made.model.network();
  int const ip = net.find("ip");
  EXPECT_EQ(*net[ip].settings.weights, initialiser(init::uniform{std::sqrt(3.0 / 4)}));
  EXPECT_EQ(*net[ip].settings.bias, initialiser(init::constant{0.25}));
  training_settings const with =
      made.settings_with([](double factor) { return sgd{.learning_rate = 0.1 * factor}; }, 0.01);
  parameter_rule const weights = with.optimizer.rule_of("ip", parameter_role::weights),
                       bias = with.optimizer.rule_of("ip", parameter_role::biases);
  EXPECT_EQ(weights.rule, optimizer_rule(sgd{.learning_rate = 0.1}));
  EXPECT_EQ(weights.penalty.l2, 0.01);
  EXPECT_EQ(bias.rule, optimizer_rule(sgd{.learning_rate = 0.2}));
  EXPECT_EQ(bias.penalty.l2, 0);
  EXPECT_NE(refused(text).find("set caffe_import_settings::inputs (cohort import: --input)"),
            std::string::npos);
  EXPECT_NE(refusal_of<setting_error>([&] {
              imported(text, {.inputs = {{"dat", {1}}}});
            }).find("nearest name is data"),
            std::string::npos);
}

TEST(import_caffe, accuracies_of_positions_have_the_scores_of_a_loss) {
  std::string const net =
      "layer { name: 'd' type: 'Input' top: 'x' top: 't' input_param { shape { dim: [1, 2, 3, 4] } shape { "
      "dim: [1, 1, 3, 4] } } } layer { name: 'y' type: 'Scale' bottom: 'x' top: 'y' }"
      "layer { name: 'acc' type: 'Accuracy' bottom: 'y' bottom: 't' top: 'acc' }";
  std::string const loss =
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'y' bottom: 't' top: 'loss' }";
  EXPECT_EQ(imported(net + loss).accuracies.at(0).scores, "loss");
  EXPECT_NE(refused(net).find("layer \"acc\" of type \"Accuracy\"): expected a SoftmaxWithLoss layer"),
            std::string::npos);
}

/// Loss of one step of training, from the loss layer and its bottoms.
double loss_of(std::string const& layer, shape const& x, numbers const& values, tensor_view const& target) {
  caffe_model const made = imported(
      "layer { name: 'd' type: 'HDF5Data' top: 'x' top: 't' } layer { name: 'ip' type: "
      "'Scale' bottom: 'x' top: 'y' } layer { name: 'loss' bottom: 'y' bottom: 't' top: 'loss' "
          + layer + " }",
      {.state = {.phase = train}, .inputs = {{"x", x}}});
  training run = trainer<reference<double>>(made.model.network());
  int const batch = static_cast<int>(static_cast<std::int64_t>(values.size()) / x.elements());
  tensor_view const input_view(values.data(), x.batched(batch));
  return run.loss_of(batch_view(input_view, target));
}

TEST(import_caffe, losses_have_the_normalisation_of_caffe) {
  numbers const x{1, 2, -1, 0.5F, 0, 3};
  std::vector<std::int32_t> const labels{1, 2};
  auto const cross_entropy = [&](std::size_t row, std::size_t label) {
    double sum = 0;
    for (std::size_t c = 0; c < 3; ++c) sum += std::exp(static_cast<double>(x[3 * row + c]));
    return std::log(sum) - static_cast<double>(x[3 * row + label]);
  };
  tensor_view const indices(labels.data(), {2});
  EXPECT_NEAR(loss_of("type: 'SoftmaxWithLoss' loss_weight: 2", {3}, x, indices),
              cross_entropy(0, 1) + cross_entropy(1, 2), 1e-6);
  EXPECT_NEAR(loss_of("type: 'SoftmaxWithLoss' loss_param { ignore_label: 2 }", {3}, x, indices),
              cross_entropy(0, 1), 1e-6);
  numbers const targets{1, 0, 0, 1, 1, 0};
  tensor_view const wanted(targets.data(), {2, 3});
  double squares = 0, entropies = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    auto const v = static_cast<double>(x[i]), t = static_cast<double>(targets[i]);
    squares += (v - t) * (v - t);
    entropies += std::log1p(std::exp(v)) - v * t;
  }
  EXPECT_NEAR(loss_of("type: 'EuclideanLoss'", {3}, x, wanted), squares / 4, 1e-6);
  EXPECT_NEAR(loss_of("type: 'SigmoidCrossEntropyLoss'", {3}, x, wanted), entropies / 2, 1e-6);
  EXPECT_NEAR(loss_of("type: 'SigmoidCrossEntropyLoss' loss_param { normalize: true }", {3}, x, wanted),
              entropies / 6, 1e-6);
  // Hinge: labels 0 and 1, which the data adapter writes as numbers.
  numbers const classes{1, 0, 0, 0, 1, 0};
  tensor_view const one_hot(classes.data(), {2, 3});
  EXPECT_NEAR(loss_of("type: 'HingeLoss'", {3}, x, one_hot), (0 + 3 + 0 + 1.5 + 1 + 4) / 2, 1e-6);
}

TEST(import_caffe, classes_per_position_have_labels_in_row_major_order) {
  numbers const x{1, 2, 0, 3, -1, 1, 0, 2};  // 2 classes, 2 x 2 positions
  std::vector<std::int32_t> const labels{1, 0, 255, 1};
  double wanted = 0;
  for (std::size_t p : {0U, 1U, 3U}) {
    double const a = static_cast<double>(x[p]), b = static_cast<double>(x[4 + p]);
    wanted += std::log(std::exp(a) + std::exp(b)) - (labels[p] == 0 ? a : b);
  }
  tensor_view const indices(labels.data(), {1, 4});
  EXPECT_NEAR(loss_of("type: 'SoftmaxWithLoss' loss_param { ignore_label: 255 }", {2, 2, 2}, x, indices),
              wanted / 3, 1e-6);
  EXPECT_NEAR(loss_of("type: 'SoftmaxWithLoss' loss_param { ignore_label: 255 normalization: BATCH_SIZE }",
                      {2, 2, 2}, x, indices),
              wanted, 1e-6);
}

TEST(import_caffe, shares_parameters_by_name) {
  std::string const param =
      "param { name: 'w' lr_mult: 3 } param { name: 'b' lr_mult: 3 } inner_product_param { ";
  auto const text = [&](std::string const& units) {
    return input + "layer { name: 'a' type: 'InnerProduct' bottom: 'data' top: 'a' " + param
           + "num_output: 4 axis: 3 } } layer { name: 'b' type: 'InnerProduct' bottom: 'data' top: 'b' "
           + param + "axis: 3 num_output: " + units + " } }";
  };
  caffe_model const made = imported(text("4"));
  graph_view const net = made.model.network();
  EXPECT_EQ(net.owner(net.find("b")), net.find("a"));
  EXPECT_EQ(made.rates, (std::vector<caffe_rates>{{.layer = "a", .weights_rate = 3, .bias_rate = 3}}));
  EXPECT_NE(refused(text("5")).find("the layer dense cannot be built"), std::string::npos);
}

TEST(import_caffe, names_what_it_refuses) {
  auto const expect = [&](std::string const& layer, std::string const& part) {
    std::string const text = refused(one(layer));
    EXPECT_NE(text.find(part), std::string::npos) << layer << '\n' << text;
    EXPECT_NE(text.find("layer \"l\" of type"), std::string::npos) << text;
  };
  expect("type: 'Pooling' bottom: 'data' top: 'y' pooling_param { pool: STOCHASTIC kernel_size: 2 }",
         "at random");
  expect("type: 'Pooling' bottom: 'data' top: 'y' pooling_param { kernel_size: 1 stride: 4 }",
         "an empty window");
  expect("type: 'Power' bottom: 'data' top: 'y' power_param { power: 0.5 }", "this power");
  expect("type: 'ReLU' bottom: 'data' top: 'y' relu_param { negative_slope: 1.5 }", "this negative_slope");
  expect("type: 'Concat' bottom: 'data' bottom: 'data' top: 'y' concat_param { axis: 0 }", "along the batch");
  expect("type: 'Reduction' bottom: 'data' top: 'y'", "along the batch");
  expect("type: 'Reshape' bottom: 'data' top: 'y' reshape_param { shape { dim: 12 dim: -1 dim: 6 } }",
         "keep the batch");
  expect("type: 'SoftmaxWithLoss' bottom: 'data' bottom: 'data' top: 'y' loss_param { normalization: NONE }",
         "not divided");
  expect("type: 'ReLU' bottom: 'data' top: 'y' loss_weight: 1", "is no loss");
  expect("type: 'LSTM' bottom: 'data' bottom: 'label' top: 'y' recurrent_param { num_output: 2 }",
         "no sequences");
  expect("type: 'ReLU' bottom: 'missing' top: 'y'", "no earlier layer computes the bottom");
  expect("type: 'ReLU' bottom: 'label' top: 'data'", "two layers compute the blob");
  EXPECT_NE(refusal_of<data_error>([] {
              imported(one("type: 'ReLU' bottom: 'data' top: 'y' relu_param { slope: 1 }"));
            }).find("net.prototxt:2:76, field slope"),
            std::string::npos);
  EXPECT_NE(refusal_of<data_error>([] { imported("layers { layer { name: 'a' } }"); }).find("the format V0"),
            std::string::npos);
  for (char const* const data :
       {"data_param { sorce: 'x' }", "hdf5_data_param { sorce: 'x' }", "image_data_param { sorce: 'x' }",
        "memory_data_param { sorce: 'x' }", "window_data_param { sorce: 'x' }",
        "cos_data_param { sorce: 'x' }", "cos_data_param { top { sorce: 'x' } }",
        "cos_data_param { top { transform_param { sorce: 'x' } } }", "transform_param { sorce: 'x' }",
        "dummy_data_param { sorce: 'x' }", "input_param { shape { sorce: 'x' } }"})
    EXPECT_NE(refusal_of<data_error>([&] {
                caffe_data_layers(parse_prototxt("layer { type: 'Data' top: 'x' " + std::string(data) + " }",
                                                 "net.prototxt"),
                                  {});
              }).find("field sorce"),
              std::string::npos)
        << data;
}

TEST(import_caffe, refuses_numbers_that_are_not_finite) {
  std::string const dense =
      "type: 'InnerProduct' bottom: 'data' top: 'y' inner_product_param { num_output: 2 ";
  for (std::string const value : {"nan", "inf", "-inf", "1e40"})
    for (std::string const& layer :
         {dense + "weight_filler { type: 'uniform' min: V max: 1 } }",
          dense + "weight_filler { type: 'uniform' min: 0 max: V } }",
          dense + "weight_filler { type: 'gaussian' mean: V } }",
          dense + "weight_filler { type: 'gaussian' std: V } }", dense + "bias_filler { value: V } }",
          std::string("type: 'Power' bottom: 'data' top: 'y' power_param { shift: V }"),
          std::string("type: 'Power' bottom: 'data' top: 'y' power_param { scale: V }"),
          std::string("type: 'LRN' bottom: 'data' top: 'y' lrn_param { alpha: V }"),
          std::string("type: 'LRN' bottom: 'data' top: 'y' lrn_param { k: V }"),
          std::string("type: 'BatchNorm' bottom: 'data' top: 'y' batch_norm_param { eps: V }"),
          std::string("type: 'ELU' bottom: 'data' top: 'y' elu_param { alpha: V }"),
          std::string("type: 'EuclideanLoss' bottom: 'data' bottom: 'data' top: 'y' loss_weight: V")}) {
      std::string text = layer;
      text.replace(text.find(": V") + 2, 1, value);
      EXPECT_NE(refused(one(text)), "") << text;
    }
  EXPECT_EQ(refused(one("type: 'Power' bottom: 'data' top: 'y' power_param { shift: nan }")),
            "cannot import the Caffe network: the number for shift is not a finite number of 32 bits "
            "(net.prototxt:2:7, layer \"l\" of type \"Power\"): expected -3.4e38 to 3.4e38, got nan");
}

TEST(import_caffe, refuses_too_many_computed_parameters_without_their_memory) {
  EXPECT_NE(
      refused(one("type: 'InnerProduct' bottom: 'data' top: 'y' inner_product_param { num_output: 500000 "
                  "weight_filler { type: 'gaussian' mean: 1 } }"))
          .find("too many parameters are computed at import"),
      std::string::npos);
}

TEST(import_caffe, refuses_too_many_axes_and_nodes) {
  std::string many, tops;
  for (int n = 0; n < 33; ++n) many += " dim: 1";
  EXPECT_NE(refused("layer { type: 'Input' top: 'x' input_param { shape {" + many + " } } }")
                .find("the top \"x\" has too many axes"),
            std::string::npos);
  EXPECT_NE(
      refused(one("type: 'Reshape' bottom: 'label' top: 'y' reshape_param { shape { dim: 0" + many + " } }"))
          .find("a blob has too many axes"),
      std::string::npos);
  for (int n = 0; n < 1024; ++n) tops += " top: 'y" + std::to_string(n) + "'";
  std::string text = "layer { type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 1024 } } }";
  for (int n = 0; n < 20; ++n) {
    std::string own = tops;
    for (std::size_t place = 0; (place = own.find('y', place)) != own.npos;)
      own[place] = static_cast<char>('A' + n);
    text += " layer { type: 'Slice' bottom: 'x'" + own + " }";
  }
  EXPECT_NE(refused(text).find("the network needs too many layers of Cohort"), std::string::npos);
}

TEST(import_caffe, reads_the_data_layers_of_caffe_on_spark) {
  caffe_model const made = imported(
      "layer { name: 'd' type: 'CoSData' top: 'x' top: 'c' cos_data_param { top { name: 'x' type: INT_ARRAY "
      "channels: 5 sample_num_axes: 1 transpose: true } top { name: 'c' type: INT_ARRAY channels: 5 "
      "sample_num_axes: 1 transpose: true } } } layer { name: 'e' type: 'Embed' bottom: 'x' top: 'y' "
      "embed_param "
      "{ input_dim: 6 num_output: 3 } } layer { name: 'r' type: 'LSTM' bottom: 'y' bottom: 'c' top: 'h' "
      "recurrent_param { num_output: 2 } }");
  graph_view const net = made.model.network();
  EXPECT_EQ(net[0].output, shape{5});
}

TEST(import_caffe, refuses_weights_of_another_shape) {
  std::string const net =
      "layer { name: 'd' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 3 dim: 5 dim: 5 } } } "
      "layer { name: 'conv1' type: 'Convolution' bottom: 'x' top: 'y' convolution_param { "
      "num_output: 4 kernel_size: 2 } }";
  std::string const text = refusal_of<data_error>(
      [&] { import_caffe(parse_prototxt(net, "net.prototxt"), folder + "convnet.caffemodel"); });
  EXPECT_NE(text.find("layer \"conv1\", blob 0): expected 4 x 3 x 2 x 2, got 4 x 3 x 3 x 3"),
            std::string::npos)
      << text;
}

TEST(import_caffe, reads_initial_values_that_no_initialiser_has) {
  caffe_model const made =
      imported(one("type: 'Deconvolution' bottom: 'data' top: 'y' convolution_param { num_output: 4 group: 4 "
                   "kernel_size: 4 stride: 2 "
                   "pad: 1 bias_term: false weight_filler { type: 'bilinear' } }"));
  training run = trainer<reference<float>>(made.model.network());
  made.model.read_known_parameters(run.parameters());
  std::vector<float> values(64);
  run.parameters().read(0, run.parameters().master(), reinterpret_cast<std::byte*>(values.data()));
  for (std::size_t i = 0; i < 64; ++i) {
    auto const side = [](std::size_t k) { return k == 0 || k == 3 ? 0.25 : 0.75; };
    EXPECT_NEAR(static_cast<double>(values[i]), side(i % 4) * side(i / 4 % 4), 1e-7);
  }
}

TEST(import_caffe, continuation_indicators_of_one_sequence_are_accepted) {
  numbers const cont{0, 1, 1, 0, 0}, labels{4, 2, 0, -1, -1};
  EXPECT_NO_THROW(check_continuation(cont, labels, -1, 3));
  auto const refusal = [](numbers const& c, numbers const& l) {
    return refusal_of<data_error>([&] { check_continuation(c, l, -1, 3); });
  };
  EXPECT_NE(refusal({1, 1}, {1, 1}).find("(example 3, step 0): expected 0 at step 0, got 1"),
            std::string::npos);
  EXPECT_NE(refusal({0, 0.5F}, {1, 1}).find("step 1"), std::string::npos);
  EXPECT_NE(refusal({0, 1, 0}, {1, 1, 1}).find("a second sequence"), std::string::npos);
}

}  // namespace import_caffe_test
