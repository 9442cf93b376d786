// SPDX-License-Identifier: Apache-2.0
// needs: zlib
// covers: interchange/deeplearning4j_settings
// Models of Deeplearning4j, which golden/deeplearning4j_models.py writes with a writer of its own, because
// Deeplearning4j cannot be installed here. The outputs and losses there are computed by numpy.
#include <gtest/gtest.h>

#include <bit>
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/interchange/detail/deeplearning4j_translation.hpp>
#include <cohort/interchange/detail/nd4j_reader.hpp>
#include <cohort/interchange/import_deeplearning4j.hpp>
#include <cohort/io/crc32.hpp>
#include <cohort/io/detail/zip_writer.hpp>
#include <cohort/io/file.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/json.hpp>
#include <cohort/zlib.hpp>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../checkpoint/refusals.hpp"
#include "../golden/golden_cases.hpp"

namespace import_deeplearning4j_test {

using namespace cohort;

std::string const folder = COHORT_SOURCE_DIR "/tests/golden/deeplearning4j/";

imported_model model_of(std::string const& name, deeplearning4j_settings const& settings = {}) {
  return import_deeplearning4j(folder + name + ".zip", gzip::inflate, settings);
}

/// Returns the first difference between the outputs of a run and those of a case; "" if there is none.
std::string difference(training const& run, golden_case const& expected, double tolerance = 1e-5) {
  golden_tensor const &input = expected.at("input").at(0), &output = expected.at("output").at(0);
  predictions const result = run.predict(tensor_view(input.values.data(), input.dims));
  if (result.values.size() != output.values.size() || result.count() != output.dims[0])
    return "another number of outputs: " + std::to_string(result.values.size());
  for (std::size_t i = 0; i < result.values.size(); ++i)
    if (!(std::abs(result.values[i] - output.values[i]) <= tolerance))
      return "output " + std::to_string(i) + ": expected " + std::to_string(output.values[i]) + ", got "
             + std::to_string(result.values[i]);
  return "";
}

TEST(import_deeplearning4j, has_the_outputs_of_deeplearning4j) {
  auto const cases = read_golden_cases("deeplearning4j/cases.txt");
  EXPECT_EQ(cases.size(), 19U);
  for (auto const& [name, expected] : cases) {
    deeplearning4j_settings settings;
    if (name == "sequences") settings.steps = 4;
    if (name == "windows") settings.inputs = {{"input", {2, 5, 5}}};
    for (bool const training : {true, false}) {
      settings.training = training;
      auto const run = load_imported<reference<double>>(model_of(name, settings));
      EXPECT_EQ(difference(run, expected), "") << name;
    }
  }
}

TEST(import_deeplearning4j, continues_from_the_state_of_every_updater) {
  auto const cases = read_golden_cases("deeplearning4j/cases.txt");
  int compared = 0;
  for (auto const& [name, expected] : cases) {
    if (!expected.contains("losses")) continue;
    ++compared;
    auto run = load_imported<reference<double>>(model_of(name));
    EXPECT_EQ(run.step(), name == "sgd" ? 0 : 3) << name;
    golden_tensor const &input = expected.at("input").at(0), &target = expected.at("target").at(0);
    batch_view batch;
    batch.count = input.dims[0];
    batch.inputs.emplace_back(input.values.data(), input.dims);
    batch.targets.emplace_back(target.values.data(), target.dims);
    std::vector<double> const& losses = numbers_of(expected, "losses");
    for (std::size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(run.train_on(batch).loss, losses[i], 1e-5) << name << ", step " << i;
  }
  EXPECT_EQ(compared, 9);
}

TEST(import_deeplearning4j, without_state_starts_the_updaters_anew) {
  auto const with = load_imported<reference<float>>(model_of("adam"));
  auto const without = load_imported<reference<float>>(model_of("adam", {.state = false}));
  EXPECT_EQ(with.step(), 3);
  EXPECT_EQ(with.epoch(), 1);
  EXPECT_EQ(without.step(), 0);
}

TEST(import_deeplearning4j, keeps_names_and_settings) {
  imported_model const model = model_of("adam");
  EXPECT_EQ(model.inputs, std::vector<std::string>{"input"});
  EXPECT_EQ(model.outputs, std::vector<std::string>{"classes"});
  EXPECT_EQ(model.settings.seed, 7U);
  EXPECT_EQ(model.settings.optimizer.rule.name(), "adam");
  EXPECT_EQ(model.settings.optimizer.rule.number("epsilon_hat"), 1e-8);
  EXPECT_EQ(model.settings.optimizer.l2, 0.01);
  EXPECT_EQ(model.settings.optimizer.bias_l2, 0.0);
  imported_model const old = model_of("mlp_0_9");
  EXPECT_EQ(old.outputs, std::vector<std::string>{"layer1"});
  // Before 1.0.0-beta4, l2 is subtracted without the learning rate 0.1.
  EXPECT_DOUBLE_EQ(old.settings.optimizer.l2, 0.001 / 0.1);
  EXPECT_EQ(model_of("adam", {.optimizer = false}).settings.optimizer, optimizer_settings());
}

// ---- every class of Deeplearning4j ------------------------------------------------------------------------

/// A class of org.deeplearning4j.nn.conf, with fields and inputs with which it is imported; without inputs it
/// is refused.
struct class_row {
  std::string_view name;
  std::string_view fields = {};
  shape input = {};
};

std::string const relu_function =
    R"("activationFn": {"@class": "org.nd4j.linalg.activations.impl.ActivationTanH"})";
std::string const sgd_updater =
    R"("iupdater": {"@class": "org.nd4j.linalg.learning.config.Sgd", "learningRate": 0.1})";
std::string const loss_function = R"("lossFn": {"@class": "org.nd4j.linalg.lossfunctions.impl.LossMSE"})";

/// The fields of all layers, then `more`.
std::string layer_json(std::string_view name, std::string_view more) {
  return R"({"@class": "org.deeplearning4j.nn.conf.layers.)" + std::string(name) + R"(", )" + relu_function
         + ", " + sgd_updater + (more.empty() ? "" : ", " + std::string(more)) + "}";
}

/// Concrete classes of nn.conf.layers and its packages in 0.9 to 1.0.0-M2, and nn.conf.ocnn.
constexpr class_row layer_rows[]{
    {"ActivationLayer", "", {4}},
    {"AutoEncoder"},
    {"BatchNormalization", R"("nin": 4, "nout": 4)", {4}},
    {"CapsuleLayer"},
    {"CapsuleStrengthLayer"},
    {"CenterLossOutputLayer"},
    {"Cnn3DLossLayer"},
    {"CnnLossLayer", "", {2, 3, 3}},
    {"Convolution1D", R"("nin": 4, "nout": 2, "kernelSize": [2, 1])", {5, 4}},
    {"Convolution1DLayer", R"("nin": 4, "nout": 2, "kernelSize": [2, 1])", {5, 4}},
    {"Convolution2D", R"("nin": 2, "nout": 3, "kernelSize": [2, 2])", {2, 4, 4}},
    {"Convolution3D"},
    {"ConvolutionLayer", R"("nin": 2, "nout": 3, "kernelSize": [2, 2])", {2, 4, 4}},
    {"Deconvolution2D", R"("nin": 2, "nout": 3, "kernelSize": [2, 2])", {2, 4, 4}},
    {"Deconvolution3D"},
    {"DenseLayer", R"("nin": 4, "nout": 3)", {4}},
    {"DepthwiseConvolution2D",
     R"("nin": 2, "nout": 4, "depthMultiplier": 2, "kernelSize": [2, 2])",
     {2, 4, 4}},
    {"DropoutLayer", R"("idropout": {"@class": "Dropout", "p": 0.5})", {4}},
    {"EmbeddingLayer", R"("nin": 4, "nout": 3, "hasBias": false)", {1}},
    {"EmbeddingSequenceLayer", R"("nin": 4, "nout": 3)", {6}},
    {"GlobalPoolingLayer", R"("poolingType": "AVG")", {2, 3, 3}},
    {"GravesBidirectionalLSTM", R"("nin": 4, "nout": 3)", {5, 4}},
    {"GravesLSTM", R"("nin": 4, "nout": 3)", {5, 4}},
    {"LSTM", R"("nin": 4, "nout": 3)", {5, 4}},
    {"LearnedSelfAttentionLayer"},
    {"LocalResponseNormalization", R"("n": 3.0)", {4, 3, 3}},
    {"LocallyConnected1D"},
    {"LocallyConnected2D"},
    {"LossLayer", R"("lossFn": {"@class": "LossMSE"})", {4}},
    {"OutputLayer", R"("nin": 4, "nout": 3, "lossFn": {"@class": "LossL1"})", {4}},
    {"PReLULayer", R"("nin": 0)", {4}},
    {"Pooling1D", R"("kernelSize": [2, 1], "stride": [2, 1])", {4, 3}},
    {"Pooling2D", R"("kernelSize": [2, 2], "stride": [2, 2])", {2, 4, 4}},
    {"PrimaryCapsules"},
    {"RBM"},
    {"RecurrentAttentionLayer"},
    {"RnnLossLayer", R"("lossFn": {"@class": "LossMAE"})", {5, 4}},
    {"RnnOutputLayer", R"("nin": 4, "nout": 3, "lossFn": {"@class": "LossHinge"})", {5, 4}},
    {"SelfAttentionLayer"},
    {"SeparableConvolution2D",
     R"("nin": 2, "nout": 3, "depthMultiplier": 2, "kernelSize": [2, 2])",
     {2, 4, 4}},
    {"SpaceToBatchLayer"},
    {"SpaceToDepthLayer"},
    {"Subsampling1DLayer", R"("kernelSize": [2, 1], "stride": [2, 1])", {4, 3}},
    {"Subsampling3DLayer"},
    {"SubsamplingLayer", R"("kernelSize": [2, 2], "stride": [2, 2])", {2, 4, 4}},
    {"Upsampling1D", R"("size": [2])", {4, 3}},
    {"Upsampling2D", R"("size": [2, 2])", {2, 4, 4}},
    {"Upsampling3D"},
    {"ZeroPadding1DLayer", R"("padding": [1, 2])", {4, 3}},
    {"ZeroPadding3DLayer"},
    {"ZeroPaddingLayer", R"("padding": [1, 2, 0, 0])", {2, 4, 4}},
    {"convolutional.Cropping1D", R"("cropping": [1, 0])", {4, 3}},
    {"convolutional.Cropping2D", R"("cropping": [1, 0, 0, 1])", {2, 4, 4}},
    {"convolutional.Cropping3D"},
    {"misc.ElementWiseMultiplicationLayer"},
    {"misc.FrozenLayer", R"("layer": {"@class": "DropoutLayer"})", {4}},
    {"misc.FrozenLayerWithBackprop", R"("underlying": {"@class": "DropoutLayer"})", {4}},
    {"misc.RepeatVector", R"("n": 3)", {4}},
    {"objdetect.Yolo2OutputLayer"},
    {"ocnn.OCNNOutputLayer"},
    {"recurrent.Bidirectional",
     R"("fwd": {"@class": "SimpleRnn", "nin": 4, "nout": 2, "activationFn": "tanh", "iupdater": {"@class": "Sgd"}})",
     {5, 4}},
    {"recurrent.LastTimeStep",
     R"("underlying": {"@class": "LSTM", "nin": 4, "nout": 2, "activationFn": "tanh", "iupdater": {"@class": "Sgd"}})",
     {5, 4}},
    {"recurrent.SimpleRnn", R"("nin": 4, "nout": 3)", {5, 4}},
    {"recurrent.TimeDistributed",
     R"("underlying": {"@class": "ActivationLayer", "activationFn": "relu"})",
     {5, 4}},
    {"samediff.SameDiffLambdaLayer"},
    {"samediff.SameDiffLayer"},
    {"samediff.SameDiffOutputLayer"},
    {"util.MaskLayer", "", {5, 4}},
    {"util.MaskZeroLayer"},
    {"variational.VariationalAutoencoder"},
};

/// Concrete classes of nn.conf.graph and nn.conf.layers.samediff that are vertices.
constexpr class_row vertex_rows[]{
    {"AttentionVertex"},
    {"ElementWiseVertex", R"("op": "Add")", {4}},
    {"FrozenVertex", R"("underlying": {"@class": "ScaleVertex", "scaleFactor": 2.0})", {4}},
    {"L2NormalizeVertex"},
    {"L2Vertex"},
    {"LayerVertex", R"("layerConf": {"layer": {"@class": "DropoutLayer"}})", {4}},
    {"MergeVertex", "", {4}},
    {"PoolHelperVertex", "", {2, 4, 4}},
    {"PreprocessorVertex",
     R"("preProcessor": {"@class": "CnnToFeedForwardPreProcessor", "inputHeight": 4, "inputWidth": 4, "numChannels": 2})",
     {2, 4, 4}},
    {"ReshapeVertex", R"("newShape": [-1, 2, 3, 1])", {6}},
    {"ScaleVertex", R"("scaleFactor": 2.0)", {4}},
    {"ShiftVertex"},
    {"StackVertex"},
    {"SubsetVertex", R"("from": 1, "to": 2)", {4}},
    {"UnstackVertex"},
    {"rnn.DuplicateToTimeSeriesVertex"},
    {"rnn.LastTimeStepVertex", "", {5, 4}},
    {"rnn.ReverseTimeSeriesVertex"},
    {"samediff.SameDiffLambdaVertex"},
    {"samediff.SameDiffVertex"},
};

/// Concrete classes of nn.conf.preprocessor.
constexpr class_row preprocessor_rows[]{
    {"Cnn3DToFeedForwardPreProcessor"},
    {"CnnToFeedForwardPreProcessor", R"("inputHeight": 4, "inputWidth": 3, "numChannels": 2)", {2, 4, 3}},
    {"CnnToRnnPreProcessor", R"("inputHeight": 4, "inputWidth": 3, "numChannels": 2)", {2, 4, 3}},
    {"ComposableInputPreProcessor",
     R"("inputPreProcessors": [{"@class": "RnnToFeedForwardPreProcessor"}])",
     {5, 4}},
    {"FeedForwardToCnn3DPreProcessor"},
    {"FeedForwardToCnnPreProcessor", R"("inputHeight": 4, "inputWidth": 3, "numChannels": 2)", {24}},
    {"FeedForwardToRnnPreProcessor", "", {4}},
    {"RnnToCnnPreProcessor", R"("inputHeight": 4, "inputWidth": 3, "numChannels": 2)", {1, 24}},
    {"RnnToFeedForwardPreProcessor", "", {5, 4}},
};

/// Translates a configuration. Returns the message of the error; "" if there is none.
std::string refusal_of_configuration(std::string const& text, shape const& input,
                                     deeplearning4j_settings settings = {}) {
  auto const document = io::parse_json(text);
  settings.inputs = {{"input", input.rank > 0 ? input : shape{4}}};
  return refusal_of<data_error>([&] {
    detail::deeplearning4j_translation translation("file", settings);
    translation.translate(document.root());
  });
}

std::string list_json(std::string const& layer, std::string const& preprocessor = "null") {
  return R"({"confs": [{"layer": )" + layer + R"(}], "inputPreProcessors": {"0": )" + preprocessor + "}}";
}

std::string vertex_json(std::string const& vertex) {
  return R"({"networkInputs": ["input"], "networkOutputs": ["v"], "vertices": {"v": )" + vertex
         + R"(}, "vertexInputs": {"v": ["input"]}})";
}

/// Expects that a class is imported, or refused with a reason that names the class.
void expect_support(class_row const& row, std::string const& configuration) {
  std::string const name(row.name.substr(row.name.find('.') + 1));
  deeplearning4j_settings const settings{.training = name != "CnnLossLayer"};
  std::string const message = refusal_of_configuration(configuration, row.input, settings);
  if (row.input.rank > 0)
    EXPECT_EQ(message, "") << row.name;
  else
    EXPECT_TRUE(message.starts_with("cannot import the Deeplearning4j model: " + name + ": "))
        << row.name << ": " << message;
}

TEST(import_deeplearning4j, imports_or_refuses_every_class) {
  for (class_row const& row : layer_rows) expect_support(row, list_json(layer_json(row.name, row.fields)));
  for (class_row const& row : vertex_rows)
    expect_support(
        row, vertex_json(R"({"@class": "org.deeplearning4j.nn.conf.graph.)" + std::string(row.name) + '"'
                         + (row.fields.empty() ? "" : ", " + std::string(row.fields)) + "}"));
  std::string const identity = layer_json("DropoutLayer", "");
  for (class_row const& row : preprocessor_rows)
    expect_support(
        row,
        list_json(identity, R"({"@class": "org.deeplearning4j.nn.conf.preprocessor.)" + std::string(row.name)
                                + '"' + (row.fields.empty() ? "" : ", " + std::string(row.fields)) + "}"));
  EXPECT_EQ(
      refusal_of_configuration(list_json(layer_json("Mine", "")), {4}),
      "cannot import the Deeplearning4j model: the class is unknown (file, layer layer0): expected a layer, "
      "vertex or preprocessor of Deeplearning4j, got Mine; change the model in Deeplearning4j and save it "
      "again "
      "(docs/deeplearning4j.md lists what is imported)");
}

