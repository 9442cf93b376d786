// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/json_string.hpp>
#include <cohort/interchange/detail/onnx_importer.hpp>

namespace cohort::detail {

inline constexpr std::int64_t oldest_onnx_set = 1, newest_onnx_set = 28;

onnx_importer::known_operator const* onnx_importer::find_operator(std::string_view op) {
  using self = onnx_importer;
  static constexpr known_operator known[]{{"Abs", &self::absolute, 1},
                                          {"Add", &self::binary, 2},
                                          {"Attention", &self::attention, 7},
                                          {"AveragePool", &self::pool, 1},
                                          {"BatchNormalization", &self::batch_normalization, 5},
                                          {"Cast", &self::cast, 1},
                                          {"Celu", &self::celu, 1},
                                          {"Clip", &self::clip, 3},
                                          {"Concat", &self::concat, any_number},
                                          {"Constant", &self::constant, 0},
                                          {"Conv", &self::conv, 3},
                                          {"ConvTranspose", &self::conv_transposed, 3},
                                          {"DepthToSpace", &self::depth_to_space, 1},
                                          {"Div", &self::binary, 2},
                                          {"Dropout", &self::dropout, 3},
                                          {"Einsum", &self::einsum, 2},
                                          {"Elu", &self::elu, 1},
                                          {"Expand", &self::expand, 2},
                                          {"Flatten", &self::flatten, 1},
                                          {"GRU", &self::recurrent, 6},
                                          {"Gather", &self::gather, 2},
                                          {"Gelu", &self::gelu, 1},
                                          {"Gemm", &self::gemm, 3},
                                          {"GlobalAveragePool", &self::global_pool, 1},
                                          {"GlobalMaxPool", &self::global_pool, 1},
                                          {"GroupNormalization", &self::group_normalization, 3},
                                          {"HardSigmoid", &self::hard_sigmoid, 1},
                                          {"HardSwish", &self::hard_swish, 1},
                                          {"Identity", &self::identity, 1},
                                          {"InstanceNormalization", &self::instance_normalization, 3},
                                          {"LRN", &self::lrn, 1},
                                          {"LSTM", &self::recurrent, 8},
                                          {"LayerNormalization", &self::layer_normalization, 3},
                                          {"LeakyRelu", &self::leaky_relu, 1},
                                          {"LogSoftmax", &self::log_softmax, 1},
                                          {"MatMul", &self::matmul, 2},
                                          {"Max", &self::joined, any_number},
                                          {"MaxPool", &self::pool, 1},
                                          {"Mean", &self::joined, any_number},
                                          {"Min", &self::joined, any_number},
                                          {"Mish", &self::simple<5>, 1},
                                          {"Mul", &self::binary, 2},
                                          {"Neg", &self::neg, 1},
                                          {"PRelu", &self::prelu, 2},
                                          {"Pad", &self::pad, 4},
                                          {"Pow", &self::power, 2},
                                          {"RMSNormalization", &self::rms_normalization, 2},
                                          {"RNN", &self::recurrent, 6},
                                          {"ReduceMax", &self::reduce, 2},
                                          {"ReduceMean", &self::reduce, 2},
                                          {"ReduceMin", &self::reduce, 2},
                                          {"ReduceSum", &self::reduce, 2},
                                          {"Relu", &self::simple<0>, 1},
                                          {"Reshape", &self::reshape, 2},
                                          {"Resize", &self::resize, 4},
                                          {"ReverseSequence", &self::reverse_sequence, 2},
                                          {"Selu", &self::selu, 1},
                                          {"Shape", &self::shape_of_value, 1},
                                          {"Sigmoid", &self::simple<1>, 1},
                                          {"Slice", &self::slice, 5},
                                          {"Softmax", &self::softmax, 1},
                                          {"Softplus", &self::simple<3>, 1},
                                          {"Softsign", &self::simple<4>, 1},
                                          {"SpaceToDepth", &self::space_to_depth, 1},
                                          {"Split", &self::split, 2},
                                          {"Squeeze", &self::squeeze, 2},
                                          {"Sub", &self::binary, 2},
                                          {"Sum", &self::joined, any_number},
                                          {"Swish", &self::swish, 1},
                                          {"Tanh", &self::simple<2>, 1},
                                          {"Tile", &self::tile, 2},
                                          {"Transpose", &self::transpose, 1},
                                          {"Unsqueeze", &self::unsqueeze, 2},
                                          {"Upsample", &self::resize, 2},
                                          {"Where", &self::where, 3}};
  auto const* const found = std::ranges::lower_bound(known, op, {}, &known_operator::name);
  return found != std::end(known) && found->name == op ? found : nullptr;
}

onnx_importer::onnx_importer(onnx_model model, std::string origin, onnx_import_settings const& settings)
    : model_(std::move(model)), origin_(std::move(origin)), settings_(settings) {}

imported_model onnx_importer::run() {
  check_model();
  set_extents();
  fuse_patterns();
  mark_live();
  refuse_branches();
  find_lengths();
  add_inputs();
  for (std::size_t n = 0; n < model_.nodes.size(); ++n)
    if (live_[n]) import_node(model_.nodes[n]);
  node_ = nullptr;
  std::vector<int> const outputs = add_outputs();
  net_.declare_outputs(outputs);
  name_layers(outputs);
  std::vector<std::string> names;  // names of the nodes before they are sorted
  for (int id = 0; id < net_.view().size(); ++id) names.emplace_back(net_.view().given_name(id));
  auto const name_of_layer = [&](int id) -> std::string const& {
    return names[static_cast<std::size_t>(id)];
  };
  imported_model made(graph(std::move(net_)), origin_);
  for (stored_parameter& one : parameters_)
    made.set(name_of_layer(one.layer) + '.' + std::string(one.name), one.dims, std::move(one.values));
  made.inputs = inputs_;
  for (int const id : outputs) made.outputs.push_back(name_of_layer(id));
  // A run refuses a network whose layers are all frozen. If all layers would be frozen, none is frozen.
  std::set<int> owners;
  for (stored_parameter const& one : parameters_) owners.insert(one.layer);
  if (owners.size() > frozen_.size())
    for (int const one : frozen_)
      made.settings.optimizer.layers.push_back({.layer = name_of_layer(one), .frozen = true});
  return made;
}

/// Names each layer after the value that it computes. Uses the first of these names that exists: the name of
/// the graph's output, of the layer's node, of another node with the same result, of the value. Layers that
/// compute no value of the file get derived names, "node/kind", which differ from all names of the file.
void onnx_importer::name_layers(std::span<int const> outputs) {
  constexpr int none = -1;
  std::map<std::string_view, int> denoted;  // name -> layer; `none`: no layer, or several
  auto const denote = [&](std::string_view name, int layer) {
    auto const [at, is_new] = denoted.try_emplace(name, layer);
    if (!is_new && at->second != layer) at->second = none;
  };
  auto const layer_of = [&](std::string_view value) {
    auto const found = values_.find(value);
    bool const has_layer = found != values_.end() && !found->second.constant && found->second.view.empty()
                           && found->second.joined == 1 && is_in_order(found->second);
    return has_layer ? found->second.id : none;
  };
  for (auto const& [name, value] : values_) denote(name, layer_of(name));
  for (onnx_node const& node : model_.nodes) {
    std::vector<std::string_view> results;
    for (std::string const& output : node.outputs) {
      if (!values_.contains(output)) denote(output, none);  // the output of a node that is not needed
      if (uses_.contains(output)) results.push_back(output);
    }
    denote(node.name, results.size() == 1 ? layer_of(results[0]) : none);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)  // an input that is an output keeps its name
    if (std::ranges::find(inputs_, model_.outputs[i].name) == inputs_.end())
      denoted[model_.outputs[i].name] = outputs[i];

  std::map<int, std::string_view> chosen;
  auto const choose = [&](std::string_view name) {
    auto const found = denoted.find(name);
    if (!name.empty() && found != denoted.end()) chosen.try_emplace(found->second, found->first);
  };
  auto const choose_of_layer = [&](int layer, std::string_view name) {
    if (auto const found = denoted.find(name); found != denoted.end() && found->second == layer) choose(name);
  };
  for (onnx_value_info const& one : model_.outputs) choose(one.name);
  for (auto const& [layer, node] : recorded_by_) choose_of_layer(layer, name_of(*node));
  for (auto node = model_.nodes.rbegin(); node != model_.nodes.rend(); ++node) choose(node->name);
  for (auto const& [layer, node] : recorded_by_)
    for (std::string const& output : node->outputs) choose_of_layer(layer, output);
  unique_names names('_');
  for (auto const& [name, layer] : denoted) names.add(name);
  for (auto const& [layer, node] : recorded_by_) {
    if (auto const found = chosen.find(layer); found != chosen.end()) {
      net_.rename(layer, found->second);
      continue;
    }
    std::string base = name_of(*node);  // empty: an identity layer of add_outputs
    base += (base.empty() ? "" : "/") + std::string(net_.view().kind(layer).name);
    net_.rename(layer, names.add(base));
  }
}

std::string name_of(onnx_node const& node) {
  if (!node.name.empty()) return node.name;
  for (std::string const& one : node.outputs)
    if (!one.empty()) return one;
  return {};
}

void onnx_importer::refuse(clause what, clause expected, clause got, std::string_view remedy) const {
  std::string where = origin_;
  if (!place_.empty()) {
    where += ", " + place_;
  } else if (node_) {
    where += text_of({", node ", node_ - model_.nodes.data(), ' ', quote_for_error(name_of(*node_)),
                      " of operator ", quote_for_error(node_->op)});
  }
  throw graph_error({.what = text_of({"cannot import the ONNX network: ", what}),
                     .where = std::move(where),
                     .expected = std::move(expected),
                     .got = text_of({got, "; ", remedy})});
}

std::string onnx_importer::input_text(std::size_t which) const {
  if (!has_input(which)) return "none";
  auto const found = values_.find(node_->inputs[which]);
  if (found == values_.end()) return quote_for_error(node_->inputs[which]);
  onnx_value const& value = found->second;
  if (value.constant)
    return text_of({"a constant of type ", name_of(value.constant->type), ", ", extents_text(value.dims)});
  return (value.is_integer ? "integers, " : "") + extents_text(file_extents(value));
}

namespace {

std::string extent_text(std::int64_t extent, bool is_in_list) {
  if (std::int64_t const multiple = batches_in(extent); multiple > 0)
    return multiple == 1 ? "N" : text_of({multiple, "N"});
  return extent == -1 && !is_in_list ? "N" : text_of({extent});
}

}  // namespace

std::string extents_text(std::vector<std::int64_t> const& dims, char const* between) {
  bool const is_list = *between == ',';
  if (dims.empty()) return is_list ? "none" : "a scalar";
  std::string made;
  std::size_t const shown = std::min<std::size_t>(dims.size(), 8);
  for (std::size_t axis = 0; axis < shown; ++axis)
    made += (axis == 0 ? "" : between) + extent_text(dims[axis], is_list);
  return dims.size() > shown ? text_of({made, between, "… (", dims.size(), " numbers)"}) : made;
}

void onnx_importer::check_model() {
  if (model_.has_sparse)
    refuse("the parameters are sparse", "dense initializers", "sparse_initializer",
           "convert the parameters to dense ones");
  if (model_.has_functions)
    refuse("the file defines functions", "a graph of operators", "functions",
           "inline them by onnx.inliner.inline_local_functions");
  auto const limit = [&](char const* what, std::size_t count) {
    if (count > max_onnx_nodes)
      refuse({"the graph has too many ", what}, {"at most ", max_onnx_nodes}, {count}, onnx_remedy::reduce);
  };
  limit("nodes", model_.nodes.size());
  limit("inputs", model_.inputs.size());
  limit("outputs", model_.outputs.size());
  for (auto const& [domain, version] : model_.opsets)
    if (domain.empty()) version_ = version;
  if (version_ < oldest_onnx_set || version_ > newest_onnx_set)
    refuse("the operator set is unknown", {"sets ", oldest_onnx_set, " to ", newest_onnx_set}, {version_},
           "convert the file by onnx.version_converter.convert_version");
  for (onnx_tensor const& one : model_.initializers)
    if (!values_.try_emplace(one.name, onnx_value{.dims = one.dims, .constant = &one}).second)
      refuse({"two initializers have the name ", quote_for_error(one.name)}, "unique names", "two",
             onnx_remedy::check);
  check_names();
  for (onnx_node const& one : model_.nodes) {
    if (one.op != "Constant" || !one.domain.empty()) continue;
    try {
      import_node(one);
    } catch (graph_error const& why) {
      for (std::string const& output : one.outputs) refused_.try_emplace(output, why);
    }
  }
  node_ = nullptr;
}

/// Checks that no two inputs and no two outputs have the same name, and that each value is computed once.
void onnx_importer::check_names() {
  std::set<std::string_view> inputs, outputs, computed;
  for (onnx_value_info const& one : model_.inputs)
    if (!inputs.insert(one.name).second)
      refuse({"two inputs have the name ", quote_for_error(one.name)}, "unique names", "two",
             onnx_remedy::check);
  for (onnx_value_info const& one : model_.outputs)
    if (!outputs.insert(one.name).second)
      refuse({"two outputs have the name ", quote_for_error(one.name)}, "unique names", "two",
             onnx_remedy::check);
  for (onnx_node const& one : model_.nodes) {
    node_ = &one;
    for (std::string const& output : one.outputs)
      if (!output.empty()
          && (!computed.insert(output).second || inputs.contains(output) || values_.contains(output)))
        refuse({"the value ", quote_for_error(output), " is computed a second time"}, "one node", "two",
               onnx_remedy::check);
  }
  node_ = nullptr;
}

void onnx_importer::import_node(onnx_node const& node) {
  node_ = &node;
  read_.clear();
  layer_ = -1;
  if (!node.domain.empty())
    refuse("no layer computes operators of this domain", "ai.onnx", quote_for_error(node.domain),
           onnx_remedy::replace);
  if (fold()) return;
  // No layer selects between two values; only the selection by a mask is known.
  bool const is_selection = node.op == "Where" && !fused();
  known_operator const* const known = is_selection ? nullptr : find_operator(node.op);
  bool const has_extents = std::ranges::any_of(node.inputs, [&](std::string const& name) {
    auto const found = values_.find(name);
    return found != values_.end() && found->second.known;
  });
  if (!known)
    refuse("no layer computes this operator", "an operator that docs/onnx.md lists", quote_for_error(node.op),
           has_extents ? onnx_remedy::dynamic : onnx_remedy::replace);
  if (node.inputs.size() > known->inputs && !fused())
    refuse("the node has too many inputs", {"at most ", known->inputs}, {node.inputs.size()},
           onnx_remedy::check);
  if (fused() && fused()->norm && node.op == "RMSNormalization") check_expanded();
  bool const is_joined = std::ranges::any_of(node.inputs, [&](std::string const& name) {
    auto const found = values_.find(name);
    return found != values_.end() && found->second.joined > 1;
  });
  if (is_joined)
    import_joined(*known);
  else
    (this->*known->import)();
  for (onnx_attribute const& one : node.attributes)
    if (!read_.contains(one.name))
      refuse({"attribute ", quote_for_error(one.name), " is unknown"},
             {"an attribute of ", node.op, " in operator set ", version_}, {name_of(one.type)},
             onnx_remedy::replace);
}

/// Imports a node that reads values with a joined axis. Operators on other axes do not depend on whether axes
/// are joined. Such an operator is imported for the separate axes; these axes of the result are then joined.
void onnx_importer::import_joined(known_operator const& known) {
  static constexpr std::string_view moving[]{"Flatten", "Gather",  "Identity",  "Reshape",
                                             "Shape",   "Squeeze", "Transpose", "Unsqueeze"};
  static constexpr std::string_view of_other_axes[]{"Abs",
                                                    "Add",
                                                    "BatchNormalization",
                                                    "Celu",
                                                    "Clip",
                                                    "Div",
                                                    "Dropout",
                                                    "Elu",
                                                    "Gelu",
                                                    "Gemm",
                                                    "HardSigmoid",
                                                    "HardSwish",
                                                    "LayerNormalization",
                                                    "LeakyRelu",
                                                    "LogSoftmax",
                                                    "MatMul",
                                                    "Mish",
                                                    "Mul",
                                                    "Neg",
                                                    "Pad",
                                                    "Pow",
                                                    "RMSNormalization",
                                                    "ReduceMax",
                                                    "ReduceMean",
                                                    "ReduceMin",
                                                    "ReduceSum",
                                                    "Relu",
                                                    "Selu",
                                                    "Sigmoid",
                                                    "Slice",
                                                    "Softmax",
                                                    "Softplus",
                                                    "Softsign",
                                                    "Split",
                                                    "Sub",
                                                    "Swish",
                                                    "Tanh"};
  if (std::ranges::find(moving, node_->op) != std::end(moving)) return (this->*known.import)();
  std::map<std::string, onnx_value> joined;
  std::size_t first = 0, count = 1, rank = 0, offset = 0;  // of the batch among the joined axes
  extents dims;                                            // of the joined axes
  bool const flattens = node_->op.ends_with("Softmax") && version_ < 13;
  bool fits = !flattens && std::ranges::find(of_other_axes, node_->op) != std::end(of_other_axes);
  for (std::string const& name : node_->inputs) {
    auto const found = values_.find(name);
    if (found == values_.end() || found->second.constant || found->second.known) continue;
    onnx_value const& value = found->second;
    extents const block(value.dims.begin() + static_cast<std::ptrdiff_t>(value.first_joined),
                        value.dims.begin() + static_cast<std::ptrdiff_t>(value.first_joined + value.joined));
    fits = fits && value.joined > 1
           && (joined.empty()
               || (value.first_joined == first && block == dims && value.dims.size() == rank
                   && batch_axis(value) == first + offset));
    first = value.first_joined, count = value.joined, rank = value.dims.size(), dims = block;
    offset = batch_axis(value) - first;
    joined.emplace(name, value);
  }
  for (std::string const& name : node_->inputs)
    if (auto const found = values_.find(name); found != values_.end() && found->second.constant) {
      extents const& axes = found->second.dims;
      auto const wide = std::ranges::find_if(axes, [](std::int64_t extent) { return extent != 1; });
      fits =
          fits
          && static_cast<std::size_t>(axes.end() - wide) < std::max<std::size_t>(rank - first - count + 1, 3);
    }
  if (!fits || first + count >= rank)
    refuse("the node reads an axis that joins the batch with other axes",
           "an operator on the other axes, or Reshape to separate axes", input_text(0),
           onnx_remedy::batch_first);
  for (auto const& [name, value] : joined) values_.find(name)->second.joined = 1;
  first_joined_ = first, joined_count_ = count;
  (this->*known.import)();
  first_joined_ = 0, joined_count_ = 1;
  for (auto const& [name, value] : joined) values_.find(name)->second = value;
  for (std::string const& name : node_->outputs)
    if (auto const found = values_.find(name); found != values_.end()) {
      onnx_value& result = found->second;
      std::size_t const batch = batch_axis(result);
      bool const is_whole = batch >= offset && batch - offset + count <= result.dims.size();
      auto const block = result.dims.begin() + static_cast<std::ptrdiff_t>(is_whole ? batch - offset : 0);
      if (!is_whole || !std::equal(dims.begin(), dims.end(), block))
        refuse("the result has other axes than the input", extents_text(dims), extents_text(result.dims),
               onnx_remedy::replace);
      result.first_joined = batch - offset, result.joined = count;
    }
}

void onnx_importer::mark_live() {
  std::set<std::string_view> needed;
  live_.assign(model_.nodes.size(), false);
  for (onnx_value_info const& one : model_.outputs) {
    needed.insert(one.name);
    ++uses_[one.name];
  }
  for (std::size_t n = model_.nodes.size(); n-- > 0;) {
    onnx_node const& node = model_.nodes[n];
    live_[n] = std::ranges::any_of(node.outputs, [&](auto const& name) { return needed.contains(name); })
               && !(node.op == "Constant" && node.domain.empty());
    if (!live_[n]) continue;
    for (std::string const& one : node.inputs) {
      if (one.empty()) continue;
      needed.insert(one);
      ++uses_[one];
    }
  }
}

/// Refuses branches and loops before all other errors, because their remedy is another model.
void onnx_importer::refuse_branches() {
  for (std::size_t n = 0; n < model_.nodes.size(); ++n) {
    node_ = &model_.nodes[n];
    bool const branches = node_->op == "If" || node_->op == "Loop" || node_->op == "Scan";
    if (live_[n] && node_->domain.empty() && branches)
      refuse(
          "no layer computes branches or loops", "a graph without If, Loop and Scan",
          quote_for_error(node_->op),
          "export the model without control flow, for one of its branches, or with a fixed number of steps "
          "(Keras: unroll=True)");
  }
  node_ = nullptr;
}

bool is_recurrent_operator(std::string_view op) { return op == "LSTM" || op == "GRU" || op == "RNN"; }

/// Finds the inputs that recurrent nodes read as sequence lengths, and the inputs with the sequences.
void onnx_importer::find_lengths() {
  std::set<std::string_view> graph_inputs;
  for (onnx_value_info const& one : model_.inputs) graph_inputs.insert(one.name);
  std::map<std::string_view, onnx_node const*> producers;
  for (onnx_node const& one : model_.nodes)
    for (std::string const& output : one.outputs) producers.try_emplace(output, &one);
  std::map<std::string, int> uses;
  std::map<std::string_view, std::string_view> sources;  // value on a searched path -> its graph input
  for (std::size_t n = 0; n < model_.nodes.size(); ++n) {
    node_ = &model_.nodes[n];
    if (!live_[n] || !is_recurrent_operator(node_->op) || !has_input(4)) continue;
    std::string const& lengths = node_->inputs[4];
    if (values_.contains(lengths)) continue;  // the lengths are constant
    if (!graph_inputs.contains(lengths))
      refuse("sequence_lens are computed", "an input of the graph", quote_for_error(lengths),
             "make the lengths an input of the graph");
    std::string_view at = node_->inputs[0];
    std::vector<std::string_view> path;
    while (path.size() <= model_.nodes.size() && !graph_inputs.contains(at)) {
      if (auto const known = sources.find(at); known != sources.end()) {
        at = known->second;
        break;
      }
      auto const found = producers.find(at);
      if (found == producers.end() || found->second->inputs.empty()) break;
      path.push_back(at);
      bool const is_gather = found->second->op == "Gather" && found->second->inputs.size() > 1;
      at = found->second->inputs[is_gather ? 1 : 0];
    }
    for (std::string_view const one : path) sources[one] = at;
    if (!graph_inputs.contains(at))
      refuse("the sequences do not depend on an input of the graph", "an input of the graph",
             quote_for_error(node_->inputs[0]), "make the sequences an input of the graph");
    auto const known = lengths_.try_emplace(lengths, at).first;
    if (known->second != at)
      refuse("sequence_lens belong to the sequences of another input", quote_for_error(known->second),
             quote_for_error(at), "add separate lengths for each input");
    if (++uses[lengths] > uses_[lengths])
      refuse("sequence_lens are read a second time by this node", "one reader",
             {uses[lengths], " of ", uses_[lengths]}, onnx_remedy::check);
  }
  node_ = nullptr;
  for (auto const& [name, input] : lengths_) {
    place_ = "input " + quote_for_error(name);
    if (uses[name] != uses_[name])
      refuse("the lengths are read by other nodes than as sequence_lens", {uses[name], " readers"},
             {uses_[name]}, onnx_remedy::replace);
  }
  place_.clear();
}

// ---- inputs, outputs and layers ----
/// Replaces the open extents of inputs by those of the settings.
void onnx_importer::set_extents() {
  for (input_extents const& given : settings_.inputs) {
    auto const wrong = [&](clause expected, clause got) {
      throw setting_error({.what = "the extents of an input do not fit the ONNX file",
                           .where = {origin_, ", input ", quote_for_error(given.name)},
                           .expected = std::move(expected),
                           .got = std::move(got)});
    };
    auto const input = std::ranges::find(model_.inputs, given.name, &onnx_value_info::name);
    if (input == model_.inputs.end()) {
      std::string names;
      for (onnx_value_info const& known : model_.inputs) names += (names.empty() ? "" : ", ") + known.name;
      wrong({"one of the inputs ", names}, quote_for_error(given.name));
    }
    auto const rank = static_cast<std::size_t>(given.extents.rank);
    if (input->has_shape && input->dims.size() != rank + 1)
      wrong({input->dims.size() - 1, " extents, without the batch"}, to_string(given.extents));
    input->dims.resize(rank + 1);
    input->has_shape = true;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      std::int64_t& extent = input->dims[axis + 1].value;
      int const wanted = given.extents[static_cast<int>(axis)];
      if (wanted < 1 || (extent > 0 && extent != wanted))
        wrong(extent > 0 ? text_of({extent, " at axis ", axis + 1}) : "at least 1", {wanted});
      extent = wanted;
    }
  }
}

