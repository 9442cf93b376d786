// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/detail/deeplearning4j_fields.hpp>
#include <span>
#include <utility>

namespace cohort::detail {

namespace deeplearning4j_names {

using old_name = std::pair<std::string_view, std::string_view>;

/// Names of layers up to 1.0.0-alpha that differ from the names of their classes.
inline constexpr old_name layers[]{{"autoEncoder", "AutoEncoder"},
                                   {"convolution", "ConvolutionLayer"},
                                   {"convolution1d", "Convolution1DLayer"},
                                   {"gravesLSTM", "GravesLSTM"},
                                   {"gravesBidirectionalLSTM", "GravesBidirectionalLSTM"},
                                   {"output", "OutputLayer"},
                                   {"rnnoutput", "RnnOutputLayer"},
                                   {"loss", "LossLayer"},
                                   {"dense", "DenseLayer"},
                                   {"subsampling", "SubsamplingLayer"},
                                   {"subsampling1d", "Subsampling1DLayer"},
                                   {"batchNormalization", "BatchNormalization"},
                                   {"localResponseNormalization", "LocalResponseNormalization"},
                                   {"embedding", "EmbeddingLayer"},
                                   {"activation", "ActivationLayer"},
                                   {"dropout", "DropoutLayer"},
                                   {"GlobalPooling", "GlobalPoolingLayer"},
                                   {"zeroPadding", "ZeroPaddingLayer"},
                                   {"zeroPadding1d", "ZeroPadding1DLayer"},
                                   {"ElementWiseMult", "ElementWiseMultiplicationLayer"}};

/// Activations whose old names differ from the ends of their classes' names by more than capitals.
inline constexpr old_name activations[]{{"hardtanh", "HardTanH"}, {"leakyrelu", "LReLU"}};

/// Names of ActivationX without the prefix.
inline constexpr std::string_view activation_ends[]{
    "Cube",     "ELU",      "GELU",         "HardSigmoid", "HardTanH", "Identity",       "LReLU", "Mish",
    "PReLU",    "RReLU",    "RationalTanh", "ReLU",        "ReLU6",    "RectifiedTanh",  "SELU",  "Sigmoid",
    "SoftPlus", "SoftSign", "Softmax",      "Swish",       "TanH",     "ThresholdedReLU"};

inline std::string lower(std::string_view text) {
  std::string small(text);
  for (char& letter : small)
    letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  return small;
}

/// Returns the class of an activation, for an old name or a text: "ActivationReLU" for "relu".
inline std::string activation_class(std::string_view name) {
  if (name.starts_with("Activation")) return std::string(name);
  std::string const small = lower(name);
  for (auto const& [old, end] : activations)
    if (old == small) return "Activation" + std::string(end);
  for (std::string_view const end : activation_ends)
    if (lower(end) == small) return "Activation" + std::string(end);
  return std::string(name);
}

/// Returns the class of a loss, for an old name or the constants of LossFunctions.
inline std::string loss_class(std::string_view name) {
  static constexpr old_name constants[]{{"NEGATIVELOGLIKELIHOOD", "NegativeLogLikelihood"},
                                        {"XENT", "BinaryXENT"},
                                        {"SQUARED_LOSS", "L2"},
                                        {"MEAN_ABSOLUTE_ERROR", "MAE"},
                                        {"KL_DIVERGENCE", "KLD"},
                                        {"RECONSTRUCTION_CROSSENTROPY", "BinaryXENT"},
                                        {"HINGE", "Hinge"}};
  if (name.starts_with("Loss")) return std::string(name);
  for (auto const& [constant, end] : constants)
    if (constant == name) return "Loss" + std::string(end);
  return "Loss" + std::string(name);
}

inline std::string preprocessor_class(std::string_view name) {
  std::string_view const end = "PreProcessor";
  if (name.ends_with(end) || name.empty()) return std::string(name);
  if (name == "composableInput") return "ComposableInputPreProcessor";
  std::string complete(name);
  if (complete[0] >= 'a' && complete[0] <= 'z') complete[0] = static_cast<char>(complete[0] - 'a' + 'A');
  return complete.append(end);
}

inline std::string class_of(std::string_view name, deeplearning4j_object::family is) {
  if (std::size_t const dot = name.find_last_of(".$"); dot != name.npos) name.remove_prefix(dot + 1);
  using family = deeplearning4j_object::family;
  switch (is) {
    case family::layer:
      for (auto const& [old, current] : layers)
        if (old == name) return std::string(current);
      return std::string(name);
    case family::activation:
      return activation_class(name);
    case family::loss:
      return loss_class(name);
    case family::preprocessor:
      return preprocessor_class(name);
    case family::other:
      break;
  }
  return std::string(name);
}

/// Fields that do not change outputs: names, initial values, settings of cuDNN, memory and serialisation, and
/// fields that the functions of layers with parameters read.
inline constexpr std::string_view ignored[]{"@class",
                                            "activationFn",
                                            "activationFunction",
                                            "adamMeanDecay",
                                            "adamVarDecay",
                                            "biasInit",
                                            "biasLearningRate",
                                            "biasUpdater",
                                            "cacheMode",
                                            "clipEps",
                                            "cnn2DFormat",
                                            "cnn2dDataFormat",
                                            "configProperties",
                                            "convolutionMode",
                                            "cudnnAlgoMode",
                                            "cudnnAllowFallback",
                                            "cudnnBwdDataAlgo",
                                            "cudnnBwdFilterAlgo",
                                            "cudnnFwdAlgo",
                                            "dataFormat",
                                            "dataType",
                                            "defaultValueOverridden",
                                            "defaultValueOverriden",
                                            "dist",
                                            "distRecurrent",
                                            "eps",
                                            "epsilon",
                                            "forgetGateBiasInit",
                                            "format",
                                            "gainInit",
                                            "gradientNormalization",
                                            "gradientNormalizationThreshold",
                                            "hasBias",
                                            "helperAllowFallback",
                                            "initialWeights",
                                            "initializer",
                                            "iupdater",
                                            "l1",
                                            "l1Bias",
                                            "l2",
                                            "l2Bias",
                                            "layerName",
                                            "learningRate",
                                            "learningRateSchedule",
                                            "legacyBatchScaledL2",
                                            "momentum",
                                            "momentumSchedule",
                                            "nin",
                                            "nout",
                                            "numOutputs",
                                            "outputFormat",
                                            "preProcessor",
                                            "pretrain",
                                            "regularization",
                                            "regularizationBias",
                                            "rho",
                                            "rmsDecay",
                                            "rnnDataFormat",
                                            "softmaxClipEps",
                                            "timeDistributedFormat",
                                            "updater",
                                            "useLogStd",
                                            "weightInit",
                                            "weightInitFn",
                                            "weightInitFnRecurrent",
                                            "weightInitRecurrent"};

/// Fields that act in training only.
inline constexpr std::string_view of_training[]{"constraints", "dropOut",      "idropout",
                                                "lossFn",      "lossFunction", "weightNoise"};

inline bool is_in(std::span<std::string_view const> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

inline bool is_unset(io::json_value value) {
  switch (value.kind()) {
    case io::json_kind::null:
      return true;
    case io::json_kind::boolean:
      return !value.boolean();
    case io::json_kind::number:
      return value.number() == 0;
    case io::json_kind::string:
      return value.string().empty() || value.string() == "NaN" || value.string() == "None";
    case io::json_kind::array:
    case io::json_kind::object:
      return value.size() == 0;
  }
  return false;
}

inline void append(std::string& to, io::json_value value, int depth) {
  if (depth > 8) value.refuse("at most 8 levels");
  to.append(value.key()).append(":");
  switch (value.kind()) {
    case io::json_kind::null:
      to += "null";
      break;
    case io::json_kind::boolean:
      to += value.boolean() ? "true" : "false";
      break;
    case io::json_kind::number:
      to += std::to_string(value.number());
      break;
    case io::json_kind::string:
      to.append(value.string());
      break;
    case io::json_kind::array:
    case io::json_kind::object:
      to += '{';
      for (io::json_value const part : value.items()) append(to, part, depth + 1);
      to += '}';
  }
  to += ';';
}

inline constexpr std::int64_t largest_extent = 1 << 20;

}  // namespace deeplearning4j_names

void refuse_deeplearning4j(std::string where, std::string problem, std::string expected, std::string got,
                           std::string_view remedy) {
  throw data_error({.what = {"cannot import the Deeplearning4j model: ", make_printable(problem)},
                    .where = make_printable(where),
                    .expected = make_printable(expected),
                    .got = make_printable(got) + "; " + std::string(remedy)});
}

std::optional<deeplearning4j_object> deeplearning4j_object::read(std::optional<io::json_value> from,
                                                                 std::string where, family is) {
  using namespace deeplearning4j_names;
  if (!from || from->is_null()) return std::nullopt;
  if (from->kind() == io::json_kind::string)
    return deeplearning4j_object(class_of(from->string(), is), std::nullopt, std::move(where));
  if (from->kind() != io::json_kind::object) from->refuse("an object with @class");
  if (auto const name = from->find("@class"))
    return deeplearning4j_object(class_of(name->string(), is), from, std::move(where));
  if (from->size() == 1) {
    io::json_value const inner = *from->items().begin();
    if (inner.kind() == io::json_kind::object)
      return deeplearning4j_object(class_of(inner.key(), is), inner, std::move(where));
  }
  from->refuse("an object with @class, or with the class as its only field");
}

std::string deeplearning4j_object::text() const {
  std::string result = class_name_;
  if (fields_)
    for (io::json_value const value : fields_->items()) deeplearning4j_names::append(result, value, 0);
  return result;
}

std::optional<io::json_value> deeplearning4j_object::find(std::string_view name) const {
  if (!fields_) return std::nullopt;
  auto const found = fields_->find(name);
  if (!found) return std::nullopt;
  read_->insert(found->key());
  if (found->is_null()) return std::nullopt;
  return found;
}

std::string deeplearning4j_object::text(std::string_view name, std::string_view otherwise) const {
  auto const found = find(name);
  return std::string(found ? found->string() : otherwise);
}

bool deeplearning4j_object::flag(std::string_view name, bool otherwise) const {
  auto const found = find(name);
  return found ? found->boolean() : otherwise;
}

int deeplearning4j_object::integer(std::string_view name, int otherwise) const {
  auto const found = find(name);
  return found ? static_cast<int>(found->integer(0, deeplearning4j_names::largest_extent)) : otherwise;
}

int deeplearning4j_object::count(std::string_view name) const {
  auto const found = find(name);
  if (!found) refuse("the field " + std::string(name) + " is missing", "a number", "none");
  return static_cast<int>(found->integer(1, deeplearning4j_names::largest_extent));
}

double deeplearning4j_object::number(std::string_view name, double otherwise) const {
  auto const found = find(name);
  if (!found || (found->kind() == io::json_kind::string && found->string() == "NaN")) return otherwise;
  return found->number();
}

std::vector<int> deeplearning4j_object::integers(std::string_view name) const {
  auto const found = find(name);
  std::vector<int> result;
  if (!found) return result;
  auto const add = [&](io::json_value value) {
    result.push_back(static_cast<int>(
        value.integer(-deeplearning4j_names::largest_extent, deeplearning4j_names::largest_extent)));
  };
  if (found->kind() == io::json_kind::number) {
    add(*found);
    return result;
  }
  if (found->size() > 8) found->refuse("at most 8 numbers");
  for (io::json_value const value : found->items()) add(value);
  return result;
}

extent2 deeplearning4j_object::extents(std::string_view name, extent2 otherwise) const {
  std::vector<int> const given = integers(name);
  if (given.empty()) return otherwise;
  return {given[0], given.size() > 1 ? given[1] : given[0]};
}

std::optional<deeplearning4j_object> deeplearning4j_object::object(std::string_view name, family is) const {
  return read(find(name), where_, is);
}

void deeplearning4j_object::expect_read(bool trains) const {
  using namespace deeplearning4j_names;
  if (!fields_) return;
  for (io::json_value const value : fields_->items()) {
    std::string_view const name = value.key();
    if (read_->contains(name) || is_unset(value) || is_in(ignored, name)) continue;
    if (!trains && is_in(of_training, name)) continue;
    refuse("the field " + std::string(name) + " of " + class_name_ + " is not imported",
           "no such field, or null", "a value");
  }
}

void deeplearning4j_object::mark_read() const {
  if (fields_)
    for (io::json_value const value : fields_->items()) read_->insert(value.key());
}

void deeplearning4j_object::refuse(std::string problem, std::string expected, std::string got) const {
  refuse_deeplearning4j(where_, std::move(problem), std::move(expected), std::move(got));
}

}  // namespace cohort::detail
