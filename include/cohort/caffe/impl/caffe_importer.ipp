// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cohort/caffe/detail/caffe_importer.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/detail/nearest_name.hpp>

namespace cohort::detail {

std::vector<caffe_importer::known_layer> const& caffe_importer::known_layers() {
  using self = caffe_importer;
  static std::vector<known_layer> const known{
      {"AbsVal", &self::abs_val, "", {}},
      {"Accuracy", &self::accuracy, "accuracy_param", {"top_k", "axis", "ignore_label"}},
      {"BNLL", &self::pointwise_layer<0>, "", {}},
      {"BatchNorm",
       &self::batch_norm,
       "batch_norm_param",
       {"use_global_stats", "moving_average_fraction", "eps"}},
      {"Bias", &self::bias, "bias_param", {"axis", "num_axes", "filler"}},
      {"Clip", &self::clip, "clip_param", {"min", "max"}},
      {"Concat", &self::concat, "concat_param", {"axis", "concat_dim"}},
      {"Convolution",
       &self::convolution,
       "convolution_param",
       {"num_output", "bias_term", "pad", "kernel_size", "stride", "dilation", "pad_h", "pad_w", "kernel_h",
        "kernel_w", "stride_h", "stride_w", "group", "weight_filler", "bias_filler", "engine", "axis",
        "force_nd_im2col"}},
      {"Crop", &self::crop, "crop_param", {"axis", "offset"}},
      {"Deconvolution",
       &self::deconvolution,
       "convolution_param",
       {"num_output", "bias_term", "pad", "kernel_size", "stride", "dilation", "pad_h", "pad_w", "kernel_h",
        "kernel_w", "stride_h", "stride_w", "group", "weight_filler", "bias_filler", "engine", "axis",
        "force_nd_im2col"}},
      {"Dropout", &self::dropout, "dropout_param", {"dropout_ratio"}},
      {"ELU", &self::elu, "elu_param", {"alpha"}},
      {"Eltwise", &self::eltwise, "eltwise_param", {"operation", "coeff", "stable_prod_grad"}},
      {"Embed",
       &self::embed,
       "embed_param",
       {"num_output", "input_dim", "bias_term", "weight_filler", "bias_filler"}},
      {"EuclideanLoss", &self::euclidean_loss, "", {}},
      {"Flatten", &self::flatten, "flatten_param", {"axis", "end_axis"}},
      {"HingeLoss", &self::hinge_loss, "hinge_loss_param", {"norm"}},
      {"InnerProduct",
       &self::inner_product,
       "inner_product_param",
       {"num_output", "bias_term", "weight_filler", "bias_filler", "axis", "transpose"}},
      {"LRN", &self::lrn, "lrn_param", {"local_size", "alpha", "beta", "norm_region", "k", "engine"}},
      {"LSTM",
       &self::lstm,
       "recurrent_param",
       {"num_output", "weight_filler", "bias_filler", "debug_info", "expose_hidden"}},
      {"MultinomialLogisticLoss", &self::multinomial_loss, "", {}},
      {"PReLU", &self::prelu, "prelu_param", {"filler", "channel_shared"}},
      {"Pooling",
       &self::pooling,
       "pooling_param",
       {"pool", "pad", "pad_h", "pad_w", "kernel_size", "kernel_h", "kernel_w", "stride", "stride_h",
        "stride_w", "engine", "global_pooling", "round_mode"}},
      {"Power", &self::power, "power_param", {"power", "scale", "shift"}},
      {"RNN",
       &self::rnn,
       "recurrent_param",
       {"num_output", "weight_filler", "bias_filler", "debug_info", "expose_hidden"}},
      {"ReLU", &self::relu, "relu_param", {"negative_slope", "engine"}},
      {"Reduction", &self::reduction, "reduction_param", {"operation", "axis", "coeff"}},
      {"Reshape", &self::reshape, "reshape_param", {"shape", "axis", "num_axes"}},
      {"SPP", &self::spp, "spp_param", {"pyramid_height", "pool", "engine"}},
      {"Scale", &self::scale, "scale_param", {"axis", "num_axes", "filler", "bias_term", "bias_filler"}},
      {"Sigmoid", &self::pointwise_layer<1>, "sigmoid_param", {"engine"}},
      {"SigmoidCrossEntropyLoss", &self::sigmoid_loss, "", {}},
      {"Silence", &self::silence, "", {}},
      {"Slice", &self::slice, "slice_param", {"axis", "slice_point", "slice_dim"}},
      {"Softmax", &self::softmax, "softmax_param", {"engine", "axis"}},
      {"SoftmaxWithLoss", &self::softmax_loss, "softmax_param", {"engine", "axis"}},
      {"Split", &self::alias, "", {}},
      {"Swish", &self::swish, "swish_param", {"beta"}},
      {"TanH", &self::pointwise_layer<2>, "tanh_param", {"engine"}},
      {"Tile", &self::tile, "tile_param", {"axis", "tiles"}}};
  return known;
}

std::span<caffe_importer::refused_layer const> caffe_importer::refused_layers() {
  static constexpr refused_layer refused[]{
      {"ArgMax", "its output is a class index, which no layer computes: read the scores instead"},
      {"BatchReindex", "it selects examples of the batch, but the batch has any size here"},
      {"ContrastiveLoss",
       "no loss compares two outputs of a network: define a loss of your own (docs/guide)"},
      {"Exp", "no layer computes exponentials"},
      {"Filter", "it removes examples of the batch, but the batch has one size in the whole network"},
      {"HDF5Output", "it writes a file in each step: use cohort features instead"},
      {"Im2col", "no layer makes columns of windows: use Convolution"},
      {"InfogainLoss", "no loss weights pairs of classes by a matrix"},
      {"LSTMUnit", "it is a part of LSTM: use LSTM"},
      {"Log", "no layer computes logarithms"},
      {"MVN", "it adds eps to the deviation, and group_norm adds it to the variance"},
      {"Parameter", "its output has no batch"},
      {"Python", "it runs a program in Python: replace it by a layer of the network"},
      {"Recurrent", "it is the base of LSTM and RNN: use one of them"},
      {"Threshold", "its derivative is 0 everywhere, and no layer computes it"}};
  return refused;
}

caffe_importer::known_layer const* caffe_importer::find(std::string_view type) {
  auto const found = std::ranges::find(known_layers(), type, &known_layer::type);
  return found == known_layers().end() ? nullptr : &*found;
}
bool caffe_importer::imports(std::string_view type) { return find(type) || is_caffe_data(type); }
std::string_view caffe_importer::refusal_of(std::string_view type) {
  auto const refused = refused_layers();
  auto const found = std::ranges::find(refused, type, &refused_layer::type);
  return found == refused.end() ? std::string_view() : found->reason;
}

caffe_importer::caffe_importer(prototxt_message const& net, caffe_import_settings const& settings)
    : net_message_(net), settings_(settings), layers_(caffe_layers(net, settings.state)) {}

caffe_model caffe_importer::run(std::vector<caffe_trained_layer> const& trained, std::string const& weights) {
  if (layers_.empty() || layers_.size() > max_caffe_layers)
    throw graph_error({.what = "cannot import the Caffe network: it has no layers, or too many",
                       .where = net_message_.origin(),
                       .expected = {"1 to ", max_caffe_layers, " layers in this phase"},
                       .got = {layers_.size(), "; check the file"}});
  resolve_blobs();
  mark_live();
  mark_time_major();
  add_data();
  for (std::size_t n = 0; n < layers_.size(); ++n)
    if (versions_[n].is_live && !is_caffe_data(layers_[n].type)) import_layer(n);
  layer_ = nullptr;

  std::map<std::string, std::string> blobs;
  std::vector<std::string> outputs;
  for (std::size_t version = 0; version < blob_names_.size(); ++version) {
    auto const found = values_.find(static_cast<int>(version));
    if (found == values_.end() || found->second.id < 0) continue;
    if (auto const named = names_.find(found->second.id); named != names_.end()) {
      blobs[blob_names_[version]] = named->second;
      bool const is_loss = net_.view().kind(found->second.id).role == layer_role::loss;
      if (is_output_[version] && !is_loss && std::ranges::find(outputs, named->second) == outputs.end())
        outputs.push_back(named->second);
    }
  }
  bool has_layer = false;
  for (int id = 0; id < net_.view().size(); ++id)
    has_layer = has_layer || net_.view().kind(id).role != layer_role::input;
  if (!has_layer)
    throw graph_error({.what = "cannot import the Caffe network: no layer computes anything",
                       .where = net_message_.origin(),
                       .expected = "layers of this phase that compute an output",
                       .got = {layers_.size(), " layers; check phase and stages"}});
  for (auto const& [id, name] : names_) net_.rename(id, name);
  std::vector<std::string> inputs;
  for (int id = 0; id < net_.view().size(); ++id)
    if (net_.view().kind(id).role == layer_role::input) inputs.push_back(names_.at(id));

  caffe_model result{.model = imported_model(built(), net_message_.origin())};
  result.model.inputs = std::move(inputs);
  result.model.outputs = std::move(outputs);
  result.data = std::move(data_);
  result.continuations = std::move(continuations_);
  result.blobs = std::move(blobs);
  // A run refuses a network whose layers are all frozen. If all layers would be frozen, none is frozen.
  std::set<int> trained_nodes;
  for (caffe_parameter_blob const& each : parameters_) trained_nodes.insert(each.node);
  for (auto& [id, each] : rates_) {
    each.layer = names_.at(id);
    result.rates.push_back(each);
    if (each.is_constant && !trained_nodes.empty())
      result.model.settings.optimizer.layers.push_back({.layer = each.layer, .frozen = true});
  }
  graph_view const net = result.model.network();
  for (int const id : net.with_role(layer_role::loss))
    for (auto& [node, target] : targets_)
      if (names_.at(node) == net.name(id)) {
        target.loss = net.name(id);
        result.targets.push_back(target);
      }
  for (scored const& each : scores_) add_accuracy(each, net, result.accuracies);
  store_parameters(result, trained, weights);
  return result;
}

/// The scores of an Accuracy layer are those of the loss that reads the same blob, because a loss ranks the
/// classes as its input does.
void caffe_importer::add_accuracy(scored each, graph_view net, std::vector<caffe_accuracy>& to) {
  each.accuracy.scores = names_.at(each.node);
  bool has_loss = false;
  for (int const id : net.with_role(layer_role::loss)) {
    int from = net.inputs(id)[0];
    while (net.name(from) != names_.at(each.node)
           && (net.kind(from).name == "permute" || net.kind(from).name == "reshape"))
      from = net.inputs(from)[0];
    if (net.name(from) != names_.at(each.node)) continue;
    each.accuracy.scores = net.name(id);
    has_loss = true;
  }
  layer_ = each.layer;
  if (each.has_positions && !has_loss)
    refuse("the scores have a class at each position, and no loss reads them",
           "a SoftmaxWithLoss layer with the same bottom", "none");
  layer_ = nullptr;
  to.push_back(std::move(each.accuracy));
}

/// Sorts the layers. The builder checks rules of the whole network, such as equal divisors of all losses.
graph caffe_importer::built() {
  try {
    return graph(std::move(net_));
  } catch (graph_error const& why) {
    throw graph_error({.what = {"cannot import the Caffe network: ", why.why().what},
                       .where = net_message_.origin(),
                       .expected = "layers and losses that can be trained together",
                       .got = {why.what(), "; check the losses"}});
  }
}

// ---- blobs ----
void caffe_importer::resolve_blobs() {
  std::map<std::string, int, std::less<>> current;
  versions_.resize(layers_.size());
  for (std::size_t n = 0; n < layers_.size(); ++n) {
    layer_ = &layers_[n];
    if (std::size_t const most = std::max(layer_->bottoms.size(), layer_->tops.size());
        most > max_caffe_blobs)
      refuse("the layer has too many blobs", {"at most ", max_caffe_blobs}, {most});
    for (std::string const& name : layer_->bottoms) {
      auto const found = current.find(name);
      if (found == current.end())
        refuse({"no earlier layer computes the bottom ", quote_for_error(name)},
               "the top of an earlier layer", "none; check the phases and stages of the layers");
      versions_[n].bottoms.push_back(found->second);
    }
    for (std::size_t t = 0; t < layer_->tops.size(); ++t) {
      std::string const& name = layer_->tops[t];
      bool const in_place = std::ranges::find(layer_->bottoms, name) != layer_->bottoms.end();
      if (!in_place && current.contains(name))
        refuse({"two layers compute the blob ", quote_for_error(name)}, "one layer, or a layer in place",
               "two; check the phases and stages of the layers");
      current[name] = static_cast<int>(blob_names_.size());
      versions_[n].tops.push_back(static_cast<int>(blob_names_.size()));
      blob_names_.push_back(name);
    }
  }
  layer_ = nullptr;
}

/// A layer is live if it is a loss or Accuracy, or if its output is read by a live layer or by no layer at
/// all.
void caffe_importer::mark_live() {
  std::vector<int> silenced(blob_names_.size()), scored_by(blob_names_.size());
  readers_.assign(blob_names_.size(), 0);
  is_output_.assign(blob_names_.size(), false);
  for (std::size_t n = 0; n < layers_.size(); ++n)
    for (int const blob : versions_[n].bottoms)
      silenced[static_cast<std::size_t>(blob)] += layers_[n].type == "Silence";
  for (std::size_t n = layers_.size(); n-- > 0;) {
    std::string const& type = layers_[n].type;
    bool is_live =
        type == "Accuracy" || type.ends_with("Loss") || (layers_[n].tops.empty() && type != "Silence");
    for (int const blob : versions_[n].tops) {
      auto const b = static_cast<std::size_t>(blob);
      bool const is_final = readers_[b] == 0 && silenced[b] == 0;
      if (is_final && !is_caffe_data(type) && type != "Accuracy") is_output_[b] = true;
      is_live = is_live || readers_[b] + scored_by[b] > 0 || is_final;
    }
    versions_[n].is_live = is_live;
    if (!is_live || type == "Silence") continue;
    for (int const blob : versions_[n].bottoms)
      ++(type == "Accuracy" ? scored_by : readers_)[static_cast<std::size_t>(blob)];
  }
}

/// Finds the inputs of the file whose first axis is the time: layers between them and an LSTM keep this axis.
void caffe_importer::mark_time_major() {
  for (std::size_t n = layers_.size(); n-- > 0;) {
    caffe_layer const& each = layers_[n];
    bool const is_recurrent = each.type == "LSTM" || each.type == "RNN";
    bool marks = false;
    for (std::string const& top : each.tops) marks = marks || (!is_recurrent && time_major_.contains(top));
    for (std::size_t b = 0; b < each.bottoms.size(); ++b)
      if (marks || (is_recurrent && b < 2)) time_major_.insert(each.bottoms[b]);
  }
}

// ---- data ----
caffe_importer::extents caffe_importer::given_extents(std::string const& top) const {
  for (input_extents const& each : settings_.inputs) {
    if (each.name != top) continue;
    extents result{-1};
    for (int axis = 0; axis < each.extents.rank; ++axis) result.push_back(each.extents[axis]);
    return result;
  }
  return {};
}

caffe_importer::extents caffe_importer::data_extents(caffe_layer const& layer, std::size_t top) {
  prototxt_message const& message = layer.message;
  std::string const& name = layer.tops[top];
  if (extents given = given_extents(name); !given.empty()) return given;
  auto const of_shape = [&](prototxt_message const& shape) {
    extents dims = shape.integers("dim");
    if (dims.size() > max_caffe_axes)
      refuse({"the top ", quote_for_error(name), " has too many axes"}, {"at most ", max_caffe_axes},
             {dims.size()});
    std::size_t const batch = time_major_.contains(name) && dims.size() > 1 ? 1 : 0;
    if (dims.empty())
      refuse({"the top ", quote_for_error(name), " has no extents"}, "dim for each axis", "none");
    dims[batch] = -1;
    return dims;
  };
  std::int64_t const crop = message.message("transform_param").integer("crop_size", 0);
  if (layer.type == "Input" || layer.type == "DummyData") {
    prototxt_message const param =
        message.message(layer.type == "Input" ? "input_param" : "dummy_data_param");
    auto const shapes = param.messages("shape");
    if (!shapes.empty()) return of_shape(*shapes[shapes.size() == 1 ? 0 : std::min(top, shapes.size() - 1)]);
    extents result{-1};
    for (char const* const axis : {"channels", "height", "width"}) {
      std::vector<std::int64_t> const all = param.integers(axis);
      if (!all.empty()) result.push_back(all[std::min(top, all.size() - 1)]);
    }
    return result.size() == 4 ? result : extents();
  }
  if (layer.type == "MemoryData") {
    prototxt_message const param = message.message("memory_data_param");
    if (top > 0) return {-1};
    std::int64_t const height = param.integer("height", 0), width = param.integer("width", 0);
    return {-1, param.integer("channels", 0), crop > 0 ? crop : height, crop > 0 ? crop : width};
  }
  if (layer.type == "CoSData") {
    prototxt_message const param = message.message("cos_data_param");
    auto const tops = param.messages("top");
    if (top >= tops.size())
      refuse({"cos_data_param has no top ", top}, {layer.tops.size(), " messages top"}, {tops.size()});
    prototxt_message const& each = *tops[top];
    auto const extent = [&](std::string const& axis) {
      std::int64_t const out = each.integer("out_" + axis, 0);
      return out > 0 ? out : each.integer(axis, 0);
    };
    std::int64_t const axes = each.integer("sample_num_axes", 3);
    if (each.boolean("transpose", false)) return {extent("channels"), -1};
    extents result{-1};
    if (axes > 0) result.push_back(extent("channels"));
    if (axes > 1) result.push_back(extent("height"));
    if (axes > 2) result.push_back(extent("width"));
    return result;
  }
  // The records of Data, ImageData, HDF5Data and WindowData have the extents. Their second top are labels.
  return top == 1 && layer.type != "HDF5Data" ? extents{-1} : extents();
}

void caffe_importer::add_data() {
  std::set<std::string, std::less<>> known;
  for (std::size_t n = 0; n < layers_.size(); ++n) {
    layer_ = &layers_[n];
    if (!is_caffe_data(layer_->type)) continue;
    if (layer_->type != "Input") data_.push_back({layer_->name, layer_->type, layer_->tops, layer_->message});
    for (std::size_t t = 0; t < layer_->tops.size(); ++t) {
      std::string const& top = layer_->tops[t];
      extents const dims = data_extents(*layer_, t);
      for (std::int64_t const extent : dims)
        if (extent != -1 && (extent < 1 || extent > max_caffe_extent))
          refuse({"an extent of the top ", quote_for_error(top), " is out of range"},
                 {"1 to ", max_caffe_extent}, {extent});
      if (std::ranges::count(dims, -1) > 1)
        refuse({"an extent of the top ", quote_for_error(top), " is not known"}, {"1 to ", max_caffe_extent},
               "-1");
      split({.dims = dims.empty() ? extents{-1} : dims}, 0, 0);  // refuses too many elements
      known.insert(top);
      sources_[top] = dims;
      values_[versions_[n].tops[t]] = {.dims = dims, .source = top};
    }
  }
  layer_ = nullptr;
  for (input_extents const& each : settings_.inputs) {
    if (known.contains(each.name)) continue;
    std::vector<std::string_view> names(known.begin(), known.end());
    throw setting_error({.what = "the network has no such input",
                         .where = {"caffe_import_settings.inputs, ", net_message_.origin()},
                         .expected = names_and_nearest(each.name, names),
                         .got = quote_for_error(each.name)});
  }
}

// ---- layers ----
void caffe_importer::import_layer(std::size_t which) {
  which_ = which;
  layer_ = &layers_[which];
  known_layer const* const known = find(layer_->type);
  if (!known) {
    if (std::string_view const reason = refusal_of(layer_->type); !reason.empty())
      refuse("layers of this type are not imported", "a layer type of docs/caffe.md", {reason});
    std::vector<std::string_view> types;
    for (known_layer const& each : known_layers()) types.push_back(each.type);
    std::string_view const near = nearest_name(layer_->type, types);
    refuse("the layer type is unknown", "a layer type of docs/caffe.md",
           near.empty() ? clause("an unknown type; replace the layer")
                        : clause({"an unknown type; the nearest type is ", near}));
  }
  if (layer_->tops.empty() && layer_->type != "Silence" && layer_->type != "Accuracy"
      && !layer_->type.ends_with("Loss"))
    refuse("the layer has no top", "1 top or more", "none");
  param_ = layer_->message.message(known->param.empty() ? "" : known->param);
  param_.expect_only(known->names);
  std::vector<double> const weights = layer_->message.numbers("loss_weight");
  bool const is_loss = layer_->type.ends_with("Loss");
  for (std::size_t t = 0; t < weights.size(); ++t)
    if (weights[t] != 0 && (!is_loss || t > 0))
      refuse("the layer is no loss and has a loss_weight", "loss_weight 0",
             {weights[t], "; add a loss layer"});
  std::vector<bool> const propagates = layer_->message.booleans("propagate_down");
  for (std::size_t b = 0; b < propagates.size() && b < bottoms(); ++b)
    if (!propagates[b] && bottom(b).source.empty())
      refuse("propagate_down stops a gradient", "propagate_down true, or lr_mult 0 in the layers before",
             "propagate_down false; no layer stops gradients");
  int const first = net_.view().size();
  (this->*known->import)();
  name_nodes(first);
}

/// Names the nodes that the current layer appended.
void caffe_importer::name_nodes(int first) {
  int const last = net_.view().size();
  int main = -1;
  std::vector<int> nodes;
  for (int id = first; id < last; ++id)
    if (!names_.contains(id)) nodes.push_back(id);
  for (int const id : nodes)
    if (main < 0 && net_.view().parameters(id).count > 0
        && std::ranges::find(rates_, id, [](auto const& each) {
             return each.second.is_constant ? each.first : -1;
           }) == rates_.end())
      main = id;
  auto const& tops = versions_[which_].tops;
  if (main < 0 && !tops.empty() && values_.contains(tops[0])) {
    int const computed = values_.at(tops[0]).id;
    if (std::ranges::find(nodes, computed) != nodes.end()) main = computed;
  }
  if (main < 0 && !nodes.empty()) main = nodes.back();
  std::string const base = !layer_->name.empty()   ? layer_->name
                           : !layer_->tops.empty() ? layer_->tops[0]
                                                   : layer_->type;
  if (main >= 0) names_[main] = used_names_.add(base);
  for (int const id : nodes)
    if (id != main) names_[id] = used_names_.add(base + '/' + std::string(net_.view().kind(id).name));
}

void caffe_importer::refuse(clause problem, clause expected, clause got) const {
  throw graph_error({.what = {"cannot import the Caffe network: ", problem},
                     .where = {layer_->message.where(), ", layer ", quote_for_error(layer_->name),
                               " of type ", quote_for_error(layer_->type)},
                     .expected = std::move(expected),
                     .got = std::move(got)});
}

caffe_value const& caffe_importer::bottom(std::size_t which) {
  if (which >= bottoms()) refuse("the layer has too few bottoms", {which + 1, " or more"}, {bottoms()});
  auto const found = values_.find(versions_[which_].bottoms[which]);
  if (found == values_.end())
    refuse({"no layer may read the bottom ", quote_for_error(layer_->bottoms[which])},
           "the output of a layer", "the output of a loss, of Accuracy or of a layer that is omitted");
  return found->second;
}

void caffe_importer::expect_bottoms(std::size_t least, std::size_t most) const {
  if (bottoms() < least || bottoms() > most)
    refuse("the layer has another number of bottoms", {least, " to ", most}, {bottoms()});
}

bool caffe_importer::is_used(std::size_t top) const {
  if (top >= versions_[which_].tops.size()) return false;
  auto const version = static_cast<std::size_t>(versions_[which_].tops[top]);
  return readers_[version] > 0 || is_output_[version];
}

void caffe_importer::set(caffe_value value, std::size_t top) {
  if (top >= versions_[which_].tops.size())
    refuse("the layer has too few tops", {top + 1, " or more"}, {top});
  values_[versions_[which_].tops[top]] = std::move(value);
}

std::string caffe_importer::dims_text(extents const& dims) const {
  if (dims.empty()) return "unknown extents";
  std::string result;
  for (std::int64_t const extent : dims)
    result += (result.empty() ? "" : " x ") + (extent == -1 ? std::string("N") : std::to_string(extent));
  return result;
}

int caffe_importer::choice(std::string_view name, std::initializer_list<std::string_view> names,
                           int otherwise) const {
  if (!param_.has(name)) return otherwise;
  std::string const text = param_.text(name);
  int which = 0;
  for (std::string_view const each : names) {
    if (text == each || text == std::to_string(which)) return which;
    ++which;
  }
  param_.refuse(name, "the value is unknown",
                names_and_nearest(text, std::vector<std::string_view>(names.begin(), names.end())),
                quote_for_error(text));
}

}  // namespace cohort::detail