void onnx_importer::add_inputs() {
  // In inputs of recurrent nodes with layout 0, the batch is the second axis: after the steps, or after the
  // directions of a state.
  std::set<std::string_view> batch_second;
  for (std::size_t n = 0; n < model_.nodes.size(); ++n) {
    onnx_node const& node = model_.nodes[n];
    onnx_attribute const* const layout = node.find("layout");
    if (!live_[n] || !is_recurrent_operator(node.op) || (layout && layout->i != 0)) continue;
    for (std::size_t const which : {std::size_t{0}, std::size_t{5}, std::size_t{6}})
      if (which < node.inputs.size()) batch_second.insert(node.inputs[which]);
  }
  std::set<std::string_view> masked;
  for (auto const& [lengths, input] : lengths_) masked.insert(input);
  for (onnx_value_info const& one : model_.inputs) {
    if (values_.contains(one.name) || uses_.find(one.name) == uses_.end() || lengths_.contains(one.name))
      continue;
    place_ = text_of({"input ", &one - model_.inputs.data(), ' ', quote_for_error(one.name)});
    onnx_value made;
    made.is_integer = one.type == onnx_type::i32 || one.type == onnx_type::i64;
    if (one.type != onnx_type::f32 && !made.is_integer)
      refuse("the input has an unsupported type", "float, or int32 or int64 for indices", name_of(one.type),
             "convert the model to float32");
    if (!one.has_shape || one.dims.empty())
      refuse("the input has no batch", "a shape whose first extent is the batch",
             one.has_shape ? "a scalar" : "no shape", onnx_remedy::batch_first);
    std::size_t const batch = batch_second.contains(one.name) && one.dims.size() == 3 ? 1 : 0;
    extents dims;
    for (std::size_t axis = 0; axis < one.dims.size(); ++axis) {
      std::int64_t const extent = one.dims[axis].value;
      made.dims.push_back(extent > 0 || axis != batch ? extent : -1);
      made.axes.push_back(axis == batch ? onnx_value::batch : static_cast<int>(dims.size()));
      if (axis == batch) continue;
      if (extent < 1)
        refuse("an extent of the input is known at run time only",
               "a number of at least 1 for each extent but the batch",
               {one.dims[axis].name.empty() ? text_of({extent}) : quote_for_error(one.dims[axis].name),
                " at axis ", axis},
               onnx_remedy::extents);
      dims.push_back(extent);
    }
    if (dims.size() > 3)
      refuse("the input has too many axes", "at most 3 after the batch", {dims.size()}, onnx_remedy::replace);
    if (dims.empty()) dims = {1};
    shape const extents = checked_shape(dims);
    auto const mask = input_masks_.find(one.name);
    bool const is_padded = mask != input_masks_.end() && mask->second.lengths.empty();
    made.id = is_padded                   ? net_.padded_input(extents, mask->second.value, one.name).id()
              : masked.contains(one.name) ? net_.masked_input(extents, one.name).id()
                                          : net_.input(extents, one.name).id();
    if (net_.problem().found())
      refuse("the input cannot be built", "a valid shape", std::string(net_.problem().text().view()),
             onnx_remedy::check);
    values_[one.name] = made;
    inputs_.push_back(one.name);
  }
  place_.clear();
}