// ---- refusals ---------------------------------------------------------------------------------------------

/// Returns the message about a dense layer with other fields, without the beginning and the remedy.
std::string dense_refusal(std::string const& fields, deeplearning4j_settings const& settings = {}) {
  std::string const message = refusal_of_configuration(
      list_json(R"({"@class": "DenseLayer", "nin": 4, "nout": 3, )" + fields + "}"), {4}, settings);
  std::string const begin = "cannot import the Deeplearning4j model: ";
  if (!message.starts_with(begin)) return message;
  return message.substr(begin.size(), message.find(" (file") - begin.size());
}

TEST(import_deeplearning4j, refuses_options_without_an_equivalent) {
  std::string const trained = relu_function + ", " + sgd_updater;
  EXPECT_EQ(dense_refusal(trained), "");
  EXPECT_EQ(dense_refusal(trained + R"(, "hasLayerNorm": true)"),
            "Cohort has no dense layer with a normalisation inside");
  EXPECT_EQ(dense_refusal(trained + R"(, "weightNoise": {"@class": "DropConnect"})"),
            "Cohort has no noise of weights");
  EXPECT_EQ(dense_refusal(trained + R"(, "idropout": {"@class": "AlphaDropout", "p": 0.5})"),
            "Cohort has no dropout AlphaDropout");
  EXPECT_EQ(dense_refusal(trained + R"(, "constraints": [{"@class": "MaxNormConstraint"}])"),
            "constraints are not imported, because Deeplearning4j adds 1e-6 to their norms");
  EXPECT_EQ(dense_refusal(trained + R"(, "another": 3)"), "the field another of DenseLayer is not imported");
  EXPECT_EQ(dense_refusal(R"("activationFn": "tanh", "iupdater": {"@class": "Nadam"})"),
            "Nadam: Cohort corrects the bias of the second moment, Deeplearning4j adds ε before it");
  EXPECT_EQ(dense_refusal(R"("activationFn": "tanh", "iupdater": {"@class": "Nadam"})", {.optimizer = false}),
            "");
  EXPECT_EQ(dense_refusal(R"("activationFn": "tanh", "iupdater": {"@class": "Nadam"})", {.training = false}),
            "");
  EXPECT_EQ(dense_refusal(R"("activationFn": "rationaltanh")", {.training = false}),
            "Cohort has no activation ActivationRationalTanh");
  EXPECT_EQ(
      dense_refusal(
          R"("activationFn": "tanh", "l2": 0.1, "iupdater": {"@class": "Nesterovs", "learningRate": 0.1, "momentum": 0.9})"),
      "weight decay (l2 of files before 1.0.0-beta4) is imported only for Sgd and Adam");
  EXPECT_EQ(
      dense_refusal(
          R"("activationFn": "tanh", "iupdater": {"@class": "Nesterovs", "learningRateSchedule": {"@class": "ExponentialSchedule", "scheduleType": "EPOCH", "initialValue": 0.1, "gamma": 0.9}})"),
      "the velocity has the rate of its last step, which a schedule by epochs does not define");
}

