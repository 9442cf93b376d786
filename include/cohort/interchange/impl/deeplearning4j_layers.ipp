// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/interchange/detail/deeplearning4j_translation.hpp>
#include <cohort/layer/layers.hpp>

namespace cohort::detail {

// ---- which class is translated by which function ---------------------------------------------------------

namespace deeplearning4j_classes {

struct refused_class {
  std::string_view name;
  char const* reason;
};

inline constexpr char const* no_volumes = "Cohort has no layers for volumes (tensors of four axes)";
inline constexpr char const* no_capsules = "Cohort has no capsules";
inline constexpr char const* no_pretraining = "Cohort does not pretrain layers";
inline constexpr char const* no_local = "Cohort has no convolution with a kernel for each position";
inline constexpr char const* no_attention = "Cohort's attention has other projections";
inline constexpr char const* is_code = "the layer is a program in Java, which is not in the file";
inline constexpr char const* batch_axis = "Cohort's layers do not join or divide batches";

inline constexpr refused_class refused[]{
    {"AttentionVertex", no_attention},
    {"AutoEncoder", no_pretraining},
    {"CapsuleLayer", no_capsules},
    {"CapsuleStrengthLayer", no_capsules},
    {"CenterLossOutputLayer", "Cohort has no loss with centres of classes"},
    {"Cnn3DLossLayer", no_volumes},
    {"Cnn3DToFeedForwardPreProcessor", no_volumes},
    {"Convolution3D", no_volumes},
    {"Cropping3D", no_volumes},
    {"Deconvolution3D", no_volumes},
    {"DuplicateToTimeSeriesVertex", "the number of repetitions is the length of another input"},
    {"ElementWiseMultiplicationLayer", "Cohort has no learned factor with a learned offset"},
    {"FeedForwardToCnn3DPreProcessor", no_volumes},
    {"L2NormalizeVertex", "Cohort has no normalisation to unit length"},
    {"L2Vertex", "Cohort has no layer for the distance of two tensors"},
    {"LearnedSelfAttentionLayer", no_attention},
    {"LocallyConnected1D", no_local},
    {"LocallyConnected2D", no_local},
    {"MaskZeroLayer", "Cohort computes masks from inputs: padded_input"},
    {"OCNNOutputLayer", "Cohort has no loss of one-class networks"},
    {"PrimaryCapsules", no_capsules},
    {"RBM", no_pretraining},
    {"RecurrentAttentionLayer", no_attention},
    {"ReverseTimeSeriesVertex", "Cohort reverses recurrent layers, not tensors"},
    {"SameDiffLambdaLayer", is_code},
    {"SameDiffLambdaVertex", is_code},
    {"SameDiffLayer", is_code},
    {"SameDiffOutputLayer", is_code},
    {"SameDiffVertex", is_code},
    {"SelfAttentionLayer", no_attention},
    {"ShiftVertex", "Cohort has no constant summand"},
    {"SpaceToBatchLayer", batch_axis},
    {"SpaceToDepthLayer", "the layer orders channels by its data format"},
    {"StackVertex", batch_axis},
    {"Subsampling3DLayer", no_volumes},
    {"UnstackVertex", batch_axis},
    {"Upsampling3D", no_volumes},
    {"VariationalAutoencoder", no_pretraining},
    {"Yolo2OutputLayer", "Cohort has no loss of object detection"},
    {"ZeroPadding3DLayer", no_volumes},
};
static_assert(std::ranges::is_sorted(refused, {}, &refused_class::name));

}  // namespace deeplearning4j_classes

std::map<std::string_view, deeplearning4j_translation::translator, std::less<>> const&
deeplearning4j_translation::layers() {
  using self = deeplearning4j_translation;
  static std::map<std::string_view, translator, std::less<>> const table{
      {"ActivationLayer", &self::activation_layer},
      {"BatchNormalization", &self::normalisation},
      {"Bidirectional", &self::bidirectional},
      {"CnnLossLayer", &self::loss_layer},
      {"Convolution1D", &self::convolution_1d},
      {"Convolution1DLayer", &self::convolution_1d},
      {"Convolution2D", &self::convolution},
      {"ConvolutionLayer", &self::convolution},
      {"Cropping1D", &self::crop},
      {"Cropping2D", &self::crop},
      {"Deconvolution2D", &self::deconvolution},
      {"DenseLayer", &self::dense_layer},
      {"DepthwiseConvolution2D", &self::depthwise},
      {"DropoutLayer", &self::dropout_layer},
      {"EmbeddingLayer", &self::embedding_layer},
      {"EmbeddingSequenceLayer", &self::embedding_layer},
      {"FrozenLayer", &self::frozen_layer},
      {"FrozenLayerWithBackprop", &self::frozen_layer},
      {"GlobalPoolingLayer", &self::global_pooling},
      {"GravesBidirectionalLSTM", &self::graves_bidirectional},
      {"GravesLSTM", &self::recurrent},
      {"LSTM", &self::recurrent},
      {"LastTimeStep", &self::last_step},
      {"LocalResponseNormalization", &self::response_normalisation},
      {"LossLayer", &self::loss_layer},
      {"MaskLayer", &self::mask_layer},
      {"OutputLayer", &self::output_layer},
      {"PReLULayer", &self::rectifier},
      {"Pooling1D", &self::subsampling_1d},
      {"Pooling2D", &self::subsampling},
      {"RepeatVector", &self::repeat},
      {"RnnLossLayer", &self::loss_layer},
      {"RnnOutputLayer", &self::output_layer},
      {"SeparableConvolution2D", &self::separable},
      {"SimpleRnn", &self::recurrent},
      {"Subsampling1DLayer", &self::subsampling_1d},
      {"SubsamplingLayer", &self::subsampling},
      {"TimeDistributed", &self::time_distributed},
      {"Upsampling1D", &self::upsample},
      {"Upsampling2D", &self::upsample},
      {"ZeroPadding1DLayer", &self::pad},
      {"ZeroPaddingLayer", &self::pad},
  };
  return table;
}

void deeplearning4j_translation::refuse_class(std::string const& class_name) const {
  for (auto const& [name, reason] : deeplearning4j_classes::refused)
    if (name == class_name)
      refuse(class_name + ": " + reason, "a class with an equivalent in Cohort", class_name);
  refuse("the class is unknown", "a layer, vertex or preprocessor of Deeplearning4j", class_name);
}

void deeplearning4j_translation::add_constant(int node, char const* parameter, shape const& extents,
                                              double value) {
  constants_.push_back({node, parameter, extents, static_cast<float>(value)});
}

// ---- activations -----------------------------------------------------------------------------------------

/// Returns x behind the activation of a layer.
int deeplearning4j_translation::activate(object const& of, int x) {
  return activate(activation_of(of), x, "");
}

deeplearning4j_object deeplearning4j_translation::activation_of(object const& of) const {
  auto function = of.object("activationFn", object::family::activation);
  if (!function) function = of.object("activationFunction", object::family::activation);  // up to 0.7.1
  if (!function) of.refuse("the layer has no activation", "activationFn", "none");
  return *function;
}

int deeplearning4j_translation::activate(object const& function, int x, char const* suffix) {
  std::string const& name = function.class_name();
  auto const with = [&](auto const& layer) {
    function.expect_read(settings_.training);
    return record(layer, {x}, suffix);
  };
  if (name == "ActivationIdentity") return x;
  if (name == "ActivationReLU") {
    double const slope = function.number("negativeSlope", 0), most = function.number("max", 0);
    if (function.number("threshold", 0) != 0)
      refuse("Cohort has no rectifier with a threshold", "threshold 0", "another one");
    if (most != 0 && (most != 6 || slope != 0))
      refuse("Cohort has rectifiers without limit, and with the limit 6", "max 6 or none",
             std::to_string(most));
    if (most != 0) return with(relu6{});
    if (slope != 0) return with(leaky_relu{.slope = slope});
    return with(relu{});
  }
  if (name == "ActivationReLU6") return with(relu6{});
  if (name == "ActivationLReLU") return with(leaky_relu{.slope = function.number("alpha", 0.01)});
  if (name == "ActivationRReLU") {
    if (settings_.training)
      refuse("Cohort has no rectifier with random slopes", "deeplearning4j_settings::training false",
             "ActivationRReLU");
    double const lowest = function.number("l", 1.0 / 8), highest = function.number("u", 1.0 / 3);
    return with(leaky_relu{.slope = (lowest + highest) / 2});
  }
  if (name == "ActivationELU") return with(elu{.alpha = function.number("alpha", 1)});
  if (name == "ActivationSELU") return with(selu{});
  if (name == "ActivationSigmoid") return with(sigmoid{});
  if (name == "ActivationHardSigmoid") return with(hard_sigmoid{});
  if (name == "ActivationTanH") return with(tanh_activation{});
  if (name == "ActivationHardTanH") return with(hard_tanh{});
  if (name == "ActivationSoftmax") return with(softmax{});
  if (name == "ActivationSoftPlus") return with(softplus{});
  if (name == "ActivationSoftSign") return with(softsign{});
  if (name == "ActivationSwish") return with(swish{});
  if (name == "ActivationMish") return with(mish{});
  if (name == "ActivationRectifiedTanh") return record(relu{}, {with(tanh_activation{})}, suffix);
  if (name == "ActivationCube") return record(multiply{}, {x, x, x}, suffix);
  if (name == "ActivationGELU") {
    // x·sigmoid(1.702·x), or the formula with tanh.
    if (function.flag("precise", false)) return with(gelu_tanh{});
    int const gate = record(sigmoid{}, {record(scale{.factor = 1.702}, {x}, "scaled")}, "gate");
    return record(multiply{}, {x, gate}, suffix);
  }
  refuse("Cohort has no activation " + name,
         "Cube, ELU, GELU, HardSigmoid, HardTanH, Identity, LReLU, Mish, ReLU, ReLU6, RectifiedTanh, SELU, "
         "Sigmoid, SoftPlus, SoftSign, Softmax, Swish or TanH",
         name);
}

int deeplearning4j_translation::activation_layer(object const& of, int x) {
  x = activate(of, dropped(of, x));
  of.expect_read(settings_.training);
  return x;
}

// ---- dropout ---------------------------------------------------------------------------------------------

/// Returns x behind the dropout of a layer, which acts on the layer's input.
int deeplearning4j_translation::dropped(object const& of, int x) {
  if (!settings_.training) return x;
  if (of.flag("useDropConnect", false) || of.object("weightNoise"))
    of.refuse("Cohort has no noise of weights", "no weightNoise, or deeplearning4j_settings::training false",
              "weightNoise");
  // Deeplearning4j stores the probability of keeping an element; 0: no dropout.
  auto const drop = [&](double keep, auto layer) {
    if (keep == 0 || keep == 1) return x;
    if (!(keep > 0 && keep < 1)) of.refuse("a dropout is out of range", "0 to 1", std::to_string(keep));
    layer.rate = 1 - keep;
    return record(layer, {x});
  };
  auto const function = of.object("idropout");
  if (!function) return drop(of.number("dropOut", 0), dropout{});
  for (char const* const field : {"pSchedule", "stddevSchedule", "rateSchedule"})
    if (function->has(field)) of.refuse("Cohort has no schedules of dropout", "a fixed number", field);
  std::string const& name = function->class_name();
  if (name == "Dropout") return drop(function->number("p", 0), dropout{});
  if (name == "SpatialDropout") return drop(function->number("p", 0), spatial_dropout{});
  if (name == "GaussianNoise") return record(gaussian_noise{.deviation = function->number("stddev", 0)}, {x});
  of.refuse("Cohort has no dropout " + name,
            "Dropout, SpatialDropout or GaussianNoise; or deeplearning4j_settings::training false", name);
}

int deeplearning4j_translation::dropout_layer(object const& of, int x) {
  x = dropped(of, x);
  of.expect_read(settings_.training);
  return x;
}

// ---- dense layers and losses -----------------------------------------------------------------------------

/// Records W·x + b. The file has W as nIn×nOut in column-major order, which is Cohort's nOut×nIn in row-major
/// order.
int deeplearning4j_translation::dense_node(object const& of, int x, std::string_view suffix) {
  int const inputs = of.count("nin"), units = of.count("nout");
  bool const has_bias = of.flag("hasBias", true);
  if (of.flag("hasLayerNorm", false))
    of.refuse("Cohort has no dense layer with a normalisation inside", "hasLayerNorm false", "true");
  shape const from = dims(x);
  if (from.rank == 3 || (from.rank == 2 ? from[1] : from[0]) != inputs)
    refuse("the layer reads " + std::to_string(inputs) + " elements",
           std::to_string(inputs) + ", or a sequence of steps with so many elements", to_string(from));
  int const id = record(dense{.units = units, .bias = has_bias}, {x}, suffix);
  std::size_t const weights = static_cast<std::size_t>(inputs) * static_cast<std::size_t>(units);
  add_array(of, weights, {{.node = id, .parameter = "weights", .dims = {units, inputs}}});
  if (has_bias)
    add_array(of, static_cast<std::size_t>(units), {{.node = id, .parameter = "bias", .dims = {units}}}, true,
              true);
  train(of, id);
  return id;
}

int deeplearning4j_translation::dense_layer(object const& of, int x) {
  x = activate(of, dense_node(of, dropped(of, x), {}));
  of.expect_read(settings_.training);
  return x;
}

int deeplearning4j_translation::output_layer(object const& of, int x) {
  x = with_loss(of, dense_node(of, dropped(of, x), {}));
  of.expect_read(settings_.training);
  return x;
}

int deeplearning4j_translation::loss_layer(object const& of, int x) {
  x = with_loss(of, dropped(of, x));
  of.expect_read(settings_.training);
  return x;
}

/// Translates an embedding, whose array is nIn×nOut in column-major order.
int deeplearning4j_translation::embedding_layer(object const& of, int x) {
  int const vocabulary = of.count("nin"), width = of.count("nout");
  bool const is_sequence = of.class_name() == "EmbeddingSequenceLayer";
  (void)of.integer("inputLength", 0);
  (void)of.flag("inferInputLength", false);
  expect_rank(x, 1, of);
  if (!is_sequence && dims(x)[0] != 1) refuse("EmbeddingLayer reads one index", "1", to_string(dims(x)));
  if (of.flag("hasBias", !is_sequence)) of.refuse("Cohort's embedding has no bias", "hasBias false", "true");
  x = dropped(of, x);
  int id = record(embedding{.vocabulary = vocabulary, .width = width}, {x});
  std::vector<std::int64_t> const stored{width, vocabulary};
  add_array(of, static_cast<std::size_t>(vocabulary) * static_cast<std::size_t>(width),
            {{.node = id,
              .parameter = "weights",
              .dims = {vocabulary, width},
              .convert = [stored](std::span<float const> from) {
                return permute_axes(from, stored, {1, 0});
              }}});
  train(of, id);
  if (!is_sequence) id = reshaped(id, {width}, "vector");
  id = activate(of, id);
  of.expect_read(settings_.training);
  return id;
}

int deeplearning4j_translation::rectifier(object const& of, int x) {
  x = dropped(of, x);
  std::vector<int> shared = of.integers("sharedAxes");
  (void)of.integers("inputShape");
  std::ranges::sort(shared);
  int const channels = channels_of(dims(x));
  std::vector<int> const positions = channels_last_ ? std::vector<int>{1, 2} : std::vector<int>{2, 3};
  bool const is_per_channel = dims(x).rank == 3 && shared == positions;
  if (dims(x).rank != 1 && !is_per_channel)
    of.refuse("Cohort has one slope for each channel",
              "the axes of height and width as sharedAxes, or vectors",
              std::to_string(shared.size()) + " shared axes");
  int const id = record(prelu{}, {x});
  add_array(of, static_cast<std::size_t>(channels), {{.node = id, .parameter = "slope", .dims = {channels}}});
  train(of, id, weights_as::bias);
  of.expect_read(settings_.training);
  return id;
}

// ---- normalisation ---------------------------------------------------------------------------------------

int deeplearning4j_translation::normalisation(object const& of, int x) {
  int const channels = of.count("nout");
  expect_channels(x, channels);
  x = dropped(of, x);
  bool const is_locked = of.flag("lockGammaBeta", false);
  double const gamma = of.number("gamma", 1), beta = of.number("beta", 0);
  if (settings_.training && !of.flag("minibatch", true))
    of.refuse("Cohort normalises by the statistics of batches", "minibatch true", "false");
  if (settings_.training && is_locked && !is_frozen_)
    of.refuse("Cohort trains scale and shift of a batch normalisation",
              "lockGammaBeta false, or deeplearning4j_settings::training false", "true");
  (void)of.flag("minibatch", true);
  int const id =
      record(batch_norm{.momentum = of.number("decay", 0.9), .epsilon = of.number("eps", 1e-5)}, {x});
  shape const each{channels};
  auto const size = static_cast<std::size_t>(channels);
  if (is_locked) {
    add_constant(id, "scale", each, gamma);
    add_constant(id, "shift", each, beta);
  } else {
    add_array(of, size, {{.node = id, .parameter = "scale", .dims = each}});
    add_array(of, size, {{.node = id, .parameter = "shift", .dims = each}});
  }
  add_array(of, size, {{.node = id, .parameter = "running_mean", .dims = each}}, false);
  deeplearning4j_conversion convert;
  if (of.flag("useLogStd", false))  // the decimal logarithm of the standard deviation
    convert = [](std::span<float const> from) {
      std::vector<float> variances;
      for (float const value : from)
        variances.push_back(static_cast<float>(std::pow(10.0, 2 * static_cast<double>(value))));
      return variances;
    };
  add_array(of, size, {{.node = id, .parameter = "running_variance", .dims = each, .convert = convert}},
            false);
  train(of, id, weights_as::statistics);
  of.expect_read(settings_.training);
  return id;
}

int deeplearning4j_translation::response_normalisation(object const& of, int x) {
  expect_rank(x, 3, of);
  x = dropped(of, x);
  double const channels = of.number("n", 5);
  if (!(channels >= 1 && channels < 1 << 16) || std::floor(channels) != channels)
    of.refuse("the number of channels is out of range", "an odd number", std::to_string(channels));
  x = record(lrn{.k = of.number("k", 2),
                 .n = static_cast<int>(channels),
                 .alpha = of.number("alpha", 1e-4),
                 .beta = of.number("beta", 0.75)},
             {x});
  of.expect_read(settings_.training);
  return x;
}

// ---- wrappers --------------------------------------------------------------------------------------------

int deeplearning4j_translation::frozen_layer(object const& of, int x) {
  auto inner = of.object("layer", object::family::layer);
  if (!inner) inner = of.object("underlying", object::family::layer);
  if (!inner) of.refuse("the layer has no layer inside", "layer", "none");
  of.mark_read();
  bool const before = std::exchange(is_frozen_, true);
  x = layer(*inner, x);
  is_frozen_ = before;
  return x;
}

int deeplearning4j_translation::time_distributed(object const& of, int x) {
  auto const inner = of.object("underlying", object::family::layer);
  if (!inner) of.refuse("the layer has no layer inside", "underlying", "none");
  expect_rank(x, 2, of);
  std::string const& kind = inner->class_name();
  if (kind != "DenseLayer" && kind != "ActivationLayer" && kind != "DropoutLayer")
    of.refuse("TimeDistributed(" + kind + ") is not imported", "DenseLayer, ActivationLayer or DropoutLayer",
              kind);
  (void)of.has("rnnDataFormat");
  x = layer(*inner, x);
  of.expect_read(settings_.training);
  return x;
}

/// MaskLayer changes masked steps only, and the networks of files have no masks.
int deeplearning4j_translation::mask_layer(object const&, int x) { return x; }

}  // namespace cohort::detail
