// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cohort/caffe/detail/caffe_network.hpp>
#include <cohort/detail/json_string.hpp>
#include <set>
#include <utility>
#include <vector>

namespace cohort::detail {

namespace {

struct v1_type {
  int number;
  std::string_view v1, v2;
};
/// V1LayerParameter.LayerType of caffe.proto.
constexpr v1_type v1_types[]{{35, "ABSVAL", "AbsVal"},
                             {1, "ACCURACY", "Accuracy"},
                             {30, "ARGMAX", "ArgMax"},
                             {2, "BNLL", "BNLL"},
                             {3, "CONCAT", "Concat"},
                             {37, "CONTRASTIVE_LOSS", "ContrastiveLoss"},
                             {4, "CONVOLUTION", "Convolution"},
                             {5, "DATA", "Data"},
                             {39, "DECONVOLUTION", "Deconvolution"},
                             {6, "DROPOUT", "Dropout"},
                             {32, "DUMMY_DATA", "DummyData"},
                             {7, "EUCLIDEAN_LOSS", "EuclideanLoss"},
                             {25, "ELTWISE", "Eltwise"},
                             {38, "EXP", "Exp"},
                             {8, "FLATTEN", "Flatten"},
                             {9, "HDF5_DATA", "HDF5Data"},
                             {10, "HDF5_OUTPUT", "HDF5Output"},
                             {28, "HINGE_LOSS", "HingeLoss"},
                             {11, "IM2COL", "Im2col"},
                             {12, "IMAGE_DATA", "ImageData"},
                             {13, "INFOGAIN_LOSS", "InfogainLoss"},
                             {14, "INNER_PRODUCT", "InnerProduct"},
                             {15, "LRN", "LRN"},
                             {29, "MEMORY_DATA", "MemoryData"},
                             {16, "MULTINOMIAL_LOGISTIC_LOSS", "MultinomialLogisticLoss"},
                             {34, "MVN", "MVN"},
                             {17, "POOLING", "Pooling"},
                             {26, "POWER", "Power"},
                             {18, "RELU", "ReLU"},
                             {19, "SIGMOID", "Sigmoid"},
                             {27, "SIGMOID_CROSS_ENTROPY_LOSS", "SigmoidCrossEntropyLoss"},
                             {36, "SILENCE", "Silence"},
                             {20, "SOFTMAX", "Softmax"},
                             {21, "SOFTMAX_LOSS", "SoftmaxWithLoss"},
                             {22, "SPLIT", "Split"},
                             {33, "SLICE", "Slice"},
                             {23, "TANH", "TanH"},
                             {24, "WINDOW_DATA", "WindowData"},
                             {31, "THRESHOLD", "Threshold"}};

prototxt_message::field text_field(std::string name, std::string text, prototxt_message::field const& like) {
  return {.name = std::move(name), .text = std::move(text), .line = like.line, .column = like.column};
}

/// Moves the transformation's fields of older data layers to transform_param.
void upgrade_transformation(prototxt_message& layer) {
  for (std::string_view const param : {"data_param", "image_data_param", "window_data_param"}) {
    if (!layer.has(param)) continue;
    prototxt_message data = layer.message(param), transform = layer.message("transform_param");
    bool moves = false;
    for (std::string_view const name : {"scale", "mean_file", "crop_size", "mirror"})
      for (prototxt_message::field const& each : data.fields())
        if (each.name == name) transform.add(each), moves = true;
    if (!moves) continue;
    for (std::string_view const name : {"scale", "mean_file", "crop_size", "mirror"}) data.remove(name);
    layer.remove(param);
    layer.remove("transform_param");
    layer.add({.name = std::string(param), .message = {std::move(data)}});
    layer.add({.name = "transform_param", .message = {std::move(transform)}});
  }
}

/// Converts a layer of the format V1: V1LayerParameter of caffe.proto.
prototxt_message upgraded(prototxt_message const& v1) {
  if (v1.has("layer"))
    v1.refuse("layer", "the network has the format V0, which Caffe replaced in 2013",
              "layer { … } at the top",
              "layers { layer { … } }; convert it by Caffe's upgrade_net_proto_text");
  prototxt_message v2 = v1;
  std::vector<prototxt_message> params;
  auto const param = [&](std::size_t which) -> prototxt_message& {
    while (params.size() <= which) params.push_back(v1.nested(1, 1));
    return params[which];
  };
  std::size_t names = 0, modes = 0, rates = 0, decays = 0;
  for (prototxt_message::field const& each : v1.fields()) {
    if (each.name == "param") param(names++).add(text_field("name", each.text, each));
    if (each.name == "blob_share_mode") param(modes++).add(text_field("share_mode", each.text, each));
    if (each.name == "blobs_lr") param(rates++).add(text_field("lr_mult", each.text, each));
    if (each.name == "weight_decay") param(decays++).add(text_field("decay_mult", each.text, each));
  }
  for (std::string_view const name : {"param", "blob_share_mode", "blobs_lr", "weight_decay"})
    v2.remove(name);
  for (prototxt_message& each : params) v2.add({.name = "param", .message = {std::move(each)}});
  std::string const type = v1.text("type");
  std::string_view const name = caffe_type_of_v1(type);
  if (name.empty())
    v1.refuse("type", "the layer type is unknown in the format V1", "a name such as CONVOLUTION",
              quote_for_error(type));
  v2.remove("type");
  v2.add({.name = "type", .text = std::string(name), .is_string = true});
  return v2;
}

caffe_state::phases phase_of(prototxt_message const& message) {
  std::string const text = message.text("phase");
  if (text == "TRAIN" || text == "0") return caffe_state::phases::train;
  if (text == "TEST" || text == "1") return caffe_state::phases::test;
  message.refuse("phase", "the phase is unknown", "TRAIN or TEST", quote_for_error(text));
}

/// NetStateRule: Net::StateMeetsRule of Caffe.
bool holds(prototxt_message const& rule, caffe_state const& state) {
  static constexpr std::array<std::string_view, 5> names{"phase", "min_level", "max_level", "stage",
                                                         "not_stage"};
  rule.expect_only(names);
  auto const has_stage = [&](std::string const& stage) {
    return std::ranges::find(state.stages, stage) != state.stages.end();
  };
  if (rule.has("phase") && phase_of(rule) != state.phase) return false;
  if (state.level < rule.integer("min_level", state.level)) return false;
  if (state.level > rule.integer("max_level", state.level)) return false;
  for (std::string const& stage : rule.texts("stage"))
    if (!has_stage(stage)) return false;
  for (std::string const& stage : rule.texts("not_stage"))
    if (has_stage(stage)) return false;
  return true;
}

bool is_included(prototxt_message const& layer, caffe_state const& state) {
  auto const includes = layer.messages("include"), excludes = layer.messages("exclude");
  if (!includes.empty() && !excludes.empty())
    layer.refuse("include", "the layer has include and exclude rules", "rules of one kind", "both");
  auto const met = [&](prototxt_message const* rule) { return holds(*rule, state); };
  if (!excludes.empty()) return std::ranges::none_of(excludes, met);
  return includes.empty() || std::ranges::any_of(includes, met);
}

/// Fields of a layer: LayerParameter of caffe.proto without blobs, which only a .caffemodel may have, and the
/// fields of CaffeOnSpark.
constexpr std::array<std::string_view, 61> layer_fields{"name",
                                                        "type",
                                                        "bottom",
                                                        "top",
                                                        "phase",
                                                        "loss_weight",
                                                        "param",
                                                        "propagate_down",
                                                        "include",
                                                        "exclude",
                                                        "transform_param",
                                                        "loss_param",
                                                        "accuracy_param",
                                                        "argmax_param",
                                                        "batch_norm_param",
                                                        "bias_param",
                                                        "clip_param",
                                                        "concat_param",
                                                        "contrastive_loss_param",
                                                        "convolution_param",
                                                        "cos_data_param",
                                                        "crop_param",
                                                        "data_param",
                                                        "dropout_param",
                                                        "dummy_data_param",
                                                        "eltwise_param",
                                                        "elu_param",
                                                        "embed_param",
                                                        "exp_param",
                                                        "flatten_param",
                                                        "hdf5_data_param",
                                                        "hdf5_output_param",
                                                        "hinge_loss_param",
                                                        "image_data_param",
                                                        "infogain_loss_param",
                                                        "inner_product_param",
                                                        "input_param",
                                                        "log_param",
                                                        "lrn_param",
                                                        "memory_data_param",
                                                        "mvn_param",
                                                        "parameter_param",
                                                        "pooling_param",
                                                        "power_param",
                                                        "prelu_param",
                                                        "python_param",
                                                        "recurrent_param",
                                                        "reduction_param",
                                                        "relu_param",
                                                        "reshape_param",
                                                        "scale_param",
                                                        "sigmoid_param",
                                                        "slice_param",
                                                        "softmax_param",
                                                        "source_class",
                                                        "spp_param",
                                                        "swish_param",
                                                        "tanh_param",
                                                        "threshold_param",
                                                        "tile_param",
                                                        "window_data_param"};

/// Throws data_error for a field that layers do not have, or for a phase that differs from the network's.
void expect_layer_fields(prototxt_message const& layer, caffe_state const& state) {
  static constexpr std::array<std::string_view, 4> factors{"name", "share_mode", "lr_mult", "decay_mult"};
  layer.expect_only(layer_fields);
  for (prototxt_message const* const param : layer.messages("param")) param->expect_only(factors);
  expect_caffe_data_fields(layer);
  if (layer.has("phase") && phase_of(layer) != state.phase)
    layer.refuse("phase", "a layer has another phase than the network",
                 "the network's phase, or include rules", quote_for_error(layer.text("phase")));
}

/// Returns an Input layer with the inputs that fields of the network declare.
std::optional<caffe_layer> declared_inputs(prototxt_message const& net) {
  std::vector<std::string> const names = net.texts("input");
  if (names.empty()) return {};
  std::vector<prototxt_message const*> const shapes = net.messages("input_shape");
  std::vector<std::int64_t> const dims = net.integers("input_dim");
  if (shapes.size() != names.size() && (!shapes.empty() || dims.size() != 4 * names.size()))
    net.refuse(shapes.empty() ? "input_dim" : "input_shape", "the inputs have no shapes",
               {"input_shape for each of ", names.size(), " inputs, or 4 values of input_dim for each"},
               {shapes.size(), " and ", dims.size()});
  caffe_layer result{.name = "input", .type = "Input", .tops = names, .message = net.nested(1, 1)};
  prototxt_message param = net.nested(1, 1);
  for (std::size_t i = 0; i < names.size(); ++i) {
    prototxt_message shape = shapes.empty() ? net.nested(1, 1) : *shapes[i];
    for (std::size_t d = 0; shapes.empty() && d < 4; ++d)
      shape.add({.name = "dim", .text = std::to_string(dims[4 * i + d])});
    param.add({.name = "shape", .message = {std::move(shape)}});
  }
  result.message.add({.name = "input_param", .message = {std::move(param)}});
  return result;
}

}  // namespace

std::string_view caffe_type_of_v1(std::string_view name) {
  for (v1_type const& each : v1_types)
    if (each.v1 == name || std::to_string(each.number) == name) return each.v2;
  return {};
}
std::string_view caffe_type_of_v1(std::int64_t number) {
  for (v1_type const& each : v1_types)
    if (each.number == number) return each.v2;
  return {};
}

void expect_caffe_data_fields(prototxt_message const& layer) {
  using names = std::vector<std::string_view>;
  static names const of_shape{"dim"},
      of_top{"name",       "type",      "channels",        "height",          "width",    "out_channels",
             "out_height", "out_width", "sample_num_axes", "transform_param", "transpose"};
  static std::vector<std::pair<std::string_view, names>> const messages{
      {"cos_data_param", {"source", "batch_size", "dataframe_format", "top"}},
      {"data_param",
       {"source", "batch_size", "rand_skip", "backend", "scale", "mean_file", "crop_size", "mirror",
        "force_encoded_color", "prefetch"}},
      {"dummy_data_param", {"data_filler", "shape", "num", "channels", "height", "width"}},
      {"hdf5_data_param", {"source", "batch_size", "shuffle"}},
      {"image_data_param",
       {"source", "batch_size", "rand_skip", "shuffle", "new_height", "new_width", "is_color", "scale",
        "mean_file", "crop_size", "mirror", "root_folder"}},
      {"input_param", {"shape"}},
      {"memory_data_param",
       {"source", "batch_size", "channels", "height", "width", "share_in_parallel", "image_encoded",
        "dataframe_format", "dataframe_column_select"}},
      {"window_data_param",
       {"source", "batch_size", "scale", "mean_file", "crop_size", "mirror", "fg_threshold", "bg_threshold",
        "fg_fraction", "context_pad", "crop_mode", "cache_images", "root_folder"}}};
  for (auto const& [name, fields] : messages) {
    prototxt_message const message = layer.message(name);
    message.expect_only(fields);
    for (prototxt_message const* const shape : message.messages("shape")) shape->expect_only(of_shape);
    for (prototxt_message const* const top : message.messages("top")) {
      top->expect_only(of_top);
      top->message("transform_param").expect_only(caffe_transform_fields);
    }
  }
  layer.message("transform_param").expect_only(caffe_transform_fields);
}

bool is_caffe_data(std::string_view type) {
  static constexpr std::string_view types[]{"CoSData",   "Data",  "DummyData",  "HDF5Data",
                                            "ImageData", "Input", "MemoryData", "WindowData"};
  return std::ranges::find(types, type) != std::end(types);
}

std::vector<caffe_layer> caffe_layers(prototxt_message const& net, caffe_state const& state) {
  static constexpr std::array<std::string_view, 9> names{"name",       "input",          "input_shape",
                                                         "input_dim",  "force_backward", "state",
                                                         "debug_info", "layer",          "layers"};
  net.expect_only(names);
  bool const is_v1 = net.has("layers");
  if (is_v1 && net.has("layer"))
    net.refuse("layers", "the network has layers of two formats", "layer or layers", "both");
  std::vector<caffe_layer> all;
  if (std::optional<caffe_layer> inputs = declared_inputs(net)) all.push_back(std::move(*inputs));
  caffe_state merged = state;
  if (net.has("state")) {  // as in Solver::InitTrainNet, the level of the given state has priority
    static constexpr std::array<std::string_view, 3> fields{"phase", "level", "stage"};
    prototxt_message const own = net.message("state");
    own.expect_only(fields);
    if (own.has("phase") && phase_of(own) != state.phase)
      own.refuse("phase", "the state of the network has another phase than the import",
                 state.phase == caffe_state::phases::train ? "TRAIN" : "TEST",
                 quote_for_error(own.text("phase")));
    std::int64_t const level = own.integer("level", 0);
    if (level != static_cast<int>(level))
      own.refuse("level", "the level is out of range", "an integer of 32 bits", {level});
    if (merged.level == 0) merged.level = static_cast<int>(level);
    for (std::string const& stage : own.texts("stage")) merged.stages.push_back(stage);
  }
  for (prototxt_message const* const given : net.messages(is_v1 ? "layers" : "layer")) {
    prototxt_message layer = is_v1 ? upgraded(*given) : *given;
    if (!is_included(layer, merged)) continue;
    expect_layer_fields(layer, merged);
    upgrade_transformation(layer);
    caffe_layer result{.name = layer.text("name"),
                       .type = layer.text("type"),
                       .bottoms = layer.texts("bottom"),
                       .tops = layer.texts("top"),
                       .message = layer};
    if (result.type.empty())
      layer.refuse("type", "the layer has no type", "a type such as Convolution", "none");
    all.push_back(std::move(result));
  }
  return all;
}

}  // namespace cohort::detail