TEST(import_deeplearning4j, refuses_unknown_fields_of_vertices) {
  for (char const* const vertex : {"MergeVertex", "PoolHelperVertex", "LastTimeStepVertex"}) {
    std::string const begin = R"({"@class": "org.deeplearning4j.nn.conf.graph.)" + std::string(vertex) + '"';
    shape const input = vertex == std::string("PoolHelperVertex")     ? shape{3, 4, 4}
                        : vertex == std::string("LastTimeStepVertex") ? shape{3, 4}
                                                                      : shape{4};
    EXPECT_EQ(refusal_of_configuration(vertex_json(begin + "}"), input), "");
    std::string const message = refusal_of_configuration(vertex_json(begin + R"(, "another": 3})"), input);
    EXPECT_NE(message.find("the field another of " + std::string(vertex) + " is not imported"),
              std::string::npos)
        << message;
  }
}

TEST(import_deeplearning4j, asks_for_extents_that_the_file_does_not_define) {
  auto const document = io::parse_json(list_json(
      R"({"@class": "ConvolutionLayer", "nin": 3, "nout": 5, "kernelSize": [3, 3], "activationFn": "relu"})"));
  EXPECT_EQ(refusal_of<data_error>([&] {
              detail::deeplearning4j_translation translation("file", {.training = false});
              translation.translate(document.root());
            }),
            "cannot import the Deeplearning4j model: the file does not define the size of the images (file): "
            "expected "
            "deeplearning4j_settings::inputs (cohort import: --input) with C, H and W, got no size; change "
            "the model in "
            "Deeplearning4j and save it again (docs/deeplearning4j.md lists what is imported)");
  std::string const message = refusal_of<data_error>([&] { model_of("sequences"); });
  EXPECT_NE(message.find("the number of steps of the input input is unknown"), std::string::npos) << message;
}

