// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/config.hpp>
#include <cohort/interchange/detail/onnx_importer.hpp>
#include <cohort/io/detail/json_string.hpp>

namespace cohort::detail {

inline constexpr std::int64_t oldest_onnx_set = 1, newest_onnx_set = 28;

COHORT_CORE_INLINE onnx_importer::known_operator const* onnx_importer::find_operator(std::string_view op) {
  using self = onnx_importer;
  static constexpr known_operator known[]{{"Add", &self::binary, 2},
                                          {"Attention", &self::attention, 7},
                                          {"AveragePool", &self::pool, 1},
                                          {"BatchNormalization", &self::batch_normalization, 5},
                                          {"Cast", &self::cast, 1},
                                          {"Clip", &self::clip, 3},
                                          {"Concat", &self::concat, any_number},
                                          {"Constant", &self::constant, 0},
                                          {"Conv", &self::conv, 3},
                                          {"ConvTranspose", &self::conv_transposed, 3},
                                          {"Div", &self::binary, 2},
                                          {"Dropout", &self::dropout, 3},
                                          {"Elu", &self::elu, 1},
                                          {"Flatten", &self::flatten, 1},
                                          {"GRU", &self::recurrent, 6},
                                          {"Gather", &self::gather, 2},
                                          {"Gelu", &self::gelu, 1},
                                          {"Gemm", &self::gemm, 3},
                                          {"GlobalAveragePool", &self::global_pool, 1},
                                          {"GlobalMaxPool", &self::global_pool, 1},
                                          {"HardSigmoid", &self::hard_sigmoid, 1},
                                          {"Identity", &self::identity, 1},
                                          {"LRN", &self::lrn, 1},
                                          {"LSTM", &self::recurrent, 8},
                                          {"LayerNormalization", &self::layer_normalization, 3},
                                          {"LeakyRelu", &self::leaky_relu, 1},
                                          {"MatMul", &self::matmul, 2},
                                          {"Max", &self::joined, any_number},
                                          {"MaxPool", &self::pool, 1},
                                          {"Mean", &self::joined, any_number},
                                          {"Mish", &self::simple<5>, 1},
                                          {"Mul", &self::binary, 2},
                                          {"Neg", &self::neg, 1},
                                          {"PRelu", &self::prelu, 2},
                                          {"Pad", &self::pad, 4},
                                          {"RMSNormalization", &self::rms_normalization, 2},
                                          {"RNN", &self::recurrent, 6},
                                          {"ReduceMax", &self::reduce, 2},
                                          {"ReduceMean", &self::reduce, 2},
                                          {"Relu", &self::simple<0>, 1},
                                          {"Reshape", &self::reshape, 2},
                                          {"Resize", &self::resize, 4},
                                          {"Selu", &self::selu, 1},
                                          {"Sigmoid", &self::simple<1>, 1},
                                          {"Slice", &self::slice, 5},
                                          {"Softmax", &self::softmax, 1},
                                          {"Softplus", &self::simple<3>, 1},
                                          {"Softsign", &self::simple<4>, 1},
                                          {"Split", &self::split, 2},
                                          {"Squeeze", &self::squeeze, 2},
                                          {"Sub", &self::binary, 2},
                                          {"Sum", &self::joined, any_number},
                                          {"Swish", &self::swish, 1},
                                          {"Tanh", &self::simple<2>, 1},
                                          {"Transpose", &self::transpose, 1},
                                          {"Unsqueeze", &self::unsqueeze, 2},
                                          {"Upsample", &self::resize, 2}};
  auto const* const found = std::ranges::lower_bound(known, op, {}, &known_operator::name);
  return found != std::end(known) && found->name == op ? found : nullptr;
}

COHORT_CORE_INLINE onnx_importer::onnx_importer(onnx_model model, std::string origin)
    : model_(std::move(model)), origin_(std::move(origin)) {}

COHORT_CORE_INLINE imported_model onnx_importer::run() {
  check_model();
  fuse_patterns();
  mark_live();
  find_lengths();
  add_inputs();
  for (std::size_t n = 0; n < model_.nodes.size(); ++n)
    if (live_[n]) import_node(model_.nodes[n]);
  node_ = nullptr;
  net_.declare_outputs(add_outputs());
  imported_model made(graph(std::move(net_)), origin_);
  for (stored_parameter& one : parameters_) made.set(one.name, one.dims, std::move(one.values));
  made.inputs = inputs_;
  for (onnx_value_info const& one : model_.outputs) made.outputs.push_back(one.name);
  // A run refuses a network whose layers are all frozen. In this case, no layer is frozen.
  std::set<std::string_view> owners;
  for (stored_parameter const& one : parameters_)
    owners.insert(std::string_view(one.name).substr(0, one.name.rfind('.')));
  if (owners.size() > frozen_.size())
    for (std::string const& one : frozen_) made.settings.layers.push_back({.layer = one, .frozen = true});
  return made;
}

COHORT_CORE_INLINE std::string name_of(onnx_node const& node) {
  if (!node.name.empty()) return node.name;
  for (std::string const& one : node.outputs)
    if (!one.empty()) return one;
  return {};
}

COHORT_CORE_INLINE void onnx_importer::refuse(std::string reason, std::string expected,
                                              std::string got) const {
  std::string where = origin_;
  if (node_) {
    std::string const name = name_of(*node_);
    where += ", node " + quote_for_error(name) + " of operator " + quote_for_error(node_->op);
  }
  std::string what = "the ONNX network cannot be imported";
  if (expected.empty())
    throw graph_error({.what = what, .where = std::move(where), .got = std::move(reason)});
  throw graph_error({.what = what + ": " + reason,
                     .where = std::move(where),
                     .expected = std::move(expected),
                     .got = std::move(got)});
}

COHORT_CORE_INLINE void onnx_importer::check_model() {
  if (model_.has_sparse) refuse("its parameters are sparse");
  if (model_.has_functions)
    refuse("it defines functions of its own",
           "a model without functions (onnx.inliner.inline_local_functions)", "functions");
  auto const limit = [&](char const* what, std::size_t count) {
    if (count > max_onnx_nodes)
      refuse(text_of({"it has too many ", what}), "at most " + std::to_string(max_onnx_nodes),
             std::to_string(count));
  };
  limit("nodes", model_.nodes.size());
  limit("inputs", model_.inputs.size());
  limit("outputs", model_.outputs.size());
  for (auto const& [domain, version] : model_.opsets)
    if (domain.empty()) version_ = version;
  if (version_ < oldest_onnx_set || version_ > newest_onnx_set)
    refuse("its operator set is unknown",
           "sets " + std::to_string(oldest_onnx_set) + " to " + std::to_string(newest_onnx_set),
           std::to_string(version_));
  for (onnx_tensor const& one : model_.initializers)
    if (!values_.try_emplace(one.name, onnx_value{.dims = one.dims, .constant = &one}).second)
      refuse("it has two parameters " + quote_for_error(one.name));
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

/// Checks that inputs and outputs have distinct names, and that each value is computed once.
COHORT_CORE_INLINE void onnx_importer::check_names() {
  std::set<std::string_view> inputs, outputs, computed;
  for (onnx_value_info const& one : model_.inputs)
    if (!inputs.insert(one.name).second) refuse("it has two inputs " + quote_for_error(one.name));
  for (onnx_value_info const& one : model_.outputs)
    if (!outputs.insert(one.name).second) refuse("it has two outputs " + quote_for_error(one.name));
  for (onnx_node const& one : model_.nodes) {
    node_ = &one;
    for (std::string const& output : one.outputs)
      if (!output.empty()
          && (!computed.insert(output).second || inputs.contains(output) || values_.contains(output)))
        refuse("it computes " + quote_for_error(output) + " a second time");
  }
  node_ = nullptr;
}

COHORT_CORE_INLINE void onnx_importer::import_node(onnx_node const& node) {
  node_ = &node;
  read_.clear();
  layer_.clear();
  if (!node.domain.empty()) refuse("its operator is of domain " + quote_for_error(node.domain));
  known_operator const* const known = find_operator(node.op);
  if (!known) refuse("Cohort has no layer for this operator");
  if (node.inputs.size() > known->inputs && !fused())
    refuse("it has too many inputs", "at most " + std::to_string(known->inputs),
           std::to_string(node.inputs.size()));
  (this->*known->import)();
  for (onnx_attribute const& one : node.attributes)
    if (!read_.contains(one.name)) refuse("attribute " + quote_for_error(one.name) + " is unknown");
}

COHORT_CORE_INLINE void onnx_importer::mark_live() {
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

COHORT_CORE_INLINE bool is_recurrent_operator(std::string_view op) {
  return op == "LSTM" || op == "GRU" || op == "RNN";
}

/// Finds inputs that are read only as lengths by recurrent nodes, and the inputs that contain the sequences.
COHORT_CORE_INLINE void onnx_importer::find_lengths() {
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
    if (values_.contains(lengths)) continue;  // constant
    if (!graph_inputs.contains(lengths))
      refuse("its sequence_lens are computed: they must be an input of the graph");
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
    if (!graph_inputs.contains(at)) refuse("its sequences do not come from an input of the graph");
    auto const known = lengths_.try_emplace(lengths, at).first;
    if (known->second != at) refuse("its sequence_lens are those of another input");
    if (++uses[lengths] > uses_[lengths]) refuse("its sequence_lens are read twice");
  }
  node_ = nullptr;
  for (auto const& [name, count] : uses)
    if (count != uses_[name])
      refuse("input " + quote_for_error(name) + " is read by other nodes than as sequence_lens");
}

// ---- inputs, outputs and layers ----
COHORT_CORE_INLINE void onnx_importer::add_inputs() {
  // The inputs of recurrent nodes with layout 0 have the batch as their second axis: after the steps, or
  // after the directions of a state.
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
    auto const wrong = [&](std::string reason) {
      refuse("input " + quote_for_error(one.name) + ' ' + reason);
    };
    onnx_value made;
    made.is_integer = one.type == onnx_type::i32 || one.type == onnx_type::i64;
    if (one.type != onnx_type::f32 && !made.is_integer)
      wrong("is of type " + name_of(one.type) + ": float, or int32 or int64 for indices, is supported");
    if (!one.has_shape || one.dims.empty()) wrong("has no batch: its shape is unknown or scalar");
    std::size_t const batch = batch_second.contains(one.name) && one.dims.size() == 3 ? 1 : 0;
    extents dims;
    for (std::size_t axis = 0; axis < one.dims.size(); ++axis) {
      std::int64_t const extent = one.dims[axis].value;
      made.dims.push_back(extent > 0 || axis != batch ? extent : -1);
      made.axes.push_back(axis == batch ? onnx_value::batch : static_cast<int>(dims.size()));
      if (axis == batch) continue;
      if (extent < 1) wrong("has an extent that is known at run time only, beside the batch");
      dims.push_back(extent);
    }
    if (dims.size() > 3) wrong("has more than three axes after the batch");
    if (dims.empty()) dims = {1};
    shape const extents = checked_shape(dims);
    std::string const name = unique(one.name);
    made.id =
        masked.contains(one.name) ? net_.masked_input(extents, name).id() : net_.input(extents, name).id();
    if (net_.problem().found()) wrong(std::string(net_.problem().text().view()));
    values_[one.name] = made;
    inputs_.push_back(one.name);
  }
}

COHORT_CORE_INLINE std::vector<int> onnx_importer::add_outputs() {
  std::vector<int> ids;
  if (model_.outputs.empty()) refuse("it has no outputs");
  // An input, or a layer that is read or is already an output, needs an identity layer to become an output.
  std::set<int> read(net_.view().edges.begin(), net_.view().edges.end());
  for (onnx_value_info const& one : model_.outputs) {
    auto const wrong = [&](std::string reason) {
      refuse("output " + quote_for_error(one.name) + ' ' + reason);
    };
    if (auto const refused = refused_.find(one.name); refused != refused_.end())
      throw graph_error(refused->second);
    auto const found = values_.find(one.name);
    if (found == values_.end()) wrong("is not computed by any node");
    if (found->second.constant) wrong("is a constant");
    if (found->second.is_integer) wrong("consists of integers");
    if (!is_row_major(found->second)) wrong("is transposed: the batch must be its first axis");
    int id = found->second.id;
    bool const is_read = !read.insert(id).second || net_.view().kind(id).role == layer_role::input;
    static onnx_node const output{.op = "Identity"};
    onnx_node named = output;
    named.name = one.name;
    node_ = &named;
    if (is_read) id = append("identity", {id});
    node_ = nullptr;
    ids.push_back(id);
  }
  return ids;
}

}  // namespace cohort::detail