std::vector<int> onnx_importer::add_outputs() {
  static onnx_node const added{.op = "Identity"};
  std::vector<int> ids;
  if (model_.outputs.empty()) refuse("the graph has no outputs", "at least 1", "0", onnx_remedy::check);
  auto const set_place = [&](std::size_t i) {
    place_ = text_of({"output ", i, ' ', quote_for_error(model_.outputs[i].name)});
  };
  for (onnx_value_info const& one : model_.outputs) {
    set_place(ids.size());
    if (auto const refused = refused_.find(one.name); refused != refused_.end())
      throw graph_error(refused->second);
    auto const found = values_.find(one.name);
    if (found == values_.end())
      refuse("no node computes the output", "an output of a node", "none", onnx_remedy::check);
    if (found->second.constant)
      refuse("the output is a constant", "a value that depends on an input", extents_text(found->second.dims),
             "remove this output");
    if (found->second.is_integer)
      refuse("the output consists of integers", "float", extents_text(found->second.dims),
             "remove this output, or compute it from the network's outputs");
    onnx_value const& value = found->second;
    if (value.id < 0)
      refuse("the output is the same for each example", "a value that depends on the elements of an input",
             extents_text(value.dims), "remove this output");
    if (value.joined > 1)
      refuse("an axis of the output joins the batch with other axes", "the batch as an axis of its own",
             extents_text(file_extents(value)), onnx_remedy::batch_first);
    node_ = &added;
    bool const is_plain = value.view.empty() && is_row_major(value);
    ids.push_back(is_plain ? value.id : reshaped(value, layer_shape(behind_batch_of(value))));
    node_ = nullptr;
  }
  // An output needs its own identity layer if it is an input, if another layer reads it, or if the same layer
  // computes another output.
  std::multiset<int> read(net_.view().edges.begin(), net_.view().edges.end());
  read.insert(ids.begin(), ids.end());
  node_ = &added;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    set_place(i);
    if (read.count(ids[i]) > 1 || net_.view().kind(ids[i]).role == layer_role::input)
      ids[i] = append("identity", {ids[i]});
  }
  node_ = nullptr;
  place_.clear();
  return ids;
}

}  // namespace cohort::detail