TEST(import_deeplearning4j, computes_the_size_of_images_from_the_first_flattening) {
  std::string const convolution =
      R"({"@class": "ConvolutionLayer", "nin": 3, "nout": 5, "kernelSize": [3, 2], "activationFn": "relu"})";
  std::string const text =
      R"({"confs": [{"layer": )" + convolution
      + R"(}, {"layer": {"@class": "DenseLayer", "nin": 1620, "nout": 2, "activationFn": "relu"}}],
    "inputPreProcessors": {"1": {"cnnToFeedForward": {"inputHeight": 18, "inputWidth": 18, "numChannels": 5}}}})";
  auto const document = io::parse_json(text);
  detail::deeplearning4j_translation translation("file", {.training = false});
  translation.translate(document.root());
  imported_model const model =
      translation.finish(std::vector<float>(translation.parameters()), [] { return std::nullopt; });
  graph_view const net = model.network();
  EXPECT_EQ(net[0].output, (shape{3, 20, 19}));
}

// ---- damaged files ----------------------------------------------------------------------------------------

std::string refusal_of_bytes(std::vector<std::byte> const& bytes,
                             deeplearning4j_settings const& settings = {}) {
  return refusal_of<data_error>([&] { import_deeplearning4j(bytes, "file", gzip::inflate, settings); });
}

