// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/keras/detail/keras_translation.hpp>
#include <cohort/layer/layers.hpp>
#include <cohort/layer/rms_norm.hpp>
#include <cohort/layer/zero_masked.hpp>

namespace cohort::detail {

// ---- which class is translated by which function ---------------------------------------------------------

namespace keras_classes {

struct refused_class {
  std::string_view name;
  char const* reason;
};

inline constexpr char const* no_3d = "Cohort has no layers for volumes (tensors of four axes)";
inline constexpr char const* no_random =
    "Cohort augments images in the data set (cohort/image.hpp), not in layers";
inline constexpr char const* no_text = "Cohort encodes texts and categories in the data set, not in layers";
inline constexpr char const* foreign = "the layer runs code of another framework";

inline constexpr refused_class refused[]{
    {"AdaptiveAveragePooling3D", no_3d},
    {"AdaptiveMaxPooling3D", no_3d},
    {"AveragePooling3D", no_3d},
    {"Conv3D", no_3d},
    {"Conv3DTranspose", no_3d},
    {"ConvLSTM1D", "Cohort has no convolutional recurrent layer"},
    {"ConvLSTM2D", "Cohort has no convolutional recurrent layer"},
    {"ConvLSTM3D", "Cohort has no convolutional recurrent layer"},
    {"Cropping3D", no_3d},
    {"GlobalAveragePooling3D", no_3d},
    {"GlobalMaxPooling3D", no_3d},
    {"MaxPooling3D", no_3d},
    {"SpatialDropout3D", no_3d},
    {"UpSampling3D", no_3d},
    {"ZeroPadding3D", no_3d},
    {"Conv1DTranspose", "Cohort has no transposed convolution of sequences"},
    {"AdditiveAttention", "Cohort has scaled dot-product attention only"},
    {"SpectralNormalization", "Cohort has no spectral normalisation"},
    {"UnitNormalization", "Cohort has no normalisation to unit length"},
    {"ReversibleEmbedding", "Cohort has no embedding that also computes logits"},
    {"StackedRNNCells", "a layer of several cells: write one recurrent layer for each cell"},
    {"GRUCell", "a cell is imported only inside RNN"},
    {"LSTMCell", "a cell is imported only inside RNN"},
    {"SimpleRNNCell", "a cell is imported only inside RNN"},
    {"Discretization", no_text},
    {"HashedCrossing", no_text},
    {"Hashing", no_text},
    {"IntegerLookup", no_text},
    {"StringLookup", no_text},
    {"TextVectorization", no_text},
    {"MelSpectrogram", "Cohort has no spectrograms"},
    {"STFTSpectrogram", "Cohort has no spectrograms"},
    {"Resizing", no_random},
    {"MaxNumBoundingBoxes", no_random},
    {"Pipeline", no_random},
    {"Equalization", no_random},
    {"AutoContrast", no_random},
    {"ContrastLimitedAdaptiveHistogramEqualization", no_random},
    {"FlaxLayer", foreign},
    {"JaxLayer", foreign},
    {"TFSMLayer", foreign},
    {"TorchModuleWrapper", foreign},
    {"Lambda", "the layer is a function of Python"},
    {"Layer", "the layer is a base class without computation"},
    {"Wrapper", "the layer is a base class without computation"},
    {"InputSpec", "this is no layer"},
    {"LocallyConnected1D", "Cohort has no convolution with a kernel for each position"},
    {"LocallyConnected2D", "Cohort has no convolution with a kernel for each position"},
    {"ThresholdedReLU", "Cohort has no rectifier with a threshold"},
};

/// Classes for which keeps_keras_mask is true, sorted. tests/golden/keras/masks.txt has Keras' rules. Merge
/// exists in Keras 1 only.
inline constexpr std::string_view keep_masks[]{"Activation",
                                               "ActivityRegularization",
                                               "Add",
                                               "AdditiveAttention",
                                               "AlphaDropout",
                                               "Attention",
                                               "Average",
                                               "BatchNormalization",
                                               "Bidirectional",
                                               "Concatenate",
                                               "ConvLSTM1D",
                                               "Dense",
                                               "Dropout",
                                               "ELU",
                                               "GRU",
                                               "GaussianDropout",
                                               "GaussianNoise",
                                               "GlobalAveragePooling1D",
                                               "GroupNormalization",
                                               "GroupQueryAttention",
                                               "GroupedQueryAttention",
                                               "Identity",
                                               "LSTM",
                                               "LayerNormalization",
                                               "LeakyReLU",
                                               "Masking",
                                               "Maximum",
                                               "Merge",
                                               "Minimum",
                                               "MultiHeadAttention",
                                               "Multiply",
                                               "Normalization",
                                               "PReLU",
                                               "RNN",
                                               "ReLU",
                                               "Rescaling",
                                               "SimpleRNN",
                                               "SpatialDropout1D",
                                               "SpatialDropout2D",
                                               "SpectralNormalization",
                                               "Subtract",
                                               "TimeDistributed",
                                               "UnitNormalization"};
static_assert(std::ranges::is_sorted(keep_masks));

}  // namespace keras_classes

bool keeps_keras_mask(std::string_view class_name) {
  return std::ranges::binary_search(keras_classes::keep_masks, class_name);
}

keras_translation::values keras_translation::dispatch(call const& c) {
  using function = values (keras_translation::*)(call const&);
  static std::map<std::string_view, function, std::less<>> const table{
      {"Activation", &keras_translation::activation},
      {"ReLU", &keras_translation::advanced_activation},
      {"LeakyReLU", &keras_translation::advanced_activation},
      {"ELU", &keras_translation::advanced_activation},
      {"Softmax", &keras_translation::advanced_activation},
      {"PReLU", &keras_translation::prelu_layer},
      {"Dense", &keras_translation::dense_layer},
      {"EinsumDense", &keras_translation::einsum_dense},
      {"Conv1D", &keras_translation::convolution},
      {"Conv2D", &keras_translation::convolution},
      {"Convolution1D", &keras_translation::convolution},
      {"Convolution2D", &keras_translation::convolution},
      {"DepthwiseConv1D", &keras_translation::convolution},
      {"DepthwiseConv2D", &keras_translation::convolution},
      {"Conv2DTranspose", &keras_translation::transposed_convolution},
      {"Convolution2DTranspose", &keras_translation::transposed_convolution},
      {"SeparableConv1D", &keras_translation::separable_convolution},
      {"SeparableConv2D", &keras_translation::separable_convolution},
      {"SeparableConvolution1D", &keras_translation::separable_convolution},
      {"SeparableConvolution2D", &keras_translation::separable_convolution},
      {"MaxPooling1D", &keras_translation::pooling},
      {"MaxPooling2D", &keras_translation::pooling},
      {"AveragePooling1D", &keras_translation::pooling},
      {"AveragePooling2D", &keras_translation::pooling},
      {"AdaptiveAveragePooling1D", &keras_translation::adaptive_pooling},
      {"AdaptiveAveragePooling2D", &keras_translation::adaptive_pooling},
      {"AdaptiveMaxPooling1D", &keras_translation::adaptive_pooling},
      {"AdaptiveMaxPooling2D", &keras_translation::adaptive_pooling},
      {"GlobalAveragePooling1D", &keras_translation::global_pooling},
      {"GlobalAveragePooling2D", &keras_translation::global_pooling},
      {"GlobalMaxPooling1D", &keras_translation::global_pooling},
      {"GlobalMaxPooling2D", &keras_translation::global_pooling},
      {"BatchNormalization", &keras_translation::normalisation},
      {"LayerNormalization", &keras_translation::layer_normalisation},
      {"RMSNormalization", &keras_translation::layer_normalisation},
      {"GroupNormalization", &keras_translation::group_normalisation},
      {"Normalization", &keras_translation::fixed_normalisation},
      {"Rescaling", &keras_translation::fixed_normalisation},
      {"Embedding", &keras_translation::embedding_layer},
      {"CategoryEncoding", &keras_translation::one_hot},
      {"Flatten", &keras_translation::flatten_layer},
      {"Reshape", &keras_translation::reshape_layer},
      {"Permute", &keras_translation::permute_layer},
      {"RepeatVector", &keras_translation::repeat_vector},
      {"UpSampling1D", &keras_translation::upsampling_layer},
      {"UpSampling2D", &keras_translation::upsampling_layer},
      {"ZeroPadding1D", &keras_translation::padding_layer},
      {"ZeroPadding2D", &keras_translation::padding_layer},
      {"Cropping1D", &keras_translation::cropping_layer},
      {"Cropping2D", &keras_translation::cropping_layer},
      {"CenterCrop", &keras_translation::cropping_layer},
      {"Add", &keras_translation::merge},
      {"Subtract", &keras_translation::merge},
      {"Multiply", &keras_translation::merge},
      {"Average", &keras_translation::merge},
      {"Maximum", &keras_translation::merge},
      {"Minimum", &keras_translation::merge},
      {"Merge", &keras_translation::merge},
      {"Concatenate", &keras_translation::concatenation},
      {"Dot", &keras_translation::dot},
      {"Dropout", &keras_translation::random_layer},
      {"SpatialDropout1D", &keras_translation::random_layer},
      {"SpatialDropout2D", &keras_translation::random_layer},
      {"GaussianDropout", &keras_translation::random_layer},
      {"AlphaDropout", &keras_translation::random_layer},
      {"GaussianNoise", &keras_translation::random_layer},
      {"ActivityRegularization", &keras_translation::random_layer},
      {"Identity", &keras_translation::identity},
      {"Masking", &keras_translation::masking},
      {"LSTM", &keras_translation::recurrent},
      {"GRU", &keras_translation::recurrent},
      {"SimpleRNN", &keras_translation::recurrent},
      {"RNN", &keras_translation::recurrent},
      {"Bidirectional", &keras_translation::bidirectional},
      {"TimeDistributed", &keras_translation::time_distributed},
      {"MultiHeadAttention", &keras_translation::multi_head_attention},
      {"GroupQueryAttention", &keras_translation::multi_head_attention},
      {"GroupedQueryAttention", &keras_translation::multi_head_attention},
      {"Attention", &keras_translation::luong_attention},
  };
  for (auto const& one : keras_classes::refused)
    if (one.name == c.class_name)
      refuse(c.class_name + ": " + one.reason, "a layer with an equivalent in Cohort", c.class_name);
  if (augments_images(c.class_name)) {
    if (how_.training)
      refuse(c.class_name + ": " + keras_classes::no_random,
             "keras_options::training false, to leave the layer out", "keras_options::training true");
    if (c.class_name == "RandomCrop")
      refuse("RandomCrop: the layer resizes images at inference", "a layer that keeps images at inference",
             c.class_name);
    return {only(c)};
  }
  auto const found = table.find(c.class_name);
  if (found == table.end())
    refuse("the layer's class is unknown", "a class of keras.layers: rebuild a custom class from such layers",
           c.class_name);
  bool const takes_arguments = c.class_name.ends_with("Attention");
  if (!takes_arguments && !c.options.empty())
    refuse("the call of the layer has an argument that is not imported", "tensors and training=False only",
           c.options.begin()->first);
  bool const takes_tensors = takes_arguments || c.class_name == "LSTM" || c.class_name == "GRU"
                             || c.class_name == "SimpleRNN" || c.class_name == "RNN"
                             || c.class_name == "Bidirectional";
  if (!takes_tensors && !c.named_inputs.empty())
    refuse("the call of the layer has an argument that is not imported", "tensors only",
           c.named_inputs.begin()->first);
  if (c.inputs.empty()) refuse("the layer has no input", "at least 1", "0");
  for (keras_value const& v : c.inputs)
    if (!v.slot)
      refuse("the layer reads a tensor that its layer does not return", "a tensor with values",
             "an output that is not computed");
  values made = (this->*found->second)(c);
  if (is_first_call()) c.fields.expect_read(!how_.training || c.inference);
  return made;
}

bool augments_images(std::string_view class_name) {
  static constexpr std::string_view others[]{"AugMix", "CutMix", "MixUp", "RandAugment", "Solarization"};
  return class_name.starts_with("Random") || std::ranges::find(others, class_name) != std::end(others);
}

namespace keras_operations {

/// Names of TensorFlow's functions in files of Keras 2, and of the equal functions of Keras 3.
inline constexpr std::pair<std::string_view, std::string_view> of_keras2[]{
    {"__operators__.add", "Add"},  {"__operators__.getitem", "GetItem"}, {"__operators__.sub", "Subtract"},
    {"math.add", "Add"},           {"math.divide", "TrueDivide"},        {"math.maximum", "Maximum"},
    {"math.minimum", "Minimum"},   {"math.multiply", "Multiply"},        {"math.negative", "Negative"},
    {"math.subtract", "Subtract"}, {"math.truediv", "TrueDivide"},       {"nn.bias_add", "Add"}};

/// Returns the numbers of a constant: a number, a list, or a serialised array of Keras 3.
inline std::vector<double> numbers_of(io::json_value constant) {
  std::vector<double> numbers;
  std::vector<io::json_value> pending{constant};
  while (!pending.empty()) {
    io::json_value const part = pending.back();
    pending.pop_back();
    if (part.kind() == io::json_kind::number)
      numbers.push_back(part.number());
    else if (part.kind() == io::json_kind::object && part.find("config") && part.at("config").find("value"))
      pending.push_back(part.at("config").at("value"));
    else
      for (std::size_t i = part.size(); i-- > 0;) pending.push_back(part.at(i));
  }
  return numbers;
}

/// Returns the extents of a constant that numbers_of reads. In a ragged list, the first elements define the
/// extents.
inline std::vector<int> extents_of_constant(io::json_value constant) {
  while (constant.kind() == io::json_kind::object && constant.find("config")
         && constant.at("config").find("value"))
    constant = constant.at("config").at("value");
  std::vector<int> extents;
  for (; constant.kind() == io::json_kind::array && constant.size() > 0; constant = constant.at(0))
    extents.push_back(static_cast<int>(constant.size()));
  return extents;
}

}  // namespace keras_operations

/// Translates a function of tensors: of keras.ops, or of TensorFlow in files of Keras 2.
keras_translation::values keras_translation::translate_operation(call c, keras_call const& node) {
  std::vector<io::json_value> constants = node.constants;
  std::string shown = "keras.ops." + c.class_name;
  if (c.class_name.ends_with("OpLambda")) {
    std::string const function = c.fields.text({"function"}, "");
    shown = "tf." + function;
    auto const* const found = std::ranges::find(keras_operations::of_keras2, function,
                                                &std::pair<std::string_view, std::string_view>::first);
    c.class_name = found == std::end(keras_operations::of_keras2) ? function : std::string(found->second);
    for (auto const& [name, tensors] : c.named_inputs)
      c.inputs.insert(c.inputs.end(), tensors.begin(), tensors.end());
    for (auto const& [name, given] : c.options)
      if (given.kind() != io::json_kind::string) constants.push_back(given);
    c.named_inputs.clear(), c.options.clear();
  }
  static constexpr std::string_view of_two[]{"Add", "Subtract", "Multiply", "Maximum", "Minimum"};
  std::string const& name = c.class_name;
  bool const is_division = name == "TrueDivide" || name == "Divide";
  bool const is_known = std::ranges::find(of_two, name) != std::end(of_two) || is_division
                        || name == "Negative" || name == "GetItem" || name == "Stack";
  if (!is_known)
    refuse("the function " + shown + " is not imported",
           "sums, differences, products, quotients, extremes, indices and stacks", shown);
  if (name == "Stack") return {stacked(c)};
  if (c.inputs.size() == 1) {
    if (name == "Negative") return {like(c.inputs[0], record(scale{.factor = -1}, {id_of(c.inputs[0])}))};
    if (constants.size() == 1 && name == "GetItem") return {item(c, constants[0])};
    if (constants.size() == 1 && name != "Maximum" && name != "Minimum")
      return {combined(c, constants[0], node.begins_with_constant)};
  }
  if (node.has_constants || c.inputs.size() != 2 || is_division)
    refuse(
        "the function " + shown + " is not imported for these arguments",
        "two tensors, or a tensor and a number; no division by a tensor",
        std::to_string(c.inputs.size()) + " tensors and " + std::to_string(constants.size()) + " constants");
  return merge(c);
}

/// Returns x ∘ with, or with ∘ x if the constant `is_first`.
keras_value keras_translation::combined(call const& c, io::json_value constant, bool is_first) {
  keras_value const& x = c.inputs[0];
  std::vector<double> with = keras_operations::numbers_of(constant);
  std::string const& name = c.class_name;
  if (with.size() != 1 && static_cast<int>(with.size()) != channels_of(x))
    refuse("the constant must be a number, or number for each channel",
           "1 or " + std::to_string(channels_of(x)), std::to_string(with.size()));
  // The axes of constant and value are aligned at the last axis.
  std::vector<int> const extents = keras_operations::extents_of_constant(constant);
  std::size_t const from_last = x.dims.size() == 3 && images_first_ ? 3 : 1;
  if (with.size() != 1
      && (extents.size() < from_last || extents[extents.size() - from_last] != channels_of(x)))
    refuse("the numbers of the constant lie along another axis than the channels",
           std::to_string(channels_of(x)) + " numbers along the channel axis", keras_text(extents));
  if (name == "Multiply") return affine(x, std::move(with), {0});
  if (name == "Add") return affine(x, {1}, std::move(with));
  if (name == "Subtract") {
    if (!is_first)
      for (double& number : with) number = -number;
    return affine(x, {is_first ? -1.0 : 1.0}, std::move(with));
  }
  if (is_first) refuse("a constant is divided by a tensor", "a tensor divided by a constant", name);
  for (double& number : with) number = 1 / number;
  return affine(x, std::move(with), {0});
}

/// Returns the elements first … last − 1 along an axis of a tensor.
keras_value keras_translation::part_of(keras_value const& x, std::size_t axis, int first, int last) {
  std::vector<int> dims = x.dims;
  dims[axis] = last - first;
  if (dims == x.dims) return x;
  expect_plain_order(x);
  if (is_channel_axis(static_cast<int>(axis) + 1, x))
    return value(record(subset{.first = first, .last = last}, {id_of(x)}), dims);
  if (dims.size() == 2) {  // steps: rows of an image
    int const image = reshaped(id_of(x), {1, x.dims[0], x.dims[1]}, "image");
    int const part = record(cropping{.sides = {first, x.dims[0] - last, 0, 0}}, {image});
    return value(reshaped(part, {dims[0], dims[1]}, "sequence"), dims);
  }
  bool const is_row = axis == (images_first_ ? 1U : 0U);
  int const after = x.dims[axis] - last;
  padding const sides = is_row ? padding(first, after, 0, 0) : padding(0, 0, first, after);
  return value(record(cropping{.sides = sides}, {id_of(x)}), dims);
}

/// Returns x[indices]: numbers, and slices with step 1.
keras_value keras_translation::item(call const& c, io::json_value indices) {
  keras_value x = c.inputs[0];
  auto const is = [](io::json_value of, std::string_view class_name) {
    auto const found = of.kind() == io::json_kind::object ? of.find("class_name") : std::nullopt;
    return found && found->kind() == io::json_kind::string && found->string() == class_name;
  };
  auto const bound = [](io::json_value of, char const* name, int extent, int otherwise) {
    io::json_value const range = of.find("config") ? of.at("config") : of;
    auto const found = range.find(name);
    if (!found || found->is_null()) return otherwise;
    auto const element =
        static_cast<int>(found->integer(-keras_limits::largest_extent, keras_limits::largest_extent));
    return std::clamp(element < 0 ? element + extent : element, 0, extent);
  };
  std::vector<io::json_value> list;
  if (indices.kind() != io::json_kind::array) indices.refuse("a list of indices");
  for (io::json_value const index : indices.items()) list.push_back(index);
  std::size_t axis = 0;  // index of an axis in Keras' value, which includes the batch
  std::vector<bool> removed(x.dims.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (is(list[i], "__ellipsis__")) {
      std::size_t const rest = list.size() - i - 1;
      if (x.dims.size() + 1 < rest + axis) list[i].refuse("at most one index for each axis");
      axis = x.dims.size() + 1 - rest;
      continue;
    }
    if (axis > x.dims.size()) list[i].refuse("at most one index for each axis");
    bool const is_number = list[i].kind() == io::json_kind::number;
    if (!is_number && list[i].kind() != io::json_kind::object) list[i].refuse("a number or a slice");
    if (!is_number && bound(list[i], "step", keras_limits::largest_extent, 1) != 1)
      refuse("a slice skips or reverses elements", "step 1", "another step");
    int const extent = axis == 0 ? keras_limits::largest_extent : x.dims[axis - 1];
    int first = 0, last = extent;
    if (is_number) {
      first = static_cast<int>(list[i].integer(-extent, extent - 1));
      if (first < 0) first += extent;
      last = first + 1;
    } else {
      first = bound(list[i], "start", extent, 0);
      last = bound(list[i], "stop", extent, extent);
    }
    if (axis == 0 && (is_number || first != 0 || last != extent))
      refuse("a part of the batch is selected", "all examples", "an index of the batch");
    if (first >= last)
      refuse("a slice is empty", "at least one element",
             std::to_string(first) + " to " + std::to_string(last));
    if (axis > 0) {
      x = part_of(x, axis - 1, first, last);
      removed[axis - 1] = is_number;
    }
    ++axis;
  }
  std::vector<int> dims;
  for (std::size_t i = 0; i < removed.size(); ++i)
    if (!removed[i]) dims.push_back(x.dims[i]);
  if (dims.size() == x.dims.size()) return x;
  if (dims.empty()) dims = {1};
  // Removed axes have one element. Therefore the order of elements changes only if an image keeps its
  // channels.
  keras_value result{.dims = dims};
  if (has_keras_order(x.dims) || x.dims.size() < 3 || dims.size() == 1)
    return value(reshaped(id_of(x), extents_of(result), "item"), dims);
  return value(record(permute{.order = {1, 2, 0}, .extents = extents_of(result)}, {id_of(x)}, "item"), dims);
}

/// Stacks tensors of equal extents along a new last axis: matrices H×W become an image H×W×C.
keras_value keras_translation::stacked(call const& c) {
  std::vector<int> const& dims = c.inputs.at(0).dims;
  int const axis = c.fields.integer({"axis"}, 0), rank = static_cast<int>(dims.size());
  if (axis != -1 && axis != rank + 1)
    refuse("tensors are stacked along another axis than the last one", "axis -1", std::to_string(axis));
  if (rank > 2 || images_first_)
    refuse("the stacked tensor has no equivalent in Cohort", "vectors or matrices, with channels last",
           keras_text(dims));
  std::vector<int> ids;
  for (keras_value const& matrix : c.inputs) {
    if (matrix.dims != dims)
      refuse("stacked tensors have other extents", keras_text(dims), keras_text(matrix.dims));
    expect_plain_order(matrix);
    ids.push_back(
        reshaped(id_of(matrix), rank == 2 ? shape{1, dims[0], dims[1]} : shape{dims[0], 1}, "image"));
  }
  std::vector<int> extents = dims;
  extents.push_back(static_cast<int>(ids.size()));
  return value(ids.size() == 1 ? ids[0] : record(concatenate{}, ids), extents);
}

// ---- activations -----------------------------------------------------------------------------------------

/// Returns the output of an activation. The activation is recorded only when the output is first used, unless
/// a loss contains the activation.
keras_value keras_translation::deferred(keras_value const& x, std::string activation) {
  int const logits = id_of(x);
  keras_value made = like(x, -1);
  made.slot->activation = activation;
  made.slot->logits = logits;
  if (made.order.empty() && owns(layer_name())) made.slot->name = layer_name();
  // The activation gets the name of this layer, not of the layer that reads the tensor.
  auto* const state = state_;
  std::string const suffix = suffix_;
  int const calls = state->calls;
  std::string const name = made.slot->name;
  made.slot->record = [this, state, suffix, calls, logits, activation, name] {
    auto* const before = std::exchange(state_, state);
    auto const suffix_before = std::exchange(suffix_, suffix);
    int const calls_before = std::exchange(state->calls, calls);
    int const id = activation == "softmax" ? record(softmax{}, {logits}) : record(sigmoid{}, {logits});
    if (!name.empty()) publish(id, name);
    state->calls = calls_before;
    suffix_ = suffix_before;
    state_ = before;
    return id;
  };
  return made;
}

keras_value keras_translation::activate(keras_value const& x, std::optional<keras_object> const& how,
                                        call const& c) {
  if (!how) return x;
  keras_fields const fields(how->config, c.fields.where(), version_);
  keras_value made = activate(x, how->class_name, fields);
  fields.expect_read(true);
  return made;
}

keras_value keras_translation::activate(keras_value const& x, std::string const& name,
                                        keras_fields const& fields) {
  auto const with = [&](auto const& layer) { return like(x, record(layer, {id_of(x)})); };
  auto const is = [&](auto... names) { return ((name == names) || ...); };
  if (is("linear", "Linear")) return x;
  if (is("relu") || is("ReLU")) {
    double const slope = fields.number({"negative_slope", "alpha"}, 0);
    double const threshold = fields.number({"threshold", "theta"}, 0);
    auto const most = fields.find({"max_value"});
    if (threshold != 0)
      refuse("Cohort has no rectifier with a threshold", "threshold 0", std::to_string(threshold));
    if (most && (most->number() != 6 || slope != 0))
      refuse("Cohort has rectifiers without limit, and with the limit 6", "max_value 6 or None",
             std::to_string(most->number()));
    if (most) return with(relu6{});
    if (slope != 0) return with(leaky_relu{.slope = slope});
    return with(relu{});
  }
  if (is("LeakyReLU", "leaky_relu")) {
    double const otherwise = name == "LeakyReLU" ? 0.3 : 0.2;
    return with(leaky_relu{.slope = fields.number({"negative_slope", "alpha"}, otherwise)});
  }
  if (is("elu", "ELU")) return with(elu{.alpha = fields.number({"alpha"}, 1)});
  if (is("celu")) return with(elu{});
  if (is("relu6")) return with(relu6{});
  if (is("selu")) return with(selu{});
  if (is("softplus")) return with(softplus{});
  if (is("softsign")) return with(softsign{});
  if (is("silu", "swish")) return with(swish{});
  if (is("mish")) return with(mish{});
  if (is("tanh")) return with(tanh_activation{});
  if (is("hard_tanh")) return with(hard_tanh{});
  if (is("gelu")) {
    if (fields.flag({"approximate"}, false)) return with(gelu_tanh{});
    return with(gelu{});
  }
  if (is("log_softmax")) {
    if (x.dims.size() == 3 && images_first_)
      refuse("Keras computes this softmax over the columns of images, Cohort over the channels",
             "the channel axis", "data_format channels_first");
    return with(log_softmax{});
  }
  if (is("sigmoid")) return deferred(x, "sigmoid");
  if (is("softmax", "Softmax")) {
    if (auto const axis = fields.find({"axis"})) {
      io::json_value const at =
          axis->kind() == io::json_kind::array && axis->size() == 1 ? axis->at(std::size_t{0}) : *axis;
      if (!is_channel_axis(static_cast<int>(at.integer(-8, 8)), x))
        refuse("Cohort's softmax is over the channels", "the channel axis",
               std::to_string(at.integer(-8, 8)));
    } else if (x.dims.size() == 3 && images_first_) {
      refuse("Keras computes this softmax over the columns of images, Cohort over the channels",
             "the channel axis", "data_format channels_first");
    }
    return deferred(x, "softmax");
  }
  // Keras 3 computes x/6 + 0.5. Keras 1, Keras 2 and Cohort compute 0.2·x + 0.5.
  auto const gate = [&] {
    return version_ >= 3 ? like(x, record(hard_sigmoid{}, {record(scale{.factor = 5.0 / 6}, {id_of(x)})}))
                         : with(hard_sigmoid{});
  };
  if (is("hard_sigmoid")) return gate();
  if (is("hard_silu", "hard_swish")) {
    if (version_ < 3)
      refuse("the activation " + name + " is of Keras 3", "Keras 3", "Keras " + std::to_string(version_));
    return like(x, record(multiply{}, {id_of(x), id_of(gate())}));
  }
  if (is("log_sigmoid")) {
    int const negated = record(scale{.factor = -1}, {id_of(x)}, "negated");
    return like(x, record(scale{.factor = -1}, {record(softplus{}, {negated})}));
  }
  if (is("tanh_shrink")) {
    int const negated = record(scale{.factor = -1}, {record(tanh_activation{}, {id_of(x)})}, "negated");
    return like(x, record(add{}, {id_of(x), negated}));
  }
  if (is("PReLU"))
    refuse("an activation with parameters must be a layer of its own", "the layer PReLU",
           "the activation PReLU");
  refuse("Cohort has no activation " + name, "one that docs/keras.md lists", name);
}

keras_translation::values keras_translation::activation(call const& c) {
  auto const how = c.fields.object({"activation"});
  if (!how) return {only(c)};
  return {activate(only(c), how, c)};
}

keras_translation::values keras_translation::advanced_activation(call const& c) {
  return {activate(only(c), c.class_name, c.fields)};
}

keras_translation::values keras_translation::prelu_layer(call const& c) {
  keras_value const& x = only(c);
  std::vector<int> shared;
  if (auto const axes = c.fields.find({"shared_axes"}))
    for (io::json_value const axis : axes->items()) shared.push_back(static_cast<int>(axis.integer(-8, 8)));
  int const rank = static_cast<int>(x.dims.size());
  std::vector<int> dims = x.dims;
  for (int const axis : shared) {
    if (axis < 1 || axis > rank)
      refuse("shared_axes is out of range", "1 to " + std::to_string(rank), std::to_string(axis));
    dims[static_cast<std::size_t>(axis - 1)] = 1;
  }
  std::size_t const channel = rank == 3 && images_first_ ? 0 : static_cast<std::size_t>(rank - 1);
  for (std::size_t axis = 0; axis < dims.size(); ++axis)
    if (axis != channel && dims[axis] != 1)
      refuse("Cohort's prelu has one slope for each channel", "shared_axes with all axes but the channels",
             keras_text(shared));
  bool const per_channel = dims[channel] != 1 || x.dims[channel] == 1;
  int const id = record(prelu{.per_channel = per_channel}, {id_of(x)});
  override_layer(id, c.fields, "alpha", "");
  weigh(id, "slope", {}, dims, {}, per_channel ? x.order : keras_order());
  return {like(x, id)};
}

// ---- dense layers ----------------------------------------------------------------------------------------

keras_value keras_translation::make_dense(call const& c, keras_value const& x, int units, bool bias,
                                          weight_place bias_place) {
  std::vector<int> dims = x.dims;
  int const width = dims.back();
  dims.back() = units;
  int id = 0;
  if (x.dims.size() == 3) {
    if (images_first_)
      refuse("Keras applies this dense layer to the columns of images, Cohort to their channels",
             "data_format channels_last", "data_format channels_first");
    id = record(conv2d{.filters = units, .kernel = 1, .bias = bias}, {id_of(x)});
  } else {
    id = record(dense{.units = units, .bias = bias}, {id_of(x)});
  }
  override_layer(id, c.fields, "kernel", "bias");
  weigh(id, "weights", {}, {width, units}, {1, 0}, x.order);
  if (bias) weigh(id, "bias", bias_place, {units});
  return value(id, std::move(dims));
}

keras_translation::values keras_translation::dense_layer(call const& c) {
  bool const bias = c.fields.flag({"use_bias", "bias"}, true);
  keras_value const made =
      make_dense(c, only(c), c.fields.integer({"units", "output_dim"}), bias, {.index = 1});
  return {activate(made, c.fields.object({"activation"}), c)};
}

keras_translation::values keras_translation::einsum_dense(call const& c) {
  keras_value const& x = only(c);
  std::string const equation = c.fields.text({"equation"}, "");
  // An equation input,kernel->output is a dense layer if the output differs from the input only in the last
  // letter.
  auto const comma = equation.find(','), arrow = equation.find("->");
  bool is_dense = comma != std::string::npos && arrow != std::string::npos && arrow > comma;
  std::string input, kernel, output;
  if (is_dense) {
    input = equation.substr(0, comma);
    kernel = equation.substr(comma + 1, arrow - comma - 1);
    output = equation.substr(arrow + 2);
    is_dense = !input.empty() && kernel.size() == 2 && input.size() == output.size()
               && input.back() == kernel[0] && output.back() == kernel[1]
               && input.substr(0, input.size() - 1) == output.substr(0, output.size() - 1)
               && input.find(kernel[1]) == std::string::npos;
  }
  if (!is_dense) refuse("Cohort has no general products of tensors", "an equation as abc,cd->abd", equation);
  auto const shape = c.fields.find({"output_shape"});
  if (!shape) refuse("the configuration has no field output_shape", "a value", "none");
  io::json_value const units = shape->kind() == io::json_kind::array ? shape->at(shape->size() - 1) : *shape;
  std::string const bias_axes = c.fields.text({"bias_axes"}, "");
  if (!bias_axes.empty() && bias_axes != std::string(1, output.back()))
    refuse("the bias of a dense layer is along its units", std::string(1, output.back()), bias_axes);
  keras_value const made = make_dense(c, x, static_cast<int>(units.integer(1, keras_limits::largest_extent)),
                                      !bias_axes.empty(), {.index = 1});
  return {activate(made, c.fields.object({"activation"}), c)};
}

// ---- normalisation ---------------------------------------------------------------------------------------

keras_translation::values keras_translation::normalisation(call const& c) {
  keras_value const& x = only(c);
  keras_fields const& f = c.fields;
  if (version_ == 1 && f.integer({"mode"}, 0) != 0)
    refuse("batch normalisation of Keras 1 is imported only in mode 0", "0",
           std::to_string(f.integer({"mode"}, 0)));
  auto const axis = f.find({"axis"});
  int at = -1;
  if (axis && axis->kind() == io::json_kind::array && axis->size() == 1)
    at = static_cast<int>(axis->at(std::size_t{0}).integer(-8, 8));
  else if (axis)
    at = static_cast<int>(axis->integer(-8, 8));
  if (!is_channel_axis(at, x))
    refuse("Cohort's batch normalisation is for each channel", "the channel axis", std::to_string(at));
  f.expect_unset({"renorm"}, "Cohort has no batch renormalisation");
  if (!state_->trainable) (void)f.find({"virtual_batch_size"});
  f.expect_unset({"synchronized"}, "imported batch normalisation is not synchronised");
  bool const has_scale = f.flag({"scale"}, true), has_shift = f.flag({"center"}, true);
  if (how_.training && state_->trainable && (!has_scale || !has_shift))
    refuse("Cohort trains scale and shift of a batch normalisation",
           "scale and center, trainable=False, or keras_options::training false",
           has_scale ? "center=False" : "scale=False");
  if (how_.training && state_->trainable && c.inference)
    refuse("the layer is called with training=False but is trained",
           "trainable=False, or keras_options::training false", "training=False");
  // Keras 3.0.0 and 3.0.1 ignore masks. Here, all patch versions of 3.0 count as ignoring masks.
  bool const ignores_masks =
      version_ == 1 || (version_ == 2 && keras_minor_ < 12) || (version_ == 3 && keras_minor_ == 0);
  if (ignores_masks && how_.training && state_->trainable && has_mask(x))
    refuse("this Keras ignores masks in the statistics of a batch, Cohort uses them",
           "Keras 2.12 or later except 3.0, trainable=False, or keras_options::training false",
           "Keras " + std::to_string(version_) + '.' + std::to_string(keras_minor_));
  int const id =
      record(batch_norm{.momentum = f.number({"momentum"}, 0.99), .epsilon = f.number({"epsilon"}, 1e-3)},
             {id_of(x)});
  int const channels = channels_of(x);
  if (is_first_call() && how_.training) {
    auto const gamma = f.object({"gamma_regularizer"}), beta = f.object({"beta_regularizer"});
    if (gamma || beta)
      refuse("Cohort has one penalty for scale and shift", "no gamma_regularizer and beta_regularizer",
             gamma ? "gamma_regularizer" : "beta_regularizer");
    if (f.object({"gamma_constraint"}) || f.object({"beta_constraint"}))
      refuse("constraints of batch normalisation are not imported",
             "no gamma_constraint and beta_constraint, or keras_options::training false",
             f.object({"gamma_constraint"}) ? "gamma_constraint" : "beta_constraint");
  }
  int index = 0;
  if (has_scale)
    weigh(id, "scale", {.index = index++}, {channels}, {}, x.order);
  else
    fill(id, "scale", 1);
  if (has_shift)
    weigh(id, "shift", {.index = index++}, {channels}, {}, x.order);
  else
    fill(id, "shift", 0);
  weigh(id, "running_mean", {.index = index++, .is_trained = false}, {channels}, {}, x.order);
  weigh(id, "running_variance", {.index = index++, .is_trained = false}, {channels}, {}, x.order);
  return {like(x, id)};
}

keras_translation::values keras_translation::layer_normalisation(call const& c) {
  keras_value const& x = only(c);
  keras_fields const& f = c.fields;
  int const rank = static_cast<int>(x.dims.size());
  std::vector<int> axes;
  auto const axis = f.find({"axis"});
  if (axis && axis->kind() == io::json_kind::array)
    for (io::json_value const one : axis->items()) axes.push_back(static_cast<int>(one.integer(-8, 8)));
  else
    axes.push_back(axis ? static_cast<int>(axis->integer(-8, 8)) : -1);
  for (int& one : axes)
    if (one < 0) one += rank + 1;
  std::ranges::sort(axes);
  bool is_last = !axes.empty() && axes.back() == rank && axes.front() >= 1;
  for (std::size_t i = 1; i < axes.size(); ++i) is_last = is_last && axes[i] == axes[i - 1] + 1;
  bool const is_image = rank == 3 && !images_first_;
  if (!is_last || (is_image && axes.size() != 3))
    refuse("Cohort normalises over the last axes of C×H×W or T×C",
           is_image ? "the axes 1, 2 and 3" : "the last axes", keras_text(axes));
  int const count = static_cast<int>(axes.size());
  std::vector<int> const dims(x.dims.end() - count, x.dims.end());
  std::vector<int> const order = is_image ? std::vector<int>{2, 0, 1} : std::vector<int>{};
  if (c.class_name == "RMSNormalization") {
    if (count != 1) refuse("Cohort's RMS normalisation is over the last axis", "1 axis", keras_text(axes));
    int const id = record(rms_norm{.epsilon = f.number({"epsilon"}, 1e-6)}, {id_of(x)});
    weigh(id, "scale", {}, dims, {}, x.order);
    return {like(x, id)};
  }
  f.expect_unset({"rms_scaling"}, "Cohort has no rms_scaling of layer normalisation");
  int const id = record(layer_norm{.axes = count, .epsilon = f.number({"epsilon"}, 1e-3)}, {id_of(x)});
  weigh_norm(c, id, "layer normalisation", dims, order, x.order);
  return {like(x, id)};
}

/// Maps scale and shift of a normalisation, which may be missing in Keras.
void keras_translation::weigh_norm(call const& c, int node, std::string const& kind,
                                   std::vector<int> const& dims, std::vector<int> const& axes,
                                   keras_order const& order) {
  keras_fields const& f = c.fields;
  bool const has_scale = f.flag({"scale"}, true), has_shift = f.flag({"center"}, true);
  if (how_.training && state_->trainable && (!has_scale || !has_shift))
    refuse("Cohort trains scale and shift of a " + kind,
           "scale and center, trainable=False, or keras_options::training false",
           has_scale ? "center=False" : "scale=False");
  if (how_.training)
    for (std::string_view const field :
         {"gamma_regularizer", "beta_regularizer", "gamma_constraint", "beta_constraint"})
      if (f.has(field))
        refuse("penalties and constraints of " + kind + " are not imported",
               "none of them, or keras_options::training false", std::string(field));
  int index = 0;
  if (has_scale)
    weigh(node, "scale", {.index = index++}, dims, axes, order);
  else
    fill(node, "scale", 1);
  if (has_shift)
    weigh(node, "shift", {.index = index++}, dims, axes, order);
  else
    fill(node, "shift", 0);
}

keras_translation::values keras_translation::group_normalisation(call const& c) {
  keras_value const& x = only(c);
  keras_fields const& f = c.fields;
  int const channels = channels_of(x), given = f.integer({"groups"}, 32), axis = f.integer({"axis"}, -1);
  if (!is_channel_axis(axis, x))
    refuse("Cohort's groups consist of channels", "the channel axis", std::to_string(axis));
  expect_plain_order(x);
  int const groups = given == -1 ? channels : given;
  int const id = record(group_norm{.groups = groups, .epsilon = f.number({"epsilon"}, 1e-3)}, {id_of(x)});
  weigh_norm(c, id, "group normalisation", {channels}, {}, {});
  return {like(x, id)};
}

/// Translates Rescaling and Normalization to a scale, or to a frozen batch normalisation with constants.
keras_translation::values keras_translation::fixed_normalisation(call const& c) {
  keras_value const& x = only(c);
  keras_fields const& f = c.fields;
  auto const numbers = [&](std::string_view name, double otherwise) {
    auto const found = f.find({name});
    std::vector<double> given = found ? keras_operations::numbers_of(*found) : std::vector<double>();
    if (given.empty()) given.push_back(otherwise);
    return given;
  };
  int const channels = channels_of(x);
  std::vector<double> factor, offset;
  if (c.class_name == "Rescaling") {
    factor = numbers("scale", 1);
    offset = numbers("offset", 0);
  } else {
    f.expect_unset({"invert"}, "the inverse of a normalisation is not imported");
    auto const axis = f.find({"axis"});  // null or an empty list: one mean over all elements
    bool has_channel_axis = !axis && !f.has_null("axis");
    if (axis && axis->kind() == io::json_kind::array && axis->size() == 1)
      has_channel_axis = is_channel_axis(static_cast<int>(axis->at(std::size_t{0}).integer(-8, 8)), x);
    if (axis && axis->kind() == io::json_kind::number)
      has_channel_axis = is_channel_axis(static_cast<int>(axis->integer(-8, 8)), x);
    expect_plain_order(x);
    bool const has_mean = f.has("mean"), has_variance = f.has("variance");
    if (has_mean != has_variance) refuse("mean and variance must be given together", "both", "one of them");
    if (!has_mean) {
      // A layer adapted to data: mean, variance and count are arrays of the layer.
      if (!has_channel_axis)
        refuse("an adapted normalisation is imported only per channel", "axis -1", "other axes");
      int const id = record_fixed(x);
      fill(id, "scale", 1);
      fill(id, "shift", 0);
      // Keras divides by max(√v, 1e-7), Cohort by √(v + 1e-14).
      auto const without_epsilon = [](std::vector<float> const& from) {
        std::vector<float> made = from;
        for (float& one : made) one = std::max(one - static_cast<float>(fixed_epsilon), 0.0F);
        return made;
      };
      weigh(id, "running_mean", {.index = 0, .is_trained = false}, {channels});
      weigh(id, "running_variance", {.index = 1, .is_trained = false}, {channels}, without_epsilon);
      weigh(id, "", {.index = 2, .is_trained = false}, {}, nullptr);
      return {like(x, id)};
    }
    auto mean = numbers("mean", 0), variance = numbers("variance", 1);
    if ((mean.size() > 1 || variance.size() > 1) && !has_channel_axis)
      refuse("mean and variance of a normalisation are imported only per channel",
             "the channel axis, or one number", "another axis");
    for (auto* const one : {&mean, &variance}) {
      if (one->size() == 1) one->resize(static_cast<std::size_t>(channels), one->front());
      if (one->size() != static_cast<std::size_t>(channels))
        refuse("mean and variance must be numbers, or one for each channel", std::to_string(channels),
               std::to_string(one->size()));
    }
    for (std::size_t i = 0; i < mean.size(); ++i) {
      factor.push_back(1 / std::max(std::sqrt(variance[i]), 1e-7));
      offset.push_back(-mean[i] * factor.back());
    }
  }
  return {affine(x, std::move(factor), std::move(offset))};
}

/// Returns x·factor + offset with constants: a scale, or a frozen batch normalisation.
///
/// Shapes    `factor` and `offset`: one number, or one for each channel.
keras_value keras_translation::affine(keras_value const& x, std::vector<double> factor,
                                      std::vector<double> offset) {
  if (factor.size() == 1 && offset.size() == 1 && offset[0] == 0)
    return like(x, record(scale{.factor = factor[0]}, {id_of(x)}));
  int const channels = channels_of(x);
  for (auto* const numbers : {&factor, &offset}) {
    if (numbers->size() == 1) numbers->resize(static_cast<std::size_t>(channels), numbers->front());
    if (numbers->size() != static_cast<std::size_t>(channels))
      refuse("scale and offset must be numbers, or numbers for each channel", std::to_string(channels),
             std::to_string(numbers->size()));
  }
  expect_plain_order(x);
  int const id = record_fixed(x);
  if (is_first_call()) {
    constant_parameters_.push_back({{id, "scale"}, std::vector<float>(factor.begin(), factor.end())});
    constant_parameters_.push_back({{id, "shift"}, std::vector<float>(offset.begin(), offset.end())});
  }
  fill(id, "running_mean", 0);
  fill(id, "running_variance", 1);
  return like(x, id);
}

/// Records x·scale + shift with constants, as a frozen batch normalisation. Running statistics cannot be
/// shared, so later calls have copies of the parameters.
int keras_translation::record_fixed(keras_value const& x) {
  int const id = record(batch_norm{.momentum = 0.99, .epsilon = fixed_epsilon}, {id_of(x)}, {}, false);
  if (!is_first_call() || state_->trainable) freeze(id);
  if (!is_first_call())
    for (char const* const parameter : {"scale", "shift", "running_mean", "running_variance"})
      copied_parameters_.push_back({{id, parameter}, {state_->nodes.at(0), parameter}});
  return id;
}

// ---- indices ---------------------------------------------------------------------------------------------

keras_translation::values keras_translation::embedding_layer(call const& c) {
  keras_value const& x = only(c);
  expect_rank(c, 1);
  int const vocabulary = c.fields.integer({"input_dim"}), width = c.fields.integer({"output_dim"});
  bool const masked = c.fields.flag({"mask_zero"}, false);
  int const id = record(embedding{.vocabulary = vocabulary, .width = width, .mask_zero = masked}, {id_of(x)});
  override_layer(id, c.fields, "embeddings", "");
  weigh(id, "weights", {}, {vocabulary, width});
  return {value(id, {x.dims[0], width})};
}

/// Translates a one-hot encoding to a frozen embedding with the identity matrix.
keras_translation::values keras_translation::one_hot(call const& c) {
  keras_value const& x = only(c);
  expect_rank(c, 1);
  std::string const mode = c.fields.text({"output_mode"}, "multi_hot");
  if (mode != "one_hot")
    refuse("CategoryEncoding is imported only with output_mode one_hot", "one_hot", mode);
  int const tokens = c.fields.integer({"num_tokens"});
  if (tokens > 4096)
    refuse("CategoryEncoding is imported only for up to 4096 tokens", "at most 4096", std::to_string(tokens));
  int const id = record(embedding{.vocabulary = tokens, .width = tokens}, {id_of(x)});
  if (is_first_call()) {  // later calls share the embedding
    std::vector<float> unit(static_cast<std::size_t>(tokens) * static_cast<std::size_t>(tokens), 0);
    for (std::size_t i = 0; i < unit.size(); i += static_cast<std::size_t>(tokens) + 1) unit[i] = 1;
    constant_parameters_.push_back({{id, "weights"}, std::move(unit)});
    if (state_->trainable) freeze(id);
  }
  if (x.dims[0] == 1) return {value(reshaped(id, {tokens}, "vector"), {tokens})};
  return {value(id, {x.dims[0], tokens})};
}

// ---- layers that differ in training only -----------------------------------------------------------------

keras_translation::values keras_translation::random_layer(call const& c) {
  keras_value const& x = only(c);
  keras_fields const& f = c.fields;
  f.mark_read();
  if (!how_.training || c.inference) return {x};
  auto const with = [&](auto const& layer) {
    keras_value made = like(x, record(layer, {id_of(x)}));
    return values{made};
  };
  double const rate = f.number({"rate", "p"}, 0);
  if (c.class_name == "ActivityRegularization") {
    f.expect_unset({"l1"}, "Cohort has no penalty of activations");
    f.expect_unset({"l2"}, "Cohort has no penalty of activations");
    return {x};
  }
  if (c.class_name == "GaussianNoise")
    return with(gaussian_noise{.deviation = f.number({"stddev", "sigma"}, 0)});
  if (rate == 0) return {x};
  if (c.class_name == "SpatialDropout1D" || c.class_name == "SpatialDropout2D") {
    expect_rank(c, c.class_name == "SpatialDropout1D" ? 2 : 3);
    return with(spatial_dropout{.rate = rate});
  }
  if (c.class_name != "Dropout")
    refuse("Cohort has no " + c.class_name, "Dropout, or keras_options::training false", c.class_name);
  f.expect_unset({"noise_shape"}, "Cohort drops single elements");
  return with(dropout{.rate = rate});
}

keras_translation::values keras_translation::identity(call const& c) { return {only(c)}; }

keras_translation::values keras_translation::masking(call const& c) {
  expect_rank(c, 2);
  (void)c.fields.find({"mask_value"});  // padding_of
  keras_value const& x = only(c);
  int const id = id_of(x);
  if (net_.view().kind(id) != kind_of<padded_input>)
    refuse("a mask begins at an input of the network in Cohort",
           "Masking directly behind an Input that nothing else reads",
           "a tensor of the layer " + net_.view().name(id));
  keras_value made = like(x, record(zero_masked{}, {id}));
  made.has_zero_padding = true;
  return {made};
}

}  // namespace cohort::detail