TEST(import_deeplearning4j, refuses_every_truncated_file) {
  std::vector<std::byte> const bytes = io::read_file(folder + "adam.zip");
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(refusal_of_bytes({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}), "")
        << size;
}

TEST(import_deeplearning4j, refuses_large_entries_before_they_are_decompressed) {
  std::string const message = refusal_of_bytes(io::read_file(folder + "adam.zip"), {.max_bytes = 1000});
  EXPECT_TRUE(
      message.starts_with("cannot read the zip archive: the entry \"configuration.json\" is too large"))
      << message;
}

/// Returns a zip archive. `is_bomb`: the last entry claims 1,000 times the size of its bytes.
std::vector<std::byte> archive_of(std::vector<std::pair<std::string, std::vector<std::byte>>> const& entries,
                                  bool is_bomb = false) {
  std::string const path = testing::TempDir() + "deeplearning4j_archive.zip";
  {
    io::file_writer file(path);
    detail::zip_writer archive(file);
    for (auto const& [name, bytes] : entries) {
      bool const claims = is_bomb && &bytes == &entries.back().second;
      archive.begin({.name = name,
                     .method = claims ? 8U : 0U,
                     .crc = io::crc32(bytes),
                     .packed = bytes.size(),
                     .size = claims ? 1000 * bytes.size() : bytes.size()});
      file.write(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    }
    archive.finish();
    file.commit();
  }
  return io::read_file(path);
}

std::vector<std::byte> bytes_of(std::string_view text) {
  auto const bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// A configuration with 15 parameters.
std::vector<std::byte> small_configuration() {
  return bytes_of(list_json(R"({"@class": "DenseLayer", "nin": 4, "nout": 3, )" + relu_function + ", "
                            + sgd_updater + "}"));
}

TEST(import_deeplearning4j, refuses_bombs_by_the_size_that_the_configuration_requires) {
  for (auto const& [name, most] :
       {std::pair{"coefficients.bin", "4216"}, {"configuration.json", "67108864"}}) {
    std::vector<std::pair<std::string, std::vector<std::byte>>> entries;
    if (std::string_view(name) == "coefficients.bin")
      entries.emplace_back("configuration.json", small_configuration());
    entries.emplace_back(name, std::vector<std::byte>(100'000));
    EXPECT_EQ(refusal_of_bytes(archive_of(entries, true))
                  .find("cannot read the zip archive: the entry \"" + std::string(name) + "\" is too large"),
              0U);
    EXPECT_NE(refusal_of_bytes(archive_of(entries, true))
                  .find("expected at most " + std::string(most) + " bytes, got 100000000"),
              std::string::npos);
  }
}

TEST(import_deeplearning4j, names_in_messages_are_printable) {
  std::string const message =
      refusal_of_configuration(list_json(layer_json("Mine", R"("layerName": "a\u001b[31m\n")")), {4});
  EXPECT_NE(message.find("the class is unknown (file, layer a [31m )"), std::string::npos) << message;
}

/// Encodes a number as Java does.
void put(std::vector<std::byte>& to, std::uint64_t value, int width) {
  for (int shift = 8 * (width - 1); shift >= 0; shift -= 8)
    to.push_back(static_cast<std::byte>(value >> shift));
}

/// An array of Nd4j with given extents, order, type and data.
std::vector<std::byte> nd4j_array(std::vector<std::int64_t> const& extents, char order, std::string_view type,
                                  std::vector<std::uint64_t> const& elements, int width,
                                  std::uint64_t length) {
  std::vector<std::byte> bytes;
  auto const text = [&](std::string_view value) {
    put(bytes, value.size(), 2);
    for (char const letter : value) bytes.push_back(static_cast<std::byte>(letter));
  };
  text("LONG_SHAPE");
  put(bytes, 2 * extents.size() + 4, 8);
  text("LONG");
  put(bytes, extents.size(), 8);
  for (std::int64_t const extent : extents) put(bytes, static_cast<std::uint64_t>(extent), 8);
  for (std::size_t i = 0; i < extents.size() + 2; ++i) put(bytes, 1, 8);
  put(bytes, static_cast<std::uint64_t>(order), 8);
  text("MIXED_DATA_TYPES");
  put(bytes, length, 8);
  text(type);
  for (std::uint64_t const element : elements) put(bytes, element, width);
  return bytes;
}

std::string refusal_of_array(std::vector<std::byte> const& bytes) {
  return refusal_of<data_error>([&] {
    detail::nd4j_reader reader(bytes, "x");
    reader.array();
    reader.expect_end();
  });
}

TEST(nd4j_reader, reads_orders_and_types) {
  auto const read = [](std::vector<std::byte> const& bytes) {
    detail::nd4j_reader reader(bytes, "x");
    std::vector<float> values = reader.array();
    reader.expect_end();
    return values;
  };
  // 1, 2, 3, 4 in IEEE's 16 bits, in bfloat16, and as double.
  EXPECT_EQ(read(nd4j_array({2, 2}, 'c', "HALF", {0x3c00, 0x4000, 0x4200, 0x4400}, 2, 4)),
            (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(read(nd4j_array({2, 2}, 'f', "HALF", {0x3c00, 0x4000, 0x4200, 0x4400}, 2, 4)),
            (std::vector<float>{1, 3, 2, 4}));
  EXPECT_EQ(read(nd4j_array({2}, 'c', "BFLOAT16", {0x3f80, 0xc000}, 2, 2)), (std::vector<float>{1, -2}));
  EXPECT_EQ(read(nd4j_array({1}, 'c', "DOUBLE", {0x3ff8000000000000}, 8, 1)), (std::vector<float>{1.5}));
}

TEST(nd4j_reader, refuses_damaged_arrays) {
  EXPECT_EQ(refusal_of_array(nd4j_array({2}, 'c', "LONG", {1, 2}, 8, 2)),
            "cannot read the Deeplearning4j model: an array has an element type that is not imported (x, "
            "byte 106): "
            "expected FLOAT, DOUBLE, HALF or BFLOAT16, got LONG");
  EXPECT_EQ(refusal_of_array(nd4j_array({2}, 'x', "FLOAT", {1, 2}, 4, 2)),
            "cannot read the Deeplearning4j model: the order of an array is unknown (x, byte 74): expected c "
            "or f, got "
            "120");
  EXPECT_EQ(refusal_of_array(nd4j_array({3}, 'c', "FLOAT", {1, 2}, 4, 2)),
            "cannot read the Deeplearning4j model: an array and its shape differ (x, byte 107): expected 3 "
            "elements, got "
            "2");
  EXPECT_EQ(refusal_of_array(nd4j_array({1LL << 40, 1LL << 40}, 'c', "FLOAT", {}, 4, 0)),
            "cannot read the Deeplearning4j model: an extent of an array is damaged (x, byte 90): expected "
            "at most 2^34 "
            "elements, got 1099511627776");
  EXPECT_EQ(refusal_of_array(nd4j_array({2}, 'c', "FLOAT", {1}, 4, std::uint64_t{1} << 62)),
            "cannot read the Deeplearning4j model: an array is truncated (x, byte 107): expected "
            "4611686018427387904 "
            "elements of FLOAT, got 4 bytes");
  EXPECT_EQ(refusal_of_array(nd4j_array({1}, 'c', "FLOAT", {1, 2}, 4, 1)),
            "cannot read the Deeplearning4j model: bytes follow the last array (x, byte 111): expected the "
            "end, got 4 "
            "bytes");
}

/// A normalizer of four features: a type, and the statistics after its fields.
std::vector<std::byte> normalizer_of(std::string_view type, std::vector<double> const& numbers,
                                     std::vector<float> const& first, std::vector<float> const& second) {
  std::vector<std::byte> bytes;
  auto const text = [&](std::string_view value) {
    put(bytes, value.size(), 2);
    for (char const letter : value) bytes.push_back(static_cast<std::byte>(letter));
  };
  text("NORMALIZER");
  put(bytes, 1, 4);
  text(type);
  if (type != "IMAGE_MIN_MAX") put(bytes, 0, 1);
  for (double const number : numbers) put(bytes, std::bit_cast<std::uint64_t>(number), 8);
  for (std::vector<float> const* const values : {&first, &second}) {
    if (values->empty()) continue;
    std::vector<std::uint64_t> elements;
    for (float const value : *values) elements.push_back(std::bit_cast<std::uint32_t>(value));
    std::vector<std::byte> const array = nd4j_array({1, 4}, 'c', "FLOAT", elements, 4, 4);
    bytes.insert(bytes.end(), array.begin(), array.end());
  }
  return bytes;
}

TEST(import_deeplearning4j, refuses_statistics_that_are_not_finite) {
  std::vector<std::uint64_t> const zeros(15);
  auto const refused = [&](std::vector<std::byte> const& normalizer) {
    return refusal_of_bytes(archive_of({{"configuration.json", small_configuration()},
                                        {"coefficients.bin", nd4j_array({1, 15}, 'c', "FLOAT", zeros, 4, 15)},
                                        {"normalizer.bin", normalizer}}));
  };
  std::vector<float> const usual{1, 2, 3, 4};
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(),
                  infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(refused(normalizer_of("STANDARDIZE", {}, usual, usual)), "");
  EXPECT_EQ(refused(normalizer_of("IMAGE_MIN_MAX", {0, 1, 255}, {}, {})).find("the range of"),
            std::string::npos);
  for (float const bad : {nan, infinity, -infinity}) {
    std::vector<float> damaged = usual;
    damaged[2] = bad;
    for (auto const& normalizer :
         {normalizer_of("STANDARDIZE", {}, damaged, usual), normalizer_of("MIN_MAX", {0, 1}, damaged, usual),
          normalizer_of("MIN_MAX", {0, bad}, usual, usual)})
      EXPECT_NE(refused(normalizer).find("the statistics of a normalizer are not finite"), std::string::npos);
    EXPECT_NE(refused(normalizer_of("IMAGE_MIN_MAX", {0, bad, 255}, {}, {})).find("is empty or not finite"),
              std::string::npos);
  }
  EXPECT_NE(refused(normalizer_of("STANDARDIZE", {}, usual, {1, nan, 1, 1})).find("not finite"),
            std::string::npos);
  EXPECT_NE(refused(normalizer_of("STANDARDIZE", {}, usual, {1, infinity, 1, 1})).find("not finite"),
            std::string::npos);
}

}  // namespace import_deeplearning4j_test
