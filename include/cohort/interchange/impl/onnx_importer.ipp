// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cohort/checkpoint/graph_json.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/detail/onnx_importer.hpp>
#include <cohort/io/detail/json_string.hpp>
#include <limits>
#include <numbers>
#include <numeric>

namespace cohort::detail {

/// Limits on an untrusted file, as those of model files.
inline constexpr std::int64_t max_onnx_extent = std::int64_t{1} << 24;
inline constexpr std::int64_t max_onnx_window = (std::int64_t{1} << 15) - 1;
inline constexpr std::int64_t max_onnx_layer_elements = std::int64_t{1} << 30;
inline constexpr std::size_t max_onnx_nodes = 10'000;
inline constexpr std::int64_t oldest_onnx_set = 1, newest_onnx_set = 28;

/// Kinds of the operators that are one activation without attributes.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 6> onnx_activations{
    {{"Relu", "relu"},
     {"Sigmoid", "sigmoid"},
     {"Tanh", "tanh"},
     {"Softplus", "softplus"},
     {"Softsign", "softsign"},
     {"Mish", "mish"}}};

COHORT_CORE_INLINE onnx_importer::handler onnx_importer::handler_of(std::string_view op) {
  using self = onnx_importer;
  static constexpr std::pair<std::string_view, handler> known[]{
      {"Relu", &self::simple<0>},
      {"Sigmoid", &self::simple<1>},
      {"Tanh", &self::simple<2>},
      {"Softplus", &self::simple<3>},
      {"Softsign", &self::simple<4>},
      {"Mish", &self::simple<5>},
      {"LeakyRelu", &self::leaky_relu},
      {"Elu", &self::elu},
      {"Selu", &self::selu},
      {"HardSigmoid", &self::hard_sigmoid},
      {"Clip", &self::clip},
      {"PRelu", &self::prelu},
      {"Gelu", &self::gelu},
      {"Swish", &self::swish},
      {"Softmax", &self::softmax},
      {"Identity", &self::identity},
      {"Dropout", &self::dropout},
      {"Cast", &self::cast},
      {"Conv", &self::conv},
      {"ConvTranspose", &self::conv_transposed},
      {"MaxPool", &self::pool},
      {"AveragePool", &self::pool},
      {"GlobalMaxPool", &self::global_pool},
      {"GlobalAveragePool", &self::global_pool},
      {"ReduceMean", &self::reduce},
      {"ReduceMax", &self::reduce},
      {"BatchNormalization", &self::batch_normalization},
      {"LayerNormalization", &self::layer_normalization},
      {"RMSNormalization", &self::rms_normalization},
      {"LRN", &self::lrn},
      {"Gemm", &self::gemm},
      {"MatMul", &self::matmul},
      {"Add", &self::binary},
      {"Sub", &self::binary},
      {"Mul", &self::binary},
      {"Div", &self::binary},
      {"Neg", &self::neg},
      {"Sum", &self::joined},
      {"Mean", &self::joined},
      {"Max", &self::joined},
      {"Concat", &self::concat},
      {"Slice", &self::slice},
      {"Split", &self::split},
      {"Gather", &self::gather},
      {"Flatten", &self::flatten},
      {"Reshape", &self::reshape},
      {"Squeeze", &self::squeeze},
      {"Unsqueeze", &self::unsqueeze},
      {"Transpose", &self::transpose},
      {"Pad", &self::pad},
      {"Resize", &self::resize},
      {"Upsample", &self::resize},
      {"RNN", &self::recurrent},
      {"LSTM", &self::recurrent},
      {"GRU", &self::recurrent},
      {"Attention", &self::attention},
      {"Constant", &self::constant}};
  for (auto const& [name, function] : known)
    if (name == op) return function;
  return nullptr;
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
  for (stored_parameter const& one : parameters_) made.set(one.name, one.dims, one.values);
  made.inputs = inputs_;
  for (onnx_value_info const& one : model_.outputs) made.outputs.push_back(one.name);
  // Unless nothing is left to train, which a run refuses.
  std::set<std::string_view> owners;
  for (stored_parameter const& one : parameters_)
    owners.insert(std::string_view(one.name).substr(0, one.name.rfind('.')));
  if (owners.size() > frozen_.size())
    for (std::string const& one : frozen_) made.settings.layers.push_back({.layer = one, .frozen = true});
  return made;
}

/// The node's name, or else that of its first output.
COHORT_CORE_INLINE std::string name_of(onnx_node const& node) {
  if (!node.name.empty()) return node.name;
  for (std::string const& one : node.outputs)
    if (!one.empty()) return one;
  return {};
}

COHORT_CORE_INLINE void onnx_importer::refuse(std::string reason) const {
  std::string where = origin_;
  if (node_) {
    std::string const name = name_of(*node_);
    where += ", node " + quote_for_error(name) + " of operator " + quote_for_error(node_->op);
  }
  throw graph_error(
      {.what = "the ONNX network cannot be imported", .where = std::move(where), .got = std::move(reason)});
}

COHORT_CORE_INLINE void onnx_importer::check_model() {
  if (model_.has_sparse) refuse("its parameters are sparse");
  if (model_.nodes.size() > max_onnx_nodes)
    refuse("it has more than " + std::to_string(max_onnx_nodes) + " nodes");
  for (auto const& [domain, version] : model_.opsets)
    if (domain.empty()) version_ = version;
  if (version_ < oldest_onnx_set || version_ > newest_onnx_set)
    refuse("it uses operator set " + std::to_string(version_) + "; known are sets "
           + std::to_string(oldest_onnx_set) + " to " + std::to_string(newest_onnx_set));
  for (onnx_tensor const& one : model_.initializers)
    if (!values_.try_emplace(one.name, onnx_value{.dims = one.dims, .constant = &one}).second)
      refuse("it has two parameters " + quote_for_error(one.name));
  for (onnx_node const& one : model_.nodes) {
    if (one.op != "Constant" || !one.domain.empty()) continue;
    import_node(one);
  }
  node_ = nullptr;
}

COHORT_CORE_INLINE void onnx_importer::import_node(onnx_node const& node) {
  node_ = &node;
  read_.clear();
  layer_.clear();
  if (!node.domain.empty()) refuse("its operator is of domain " + quote_for_error(node.domain));
  handler const function = handler_of(node.op);
  if (!function) refuse("Cohort has no layer for this operator");
  (this->*function)();
  for (onnx_attribute const& one : node.attributes)
    if (!read_.contains(one.name)) refuse("attribute " + quote_for_error(one.name) + " is unknown");
}

// ---- patterns of several nodes ----
/// Whether a constant of one element is `expected`, to the rounding of f32.
COHORT_CORE_INLINE bool is_number(onnx_value const* value, double expected) {
  if (!value || !value->constant || value->constant->elements() != 1) return false;
  auto const numbers = value->constant->floats();
  return numbers && std::abs(static_cast<double>((*numbers)[0]) - expected) <= 2e-7 * std::abs(expected);
}

COHORT_CORE_INLINE void onnx_importer::fuse_patterns() {
  fuse_gelu();
  fuse_rms_norm();
  fuse_attention();
  fuse_bias();
}

/// ½·x·(1 + erf(x/√2)), in the orders in which it is written.
COHORT_CORE_INLINE void onnx_importer::fuse_gelu() {
  std::map<std::string, onnx_node*> producers;
  std::map<std::string, std::vector<onnx_node*>> readers;
  for (onnx_node& one : model_.nodes) {
    for (std::string const& output : one.outputs) producers.try_emplace(output, &one);
    for (std::string const& input : one.inputs) readers[input].push_back(&one);
  }
  auto const value = [&](std::string const& name) -> onnx_value const* {
    auto const found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
  };
  auto const producer = [&](std::string const& name) -> onnx_node* {
    auto const found = producers.find(name);
    return found == producers.end() ? nullptr : found->second;
  };
  auto const only_reader = [&](onnx_node const& node, std::string_view op) -> onnx_node* {
    auto const found = readers.find(node.outputs[0]);
    if (found == readers.end() || found->second.size() != 1 || found->second[0]->op != op) return nullptr;
    return found->second[0]->inputs.size() == 2 && found->second[0]->outputs.size() == 1 ? found->second[0]
                                                                                         : nullptr;
  };
  // The operand of a node with two operands beside one that is `number`; "" if there is none.
  auto const beside = [&](onnx_node const* node, double number) -> std::string {
    if (!node || node->inputs.size() != 2) return {};
    if (is_number(value(node->inputs[1]), number)) return node->inputs[0];
    return node->op != "Div" && is_number(value(node->inputs[0]), number) ? node->inputs[1] : std::string();
  };
  for (onnx_node& erf : model_.nodes) {
    if (erf.op != "Erf" || erf.inputs.size() != 1 || erf.outputs.size() != 1) continue;
    onnx_node* const scaled = producer(erf.inputs[0]);
    if (!scaled || (scaled->op != "Div" && scaled->op != "Mul")) continue;
    std::string const x = beside(scaled, scaled->op == "Div" ? std::numbers::sqrt2 : 1 / std::numbers::sqrt2);
    onnx_node* const sum = only_reader(erf, "Add");
    if (x.empty() || beside(sum, 1).empty()) continue;
    onnx_node* const product = only_reader(*sum, "Mul");
    if (!product) continue;
    std::string const& other = product->inputs[product->inputs[0] == sum->outputs[0] ? 1 : 0];
    onnx_node* last = product;
    if (other == x) {
      last = only_reader(*product, "Mul");
      if (beside(last, 0.5).empty()) continue;
    } else {
      onnx_node* const half = producer(other);
      if (!half || half->op != "Mul" || beside(half, 0.5) != x) continue;
    }
    last->op = "Gelu";
    last->inputs = {x};
    if (!erf.name.empty()) last->name = erf.name;
  }
}

/// scale·x / √(mean(x²) + ε), as export_onnx writes it.
COHORT_CORE_INLINE void onnx_importer::fuse_rms_norm() {
  std::map<std::string, onnx_node*> producers;
  for (onnx_node& one : model_.nodes)
    for (std::string const& output : one.outputs) producers.try_emplace(output, &one);
  auto const producer = [&](std::string const& name, std::string_view op, std::size_t inputs) -> onnx_node* {
    auto const found = producers.find(name);
    bool const fits = found != producers.end() && found->second->op == op && found->second->domain.empty()
                      && found->second->inputs.size() == inputs;
    return fits ? found->second : nullptr;
  };
  for (onnx_node& product : model_.nodes) {
    if (product.op != "Mul" || product.inputs.size() != 2) continue;
    onnx_node const* const ratio = producer(product.inputs[0], "Div", 2);
    onnx_node const* const root = ratio ? producer(ratio->inputs[1], "Sqrt", 1) : nullptr;
    onnx_node const* const sum = root ? producer(root->inputs[0], "Add", 2) : nullptr;
    onnx_node const* const mean = sum ? producer(sum->inputs[0], "ReduceMean", 1) : nullptr;
    onnx_node const* const square = mean ? producer(mean->inputs[0], "Mul", 2) : nullptr;
    if (!square || square->inputs[0] != square->inputs[1] || square->inputs[0] != ratio->inputs[0]) continue;
    onnx_attribute const* const axes = mean->find("axes");
    onnx_attribute const* const keeps = mean->find("keepdims");
    auto const epsilon = values_.find(sum->inputs[1]);
    auto const scale = values_.find(product.inputs[1]);
    if (!axes || axes->ints != std::vector<std::int64_t>{-1} || (keeps && keeps->i != 1)) continue;
    if (epsilon == values_.end() || epsilon->second.constant->elements() != 1 || scale == values_.end()
        || scale->second.dims.size() != 1)
      continue;
    auto const number = epsilon->second.constant->floats();
    if (!number) continue;
    product.op = "RMSNormalization";
    product.inputs = {std::string(ratio->inputs[0]), product.inputs[1]};
    product.attributes = {{.name = "epsilon", .type = onnx_attribute::real, .f = (*number)[0]}};
  }
}

/// Whether a constant is a lower triangle of S×T booleans, with any extents of 1 before.
COHORT_CORE_INLINE bool is_lower_triangle(onnx_value const* value) {
  if (!value || !value->constant || value->constant->type != onnx_type::boolean || value->dims.size() < 2)
    return false;
  std::int64_t const columns = value->dims.back();
  if (value->constant->elements() != columns * value->dims[value->dims.size() - 2]) return false;
  std::string const& raw = value->constant->raw;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    auto const width = static_cast<std::size_t>(columns);
    if ((raw[i] != 0) != (i % width <= i / width)) return false;
  }
  return true;
}

/// softmax(q·kᵀ / √d)·v of heads that are made by Reshape and Transpose, with or without a causal mask.
COHORT_CORE_INLINE void onnx_importer::fuse_attention() {
  std::map<std::string, onnx_node*> producers;
  std::map<std::string, std::vector<onnx_node*>> readers;
  for (onnx_node& one : model_.nodes) {
    for (std::string const& output : one.outputs) producers.try_emplace(output, &one);
    for (std::string const& input : one.inputs) readers[input].push_back(&one);
  }
  using order = std::vector<std::int64_t>;
  auto const value = [&](std::string const& name) -> onnx_value const* {
    auto const found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
  };
  auto const producer = [&](std::string const& name, std::string_view op, std::size_t inputs) -> onnx_node* {
    auto const found = producers.find(name);
    bool const fits = found != producers.end() && found->second->op == op && found->second->domain.empty()
                      && found->second->inputs.size() == inputs && found->second->outputs.size() == 1;
    return fits ? found->second : nullptr;
  };
  auto const transposed = [&](std::string const& name, order const& wanted) -> onnx_node* {
    onnx_node* const found = producer(name, "Transpose", 1);
    onnx_attribute const* const perm = found ? found->find("perm") : nullptr;
    return perm && perm->ints == wanted ? found : nullptr;
  };
  auto const shape_in = [&](onnx_node const* node) -> order {
    onnx_value const* const found = node ? value(node->inputs[1]) : nullptr;
    auto const numbers = found && found->constant ? found->constant->integers() : std::nullopt;
    return numbers ? *numbers : order{};
  };
  auto const only_reader = [&](onnx_node const* node, std::string_view op, std::size_t inputs) -> onnx_node* {
    auto const found = readers.find(node->outputs[0]);
    bool const fits = found != readers.end() && found->second.size() == 1 && found->second[0]->op == op
                      && found->second[0]->inputs.size() == inputs && found->second[0]->outputs.size() == 1;
    return fits ? found->second[0] : nullptr;
  };
  // Columns first … last − 1 of a value N×T×C; "" if it is something else.
  auto const columns_of = [&](std::string const& name, std::int64_t first, std::int64_t last) -> std::string {
    onnx_node const* const found = producer(name, "Slice", 4);
    if (!found) return {};
    order const wanted[]{{first}, {last}, {2}};
    for (std::size_t i = 0; i < 3; ++i) {
      onnx_value const* const list = value(found->inputs[i + 1]);
      auto const numbers = list && list->constant ? list->constant->integers() : std::nullopt;
      if (!numbers || *numbers != wanted[i]) return {};
    }
    return found->inputs[0];
  };
  for (onnx_node& product : model_.nodes) {
    if (product.op != "MatMul" || product.inputs.size() != 2 || product.outputs.size() != 1) continue;
    std::string name = product.inputs[0];
    if (onnx_node const* const where = producer(name, "Where", 3)) {
      if (!is_lower_triangle(value(where->inputs[0])) || !is_number(value(where->inputs[2]), 0)) continue;
      name = where->inputs[1];
    }
    onnx_node const* const softmax = producer(name, "Softmax", 1);
    onnx_attribute const* const axis = softmax ? softmax->find("axis") : nullptr;
    if (!softmax || (axis ? axis->i != -1 && axis->i != 3 : version_ < 13)) continue;
    name = softmax->inputs[0];
    bool causal = false;
    if (onnx_node const* const where = producer(name, "Where", 3)) {
      onnx_value const* const low = value(where->inputs[2]);
      auto const lowest = low && low->constant ? low->constant->floats() : std::nullopt;
      if (!is_lower_triangle(value(where->inputs[0])) || !lowest || lowest->size() != 1
          || (*lowest)[0] > -1e30F)
        continue;
      causal = true;
      name = where->inputs[1];
    }
    onnx_node const* const times = producer(name, "Mul", 2);
    onnx_node const* const scaled = times ? times : producer(name, "Div", 2);
    onnx_value const* const factor = scaled ? value(scaled->inputs[1]) : nullptr;
    auto const factors = factor && factor->constant ? factor->constant->floats() : std::nullopt;
    if (!factors || factors->size() != 1) continue;
    onnx_node const* const scores = producer(scaled->inputs[0], "MatMul", 2);
    if (!scores) continue;
    onnx_node const* keys = transposed(scores->inputs[1], {0, 2, 3, 1});
    if (onnx_node const* const twice = transposed(scores->inputs[1], {0, 1, 3, 2}))
      keys = transposed(twice->inputs[0], {0, 2, 1, 3});
    onnx_node const* const heads[]{transposed(scores->inputs[0], {0, 2, 1, 3}), keys,
                                   transposed(product.inputs[1], {0, 2, 1, 3})};
    std::vector<std::string> sources;
    order first;
    for (onnx_node const* const one : heads) {
      onnx_node const* const split = one ? producer(one->inputs[0], "Reshape", 2) : nullptr;
      order const dims = shape_in(split);
      if (dims.size() != 4 || dims[2] < 1 || dims[3] < 1 || dims[2] > max_onnx_extent
          || dims[3] > max_onnx_extent || (!first.empty() && dims[2] != first[2]))
        break;
      if (first.empty()) first = dims;
      sources.push_back(split->inputs[0]);
    }
    onnx_node const* const back = only_reader(&product, "Transpose", 1);
    onnx_node* const joined =
        back && transposed(back->outputs[0], {0, 2, 1, 3}) ? only_reader(back, "Reshape", 2) : nullptr;
    if (sources.size() != 3 || !joined || shape_in(joined).size() != 3) continue;
    std::int64_t const width = first[2] * first[3];
    std::string const packed = columns_of(sources[0], 0, width);
    if (!packed.empty() && columns_of(sources[1], width, 2 * width) == packed
        && columns_of(sources[2], 2 * width, 3 * width) == packed)
      sources = {packed};
    float const scale = times ? (*factors)[0] : 1 / (*factors)[0];
    auto const whole = [](char const* attribute, std::int64_t number) {
      return onnx_attribute{.name = attribute, .type = onnx_attribute::integer, .i = number};
    };
    joined->op = "Attention";
    joined->inputs = sources;
    joined->attributes = {whole("q_num_heads", first[2]),
                          whole("kv_num_heads", first[2]),
                          whole("is_causal", causal),
                          whole("columns", width),
                          {.name = "scale", .type = onnx_attribute::real, .f = scale}};
    if (!product.name.empty()) joined->name = product.name;
  }
}

/// A product with a constant matrix and the sum with a constant vector become MatMul with a third input.
COHORT_CORE_INLINE void onnx_importer::fuse_bias() {
  std::map<std::string, std::vector<std::size_t>> readers;
  for (std::size_t n = 0; n < model_.nodes.size(); ++n)
    for (std::string const& input : model_.nodes[n].inputs) readers[input].push_back(n);
  std::set<std::string_view> outputs;
  for (onnx_value_info const& one : model_.outputs) outputs.insert(one.name);
  for (onnx_node& product : model_.nodes) {
    if (product.op != "MatMul" || product.inputs.size() != 2 || product.outputs.size() != 1) continue;
    auto const weights = values_.find(product.inputs[1]);
    if (weights == values_.end() || weights->second.dims.size() != 2 || outputs.contains(product.outputs[0]))
      continue;
    auto const read = readers.find(product.outputs[0]);
    if (read == readers.end() || read->second.size() != 1) continue;
    onnx_node& sum = model_.nodes[read->second[0]];
    if (sum.op != "Add" || sum.inputs.size() != 2 || sum.outputs.size() != 1) continue;
    std::string const& other = sum.inputs[sum.inputs[0] == product.outputs[0] ? 1 : 0];
    auto const bias = values_.find(other);
    if (bias == values_.end() || bias->second.dims.empty()) continue;
    if (bias->second.constant->elements() != weights->second.dims[1]
        || bias->second.dims.back() != weights->second.dims[1] || bias->second.dims.size() > 2)
      continue;
    product.inputs.push_back(other);
    product.outputs[0] = sum.outputs[0];
    sum.op = "Constant";  // computes nothing any more
    sum.outputs.clear();
  }
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

/// An input that only gives lengths to recurrent nodes belongs to the input from which their sequences come.
COHORT_CORE_INLINE void onnx_importer::find_lengths() {
  std::set<std::string_view> graph_inputs;
  for (onnx_value_info const& one : model_.inputs) graph_inputs.insert(one.name);
  std::map<std::string_view, onnx_node const*> producers;
  for (onnx_node const& one : model_.nodes)
    for (std::string const& output : one.outputs) producers.try_emplace(output, &one);
  std::map<std::string, int> uses;
  for (std::size_t n = 0; n < model_.nodes.size(); ++n) {
    node_ = &model_.nodes[n];
    if (!live_[n] || !is_recurrent_operator(node_->op) || !has_input(4)) continue;
    std::string const& lengths = node_->inputs[4];
    if (values_.contains(lengths)) continue;  // constant
    if (!graph_inputs.contains(lengths))
      refuse("its sequence_lens are computed: they must be an input of the graph");
    std::string_view at = node_->inputs[0];
    for (std::size_t step = 0; step <= model_.nodes.size() && !graph_inputs.contains(at); ++step) {
      auto const found = producers.find(at);
      if (found == producers.end() || found->second->inputs.empty()) break;
      bool const is_gather = found->second->op == "Gather" && found->second->inputs.size() > 1;
      at = found->second->inputs[is_gather ? 1 : 0];
    }
    if (!graph_inputs.contains(at)) refuse("its sequences come from no input of the graph");
    auto const known = lengths_.try_emplace(lengths, at).first;
    if (known->second != at) refuse("its sequence_lens are those of another input");
    if (++uses[lengths] > uses_[lengths]) refuse("its sequence_lens are read twice");
  }
  node_ = nullptr;
  for (auto const& [name, count] : uses)
    if (count != uses_[name]) refuse("input " + quote_for_error(name) + " is read not only as sequence_lens");
}

// ---- inputs, outputs and layers ----
COHORT_CORE_INLINE void onnx_importer::add_inputs() {
  // Inputs that recurrent nodes read have the batch behind the steps, or behind the directions of a state.
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
    if (dims.size() > 3) wrong("has more than three extents behind the batch");
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
  for (onnx_value_info const& one : model_.outputs) {
    auto const wrong = [&](std::string reason) {
      refuse("output " + quote_for_error(one.name) + ' ' + reason);
    };
    auto const found = values_.find(one.name);
    if (found == values_.end()) wrong("is computed by no node");
    if (found->second.constant) wrong("is a constant");
    if (found->second.is_integer) wrong("consists of integers");
    if (!is_row_major(found->second)) wrong("is transposed: the batch must be its first axis");
    int id = found->second.id;
    graph_view const net = net_.view();
    bool const is_read = std::ranges::find(net.edges, id) != net.edges.end()
                         || std::ranges::find(ids, id) != ids.end() || net.kind(id).role == layer_role::input;
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

COHORT_CORE_INLINE std::string onnx_importer::unique(std::string name) {
  std::string made = name;
  for (int n = 2; !names_.insert(made).second; ++n) made = name + '_' + std::to_string(n);
  return made;
}

COHORT_CORE_INLINE shape onnx_importer::checked_shape(extents const& dims) const {
  if (dims.size() > static_cast<std::size_t>(shape::max_rank)) refuse("it has too many axes");
  shape made;
  made.rank = static_cast<int>(dims.size());
  std::int64_t product = 1;
  for (int axis = 0; axis < made.rank; ++axis) {
    std::int64_t const one = dims[static_cast<std::size_t>(axis)];
    if (one < 1 || one > max_onnx_extent || (product *= one) > max_onnx_layer_elements)
      refuse("an extent of " + std::to_string(one) + " is not supported: a tensor has 1 to "
             + std::to_string(max_onnx_layer_elements) + " elements");
    made[axis] = static_cast<int>(one);
  }
  return made;
}

/// Kinds that do the same at each step of a sequence, with padding or without. Others would read padding,
/// which ONNX's operators fill with zeros and Cohort's do not.
COHORT_CORE_INLINE bool is_stepwise(std::string_view kind) {
  constexpr std::string_view known[]{"dense",
                                     "relu",
                                     "leaky_relu",
                                     "add",
                                     "relu6",
                                     "elu",
                                     "selu",
                                     "sigmoid",
                                     "tanh",
                                     "hard_tanh",
                                     "softplus",
                                     "softsign",
                                     "swish",
                                     "gelu",
                                     "gelu_tanh",
                                     "mish",
                                     "identity",
                                     "softmax",
                                     "multiply",
                                     "maximum",
                                     "average",
                                     "concatenate",
                                     "subset",
                                     "scale",
                                     "lstm",
                                     "gru",
                                     "simple_rnn",
                                     "layer_norm",
                                     "rms_norm",
                                     "batch_norm",
                                     "embedding",
                                     "hard_sigmoid",
                                     "prelu",
                                     "recurrent_output",
                                     "learned_positions"};
  return std::ranges::find(known, kind) != std::end(known);
}

/// The kinds that the program knows: see load_trained.
COHORT_CORE_INLINE std::span<kind const* const> importable_kinds() {
  static std::vector<kind const*> const kinds = known_kinds({});
  return kinds;
}
COHORT_CORE_INLINE bool has_kind(std::string_view name) {
  return std::ranges::find(importable_kinds(), name, &kind::name) != importable_kinds().end();
}

COHORT_CORE_INLINE int onnx_importer::append(std::string_view kind_name, std::vector<int> const& inputs,
                                             fields const& with, bool is_main) {
  std::span<kind const* const> const kinds = importable_kinds();
  auto const found = std::ranges::find(kinds, kind_name, &kind::name);
  if (found == kinds.end())
    refuse(text_of({"its layer needs a header that no source of the program includes: add #include <",
                    header_on_demand(kind_name), ">"}));
  std::int64_t elements = 0;
  for (int const id : inputs) {
    elements += shape_of(id).elements();
    if (net_.view()[id].mask >= 0 && !is_stepwise(kind_name))
      refuse("it reads the padding of sequences of different lengths");
  }
  if (elements > max_onnx_layer_elements) refuse("its inputs have too many elements");
  std::vector<double> values((*found)->defaults, (*found)->defaults + (*found)->slots);
  for (auto const& [name, numbers] : with) {
    auto const info = std::ranges::find((*found)->fields, name, &field_info::name);
    bool const is_window = info->type == field_type::extent || info->type == field_type::padding;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      double const most = static_cast<double>(is_window ? max_onnx_window : max_onnx_extent);
      if (info->type != field_type::real && !(std::abs(numbers[i]) <= most))
        refuse(text_of({"a ", name, " of ", numbers[i], " is not supported"}));
      values[static_cast<std::size_t>(info->first_slot) + i] = numbers[i];
    }
  }
  std::string base = name_of(*node_);
  if (!is_main) base += '/' + std::string(kind_name);
  std::string const name = unique(base.empty() ? std::string(kind_name) : base);
  int const id = net_.append(**found, values.data(), inputs, name, {}, source_line{});
  if (net_.problem().found()) refuse(std::string(net_.problem().text().view()));
  check_size(shape_of(id));
  for (parameter_spec const& spec : net_.view().parameters(id)) check_size(spec.dims);
  layer_ = name;
  return id;
}

COHORT_CORE_INLINE void onnx_importer::check_size(shape const& dims) const {
  std::int64_t product = 1;
  for (int axis = 0; axis < dims.rank; ++axis) {
    product = dims[axis] < 1 ? 0 : product * dims[axis];
    if (product < 1 || product > max_onnx_layer_elements)
      refuse("a tensor of " + to_string(dims) + " elements is not supported");
  }
}

COHORT_CORE_INLINE void onnx_importer::store(std::string_view parameter, shape dims,
                                             std::vector<float> values) {
  if (static_cast<std::int64_t>(values.size()) != dims.elements())
    refuse(text_of({parameter, " must have ", dims.elements(), " elements, got ", values.size()}));
  count_bytes(4 * values.size());
  parameters_.push_back({layer_ + '.' + std::string(parameter), dims, std::move(values)});
}
/// Nodes may copy the same constant many times.
COHORT_CORE_INLINE void onnx_importer::count_bytes(std::size_t bytes) {
  constexpr std::size_t most = std::size_t{1} << 34;
  if ((bytes_ += bytes) > most) refuse("its constants take more than " + std::to_string(most) + " bytes");
}
COHORT_CORE_INLINE void onnx_importer::freeze() { frozen_.push_back(layer_); }

// ---- the current node ----
COHORT_CORE_INLINE onnx_attribute const* onnx_importer::attribute(char const* name,
                                                                  onnx_attribute::kind type) {
  read_.insert(name);
  onnx_attribute const* const found = node_->find(name);
  if (found && found->type != type) refuse(text_of({"attribute ", name, " is of another type"}));
  return found;
}
COHORT_CORE_INLINE std::int64_t onnx_importer::integer(char const* name, std::int64_t otherwise) {
  onnx_attribute const* const found = attribute(name, onnx_attribute::integer);
  return found ? found->i : otherwise;
}
COHORT_CORE_INLINE double onnx_importer::real(char const* name, double otherwise) {
  onnx_attribute const* const found = attribute(name, onnx_attribute::real);
  double const value = found ? static_cast<double>(found->f) : otherwise;
  if (!(std::abs(value) < std::numeric_limits<double>::infinity()))
    refuse(text_of({"attribute ", name, " is not finite"}));
  return value;
}
COHORT_CORE_INLINE std::string onnx_importer::text(char const* name, char const* otherwise) {
  onnx_attribute const* const found = attribute(name, onnx_attribute::text);
  return found ? found->s : otherwise;
}
COHORT_CORE_INLINE onnx_importer::extents onnx_importer::integers(char const* name) {
  onnx_attribute const* const found = attribute(name, onnx_attribute::integers);
  return found ? found->ints : extents{};
}

COHORT_CORE_INLINE bool onnx_importer::is_used(std::size_t output) const {
  if (output >= node_->outputs.size() || node_->outputs[output].empty()) return false;
  return uses_.find(node_->outputs[output]) != uses_.end();
}
COHORT_CORE_INLINE onnx_value const& onnx_importer::any(std::size_t which) const {
  if (!has_input(which)) refuse("input " + std::to_string(which) + " is missing");
  auto const found = values_.find(node_->inputs[which]);
  if (found == values_.end())
    refuse("it reads " + quote_for_error(node_->inputs[which]) + ", which no earlier node computes");
  return found->second;
}
COHORT_CORE_INLINE onnx_value const& onnx_importer::data(std::size_t which) const {
  onnx_value const& value = any(which);
  if (value.constant) refuse("input " + std::to_string(which) + " is a constant");
  if (value.is_integer) refuse("input " + std::to_string(which) + " consists of integers");
  return value;
}
COHORT_CORE_INLINE onnx_importer::tensor_float onnx_importer::numbers(std::size_t which) const {
  onnx_value const& value = any(which);
  if (!value.constant) refuse("input " + std::to_string(which) + " is not a constant");
  auto made = value.constant->floats();
  if (!made) refuse("input " + std::to_string(which) + " is of type " + name_of(value.constant->type));
  return {value.dims, std::move(*made)};
}
COHORT_CORE_INLINE std::optional<onnx_importer::extents> onnx_importer::list(std::size_t which,
                                                                             char const* older) {
  if (onnx_attribute const* const found = older ? attribute(older, onnx_attribute::integers) : nullptr)
    return found->ints;
  if (!has_input(which)) return std::nullopt;
  onnx_value const& value = any(which);
  if (!value.constant) refuse("input " + std::to_string(which) + " is not a constant");
  auto const made = value.constant->integers();
  if (!made) refuse("input " + std::to_string(which) + " is of type " + name_of(value.constant->type));
  return *made;
}
COHORT_CORE_INLINE std::optional<double> onnx_importer::bound(std::size_t which, char const* older) {
  if (onnx_attribute const* const found = attribute(older, onnx_attribute::real))
    return static_cast<double>(found->f);
  if (!has_input(which)) return std::nullopt;
  tensor_float const made = numbers(which);
  if (made.values.size() != 1) refuse("input " + std::to_string(which) + " is not one number");
  return static_cast<double>(made.values[0]);
}
COHORT_CORE_INLINE void onnx_importer::set(onnx_value value, std::size_t output) {
  if (output >= node_->outputs.size() || node_->outputs[output].empty()) return;
  if (!values_.try_emplace(node_->outputs[output], std::move(value)).second)
    refuse("it computes " + quote_for_error(node_->outputs[output]) + " a second time");
}
COHORT_CORE_INLINE void onnx_importer::set_constant(onnx_tensor tensor) {
  count_bytes(tensor.raw.size());
  constants_.push_back(std::make_unique<onnx_tensor>(std::move(tensor)));
  set({.dims = constants_.back()->dims, .constant = constants_.back().get()});
}

// ---- values ----
COHORT_CORE_INLINE bool onnx_importer::is_row_major(onnx_value const& value) const {
  int last = onnx_value::batch - 1;
  for (std::size_t axis = 0; axis < value.axes.size(); ++axis) {
    if (value.dims[axis] == 1 || value.axes[axis] == onnx_value::unit) continue;
    int const at = value.axes[axis];
    if (at < last || (at == onnx_value::batch && last >= 0)) return false;
    last = at;
  }
  return true;
}
COHORT_CORE_INLINE int onnx_importer::reshaped(int id, shape const& dims) {
  if (shape_of(id) == dims) return id;
  std::vector<double> extents{static_cast<double>(dims.rank)};
  for (int axis = 0; axis < dims.rank; ++axis) extents.push_back(dims[axis]);
  std::string const layer = layer_;
  int const made = append("reshape", {id}, {{"extents", extents}}, false);
  layer_ = layer;
  return made;
}
COHORT_CORE_INLINE int onnx_importer::reshaped(onnx_value const& value, shape const& dims) {
  if (!is_row_major(value))
    refuse("it reads a transposed value whose elements would have to be moved; Cohort has no such layer");
  return reshaped(value.id, dims);
}
COHORT_CORE_INLINE onnx_value onnx_importer::row_major(int id, extents dims, std::int64_t batch) {
  shape wanted = checked_shape(dims);
  shape const& have = shape_of(id);
  auto const without_units = [](shape const& s) {
    shape made;
    for (int axis = 0; axis < s.rank; ++axis)
      if (s[axis] > 1) made[made.rank++] = s[axis];
    return made;
  };
  if (!(without_units(have) == without_units(wanted))) {
    if (wanted.rank > 3) wanted = without_units(wanted);
    if (wanted.rank > 3) refuse("its result has more than three extents behind the batch");
    if (wanted.rank == 0) wanted = {1};
    id = reshaped(id, wanted);
  }
  onnx_value made{.id = id, .dims = {batch}, .axes = {onnx_value::batch}};
  shape const& now = shape_of(id);
  int next = 0;
  for (std::int64_t const one : dims) {
    while (one > 1 && next < now.rank && now[next] == 1) ++next;
    made.dims.push_back(one);
    made.axes.push_back(one == 1 ? onnx_value::unit : next++);
  }
  return made;
}
COHORT_CORE_INLINE onnx_value onnx_importer::like(onnx_value const& other, int id) const {
  onnx_value made = other;
  made.id = id;
  return made;
}
COHORT_CORE_INLINE int onnx_importer::axis_of(std::int64_t axis, std::size_t rank) const {
  auto const count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) refuse("axis " + std::to_string(axis) + " does not exist");
  return static_cast<int>(axis < 0 ? axis + count : axis);
}
COHORT_CORE_INLINE onnx_importer::around onnx_importer::split_at(onnx_value const& value, int axis) const {
  if (value.axes[0] != onnx_value::batch) refuse("the batch is not the first axis of its input");
  if (axis == 0) refuse("it works along the batch");
  around made;
  for (int at = 1; at < static_cast<int>(value.dims.size()); ++at) {
    std::int64_t& part = at < axis ? made.before : at == axis ? made.along : made.after;
    part *= value.dims[static_cast<std::size_t>(at)];
  }
  return made;
}
COHORT_CORE_INLINE std::vector<std::int64_t> behind_batch_of(onnx_value const& value) {
  return {value.dims.begin() + 1, value.dims.end()};
}
/// A value N×C×H×W, or N×C×L as an image of one row.
COHORT_CORE_INLINE int onnx_importer::image(onnx_value const& value) {
  if (value.dims.size() == 3 && value.axes[0] == onnx_value::batch)
    return reshaped(value, checked_shape({value.dims[1], 1, value.dims[2]}));
  if (value.dims.size() != 4 || value.axes[0] != onnx_value::batch)
    refuse("its input is not N x C x H x W or N x C x L");
  return reshaped(value, checked_shape(behind_batch_of(value)));
}

/// x·factor or x + offset: a product with a diagonal matrix, as a convolution of groups of one channel.
COHORT_CORE_INLINE onnx_value onnx_importer::affine(onnx_value const& x, tensor_float const* factor,
                                                    tensor_float const* offset) {
  tensor_float const& with = factor ? *factor : *offset;
  std::size_t const rank = x.dims.size();
  if (with.dims.size() > rank) refuse("its constant has more axes than the other operand");
  extents dims(rank, 1);
  std::ranges::copy(with.dims, dims.end() - static_cast<std::ptrdiff_t>(with.dims.size()));
  std::size_t first = rank, last = 0;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (dims[axis] == 1) continue;
    if (x.axes[axis] == onnx_value::batch) refuse("its constant has an axis for the batch");
    if (dims[axis] != x.dims[axis]) refuse("its constant is wider than the other operand");
    first = std::min(first, axis), last = axis;
  }
  shape const whole = shape_of(x.id);
  if (first == rank) {  // one number
    double const value = static_cast<double>(with.values.at(0));
    if (factor) return like(x, append("scale", {x.id}, {{"factor", {value}}}));
    int const row = reshaped(x.id, checked_shape({1, 1, whole.elements()}));
    int const made = append("conv2d", {row}, {{"filters", {1}}, {"kernel", {1, 1}}});
    store("weights", {1, 1, 1, 1}, {1});
    store("bias", {1}, with.values);
    freeze();
    return like(x, reshaped(made, whole));
  }
  if (x.axes[0] != onnx_value::batch) refuse("the batch is not the first axis of its input");
  // The constant's elements for all axes from the first to the last along which it varies.
  std::int64_t before = 1, along = 1, after = 1;
  for (std::size_t axis = 1; axis < rank; ++axis)
    (axis < first ? before : axis <= last ? along : after) *= x.dims[axis];
  std::int64_t const copies = before > 1 ? after : 1;
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(along * copies));
  for (std::int64_t i = 0; i < along; ++i) {
    std::int64_t index = 0, rest = i, stride = 1;
    for (std::size_t axis = last + 1; axis-- > first;) {
      if (dims[axis] > 1) index += rest % x.dims[axis] * stride, stride *= dims[axis];
      rest /= x.dims[axis];
    }
    values.insert(values.end(), static_cast<std::size_t>(copies),
                  with.values[static_cast<std::size_t>(index)]);
  }
  bool const is_sequence = offset && whole.rank == 2 && before == 1 && after == 1
                           && x.axes == std::vector<int>{onnx_value::batch, 0, 1}
                           && has_kind("learned_positions");
  if (is_sequence) {
    int const sum = append("learned_positions", {x.id});
    store("weights", whole, values);
    return like(x, sum);
  }
  auto const channels = static_cast<double>(values.size());
  int const channel_count = static_cast<int>(values.size());
  fields with_fields{{"filters", {channels}}, {"groups", {channels}}, {"bias", {factor ? 0.0 : 1.0}}};
  int made = -1;
  shape weights;
  if (before == 1) {
    int const rows = reshaped(x, checked_shape({along, after, 1}));
    with_fields.push_back({"kernel", {1, 1}});
    made = append("conv2d", {rows}, with_fields);
    weights = {channel_count, 1, 1, 1};
  } else {
    int const rows = reshaped(x, checked_shape({before, along * after}));
    with_fields.push_back({"kernel", {1}});
    made = append("conv1d", {rows}, with_fields);
    weights = {channel_count, 1, 1};
  }
  store("weights", weights, factor ? values : std::vector<float>(values.size(), 1));
  if (!factor) store("bias", {channel_count}, values);
  freeze();
  return row_major(made, behind_batch_of(x), x.dims[0]);
}

/// Elements first … last − 1 along an axis.
COHORT_CORE_INLINE onnx_value onnx_importer::sliced(onnx_value const& x, int axis, std::int64_t first,
                                                    std::int64_t last) {
  auto const [before, along, after] = split_at(x, axis);
  if (first < 0 || last > along || first >= last) refuse("it selects no elements");
  extents dims = behind_batch_of(x);
  dims[static_cast<std::size_t>(axis) - 1] = last - first;
  if (first == 0 && last == along) return x;
  auto const from = static_cast<double>(first), to = static_cast<double>(last);
  int made = -1;
  if (after == 1)
    made =
        append("subset", {reshaped(x, before == 1 ? checked_shape({along}) : checked_shape({before, along}))},
               {{"first", {from}}, {"last", {to}}});
  else if (before == 1)
    made = append("subset", {reshaped(x, checked_shape({along, after, 1}))},
                  {{"first", {from}}, {"last", {to}}});
  else
    made = append(
        "cropping", {reshaped(x, checked_shape({before, along, after}))},
        {{"sides", {static_cast<double>(padding_mode::sides), from, static_cast<double>(along) - to, 0, 0}}});
  return row_major(made, dims, x.dims[0]);
}

// ---- activations ----
template <int Op>
void onnx_importer::simple() {
  set(like(data(0), append(onnx_activations[Op].second, {data(0).id})));
}
COHORT_CORE_INLINE void onnx_importer::leaky_relu() {
  set(like(data(0), append("leaky_relu", {data(0).id}, {{"slope", {real("alpha", 0.01F)}}})));
}
COHORT_CORE_INLINE void onnx_importer::elu() {
  set(like(data(0), append("elu", {data(0).id}, {{"alpha", {real("alpha", 1)}}})));
}
COHORT_CORE_INLINE void onnx_importer::selu() {
  double const alpha = real("alpha", 1.6732632423543772848), gamma = real("gamma", 1.0507009873554804934);
  if (std::abs(alpha - 1.6732632423543772848) < 1e-6 && std::abs(gamma - 1.0507009873554804934) < 1e-6)
    return set(like(data(0), append("selu", {data(0).id})));
  int const curve = append("elu", {data(0).id}, {{"alpha", {alpha}}});
  set(like(data(0), append("scale", {curve}, {{"factor", {gamma}}}, false)));
}
COHORT_CORE_INLINE void onnx_importer::hard_sigmoid() {
  double const alpha = real("alpha", 0.2), beta = real("beta", 0.5);
  if (std::abs(alpha - 0.2) > 1e-7 || std::abs(beta - 0.5) > 1e-7)
    refuse("Cohort's hard_sigmoid has alpha 0.2 and beta 0.5");
  set(like(data(0), append("hard_sigmoid", {data(0).id})));
}
COHORT_CORE_INLINE void onnx_importer::clip() {
  std::optional<double> const low = bound(1, "min"), high = bound(2, "max");
  auto const is = [](std::optional<double> const& value, double expected) {
    return value && *value == expected;
  };
  constexpr double most = std::numeric_limits<float>::max();
  if ((!low || *low <= -most) && (!high || *high >= most)) return identity();
  char const* const kind = is(low, 0) && is(high, 6)                ? "relu6"
                           : is(low, -1) && is(high, 1)             ? "hard_tanh"
                           : is(low, 0) && (!high || *high >= most) ? "relu"
                                                                    : nullptr;
  if (!kind) refuse("Cohort clips to [0, 6], to [-1, 1] and from 0 only");
  set(like(data(0), append(kind, {data(0).id})));
}
COHORT_CORE_INLINE void onnx_importer::prelu() {
  onnx_value const& x = data(0);
  tensor_float const slope = numbers(1);
  if (slope.values.size() == 1) {
    int const made = append("prelu", {x.id}, {{"per_channel", {0}}});
    store("slope", {1}, slope.values);
    return set(like(x, made));
  }
  std::size_t const rank = x.dims.size();
  if (slope.dims.size() > rank) refuse("its slope has more axes than its input");
  int axis = version_ < 7 && slope.dims.size() == 1 ? 1 : -1;
  for (std::size_t i = 0; i < slope.dims.size() && axis < 0; ++i) {
    if (slope.dims[i] != 1) axis = static_cast<int>(rank - slope.dims.size() + i);
  }
  auto const [before, along, after] = split_at(x, axis);
  if (static_cast<std::size_t>(along) != slope.values.size())
    refuse("its slope varies along several axes, or does not fit its input");
  if (before > 1 && after > 1) refuse("its slope varies along a middle axis");
  int const channels = static_cast<int>(along);
  int const made = append(
      "prelu", {reshaped(x, before > 1 ? checked_shape({before, along}) : checked_shape({along, after, 1}))});
  store("slope", {channels}, slope.values);
  set(row_major(made, behind_batch_of(x), x.dims[0]));
}
COHORT_CORE_INLINE void onnx_importer::gelu() {
  std::string const how = text("approximate", "none");
  if (how != "none" && how != "tanh") refuse("approximate is " + quote_for_error(how));
  set(like(data(0), append(how == "none" ? "gelu" : "gelu_tanh", {data(0).id})));
}
COHORT_CORE_INLINE void onnx_importer::swish() {
  if (real("alpha", 1) != 1) refuse("Cohort's swish has alpha 1");
  set(like(data(0), append("swish", {data(0).id})));
}
COHORT_CORE_INLINE void onnx_importer::softmax() {
  onnx_value const& x = data(0);
  int const axis = axis_of(integer("axis", version_ < 13 ? 1 : -1), x.dims.size());
  around part = split_at(x, axis);
  if (version_ < 13) part.along *= std::exchange(part.after, 1);
  if (part.before > 1 && part.after > 1) refuse("its axis is a middle one");
  // Behind the batch: C, T×C or C×P×1.
  bool const keeps = x.axes.back() == 1 && shape_of(x.id).rank == 2 && part.after == 1;
  if (keeps && shape_of(x.id)[1] == part.along) return set(like(x, append("softmax", {x.id})));
  ::cohort::shape const dims = part.after > 1    ? checked_shape({part.along, part.after, 1})
                               : part.before > 1 ? checked_shape({part.before, part.along})
                                                 : checked_shape({part.along});
  set(row_major(append("softmax", {reshaped(x, dims)}), behind_batch_of(x), x.dims[0]));
}

// ---- nodes that compute nothing ----
COHORT_CORE_INLINE void onnx_importer::identity() { set(any(0)); }
COHORT_CORE_INLINE void onnx_importer::dropout() {
  real("ratio", 0.5), integer("seed", 0);
  if (integer("is_test", 0) == 0 && version_ < 7) refuse("it is in training mode");
  if (is_used(1)) refuse("its mask is read");
  if (has_input(2)) {
    onnx_value const& training = any(2);
    if (!training.constant || training.constant->raw != std::string(1, '\0'))
      refuse("it is in training mode");
  }
  set(any(0));
}
COHORT_CORE_INLINE void onnx_importer::cast() {
  auto const to = static_cast<onnx_type>(integer("to", 0));
  onnx_value value = any(0);
  if (value.constant) refuse("its input is a constant");
  bool const to_integer = to == onnx_type::i32 || to == onnx_type::i64;
  if (!(to_integer || (to == onnx_type::f32 && !value.is_integer)))
    refuse("it casts to " + name_of(to) + (value.is_integer ? " from integers" : ""));
  // Indices may be f32 in Cohort; an embedding refuses those that are no integers.
  value.is_integer = to_integer;
  set(value);
}
COHORT_CORE_INLINE void onnx_importer::constant() {
  if (node_->outputs.empty()) return;
  onnx_tensor made;
  if (onnx_attribute const* const value = attribute("value", onnx_attribute::tensor)) {
    made = value->t[0];
  } else if (onnx_attribute const* const f = attribute("value_float", onnx_attribute::real)) {
    made = onnx_tensor::of("", {}, {f->f});
  } else if (onnx_attribute const* const fs = attribute("value_floats", onnx_attribute::reals)) {
    made = onnx_tensor::of("", {static_cast<std::int64_t>(fs->floats.size())}, fs->floats);
  } else if (onnx_attribute const* const i = attribute("value_int", onnx_attribute::integer)) {
    made = onnx_tensor::of("", {i->i});
    made.dims.clear();
  } else if (onnx_attribute const* const is = attribute("value_ints", onnx_attribute::integers)) {
    made = onnx_tensor::of("", is->ints);
  } else {
    refuse("its constant is no tensor of numbers");
  }
  set_constant(std::move(made));
}

// ---- windows ----
COHORT_CORE_INLINE sliding_window onnx_importer::window(std::size_t spatial, extents size,
                                                        bool has_dilation) {
  extents const given = integers("kernel_shape"), strides = integers("strides");
  extents const dilations = has_dilation ? integers("dilations") : extents();
  if (spatial < 1 || spatial > 2)
    refuse("it has " + std::to_string(spatial) + " spatial axes: 1 and 2 are supported");
  if (size.empty()) size = given;
  if (!given.empty() && given != size) refuse("kernel_shape differs from the weights");
  if (size.size() != spatial) refuse("kernel_shape has another number of axes than its input");
  auto const two = [&](extents const& list) {
    if (list.empty()) return extent2(1);
    if (list.size() != spatial) refuse("an attribute has another number of axes than its input");
    for (std::int64_t const one : list)
      if (one < 1 || one > max_onnx_window) refuse("an extent of its window is " + std::to_string(one));
    return extent2(spatial == 1 ? 1 : static_cast<int>(list[0]), static_cast<int>(list.back()));
  };
  return {two(size), two(strides), two(dilations), {}};
}
COHORT_CORE_INLINE padding onnx_importer::pads(extents const& given, std::size_t spatial,
                                               sliding_window const& w, shape const& image,
                                               std::string const& automatic) const {
  padding made(0, 0, 0, 0);
  if (!given.empty() && given.size() != 2 * spatial) refuse("pads has another number of axes than its input");
  for (std::int64_t const one : given)
    if (one < 0 || one > max_onnx_window) refuse("a padding of " + std::to_string(one) + " is not supported");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    sliding_window same = w;
    same.padding = padding::same;
    border v = vertical_border(same, image[1]), h = horizontal_border(same, image[2]);
    if (automatic == "SAME_LOWER") std::swap(v.before, v.after), std::swap(h.before, h.after);
    made = padding(v.before, v.after, h.before, h.after);
  } else if (automatic != "NOTSET" && automatic != "VALID") {
    refuse("auto_pad is " + quote_for_error(automatic));
  } else if (automatic == "NOTSET" && !given.empty()) {
    made.left = static_cast<int>(given[spatial - 1]), made.right = static_cast<int>(given.back());
    if (spatial == 2) made.top = static_cast<int>(given[0]), made.bottom = static_cast<int>(given[2]);
  }
  return made;
}
COHORT_CORE_INLINE std::vector<double> encoded_padding(padding const& p) {
  if (p.top == 0 && p.bottom == 0 && p.left == 0 && p.right == 0) return {0, 0, 0, 0, 0};
  return {static_cast<double>(padding_mode::sides), static_cast<double>(p.top), static_cast<double>(p.bottom),
          static_cast<double>(p.left), static_cast<double>(p.right)};
}
COHORT_CORE_INLINE std::vector<double> encoded_extent(extent2 const& e) {
  return {static_cast<double>(e.height), static_cast<double>(e.width)};
}

COHORT_CORE_INLINE void onnx_importer::conv() {
  onnx_value const& x = data(0);
  tensor_float const weights = numbers(1);
  if (weights.dims.size() < 3 || weights.dims.size() != x.dims.size())
    refuse("its weights do not fit its input");
  std::size_t const spatial = weights.dims.size() - 2;
  sliding_window moving = window(spatial, {weights.dims.begin() + 2, weights.dims.end()}, true);
  auto const groups = static_cast<double>(integer("group", 1));
  std::string const automatic = text("auto_pad", "NOTSET");
  extents const explicit_pads = integers("pads");
  auto const filters = static_cast<double>(weights.dims[0]);
  bool const bias = has_input(2);
  // A sequence T×C that is seen as C×T.
  bool const is_sequence =
      spatial == 1 && shape_of(x.id).rank == 2 && x.axes == std::vector<int>{onnx_value::batch, 1, 0};
  int const from = is_sequence ? x.id : image(x);
  ::cohort::shape const in =
      is_sequence ? ::cohort::shape{shape_of(from)[1], 1, shape_of(from)[0]} : shape_of(from);
  padding const sides = pads(explicit_pads, spatial, moving, in, automatic);
  ::cohort::shape kernel = checked_shape(weights.dims);
  int made = -1;
  if (is_sequence) {
    made = append("conv1d", {from},
                  {{"filters", {filters}},
                   {"kernel", {static_cast<double>(moving.size.width)}},
                   {"stride", {static_cast<double>(moving.stride.width)}},
                   {"padding", encoded_padding(sides)},
                   {"dilation", {static_cast<double>(moving.dilation.width)}},
                   {"groups", {groups}},
                   {"bias", {bias ? 1.0 : 0.0}}});
  } else {
    made = append("conv2d", {from},
                  {{"filters", {filters}},
                   {"kernel", encoded_extent(moving.size)},
                   {"stride", encoded_extent(moving.stride)},
                   {"padding", encoded_padding(sides)},
                   {"dilation", encoded_extent(moving.dilation)},
                   {"groups", {groups}},
                   {"bias", {bias ? 1.0 : 0.0}}});
    if (spatial == 1) kernel = {kernel[0], kernel[1], 1, kernel[2]};
  }
  ::cohort::shape const wanted = net_.view().parameters(made).specs[0].dims;
  if (!(wanted == kernel))
    refuse("its weights do not fit its input: expected " + to_string(wanted) + ", got " + to_string(kernel));
  store("weights", kernel, weights.values);
  if (bias) store("bias", {kernel[0]}, numbers(2).values);
  ::cohort::shape const out = shape_of(made);
  if (is_sequence)
    return set({.id = made, .dims = {x.dims[0], out[1], out[0]}, .axes = {onnx_value::batch, 1, 0}});
  extents dims{out[0], out[1], out[2]};
  if (spatial == 1) dims = {out[0], out[2]};
  set(row_major(made, dims, x.dims[0]));
}

COHORT_CORE_INLINE void onnx_importer::conv_transposed() {
  onnx_value const& x = data(0);
  tensor_float const weights = numbers(1);
  if (weights.dims.size() < 3 || weights.dims.size() != x.dims.size())
    refuse("its weights do not fit its input");
  std::size_t const spatial = weights.dims.size() - 2;
  sliding_window moving = window(spatial, {weights.dims.begin() + 2, weights.dims.end()}, true);
  std::int64_t const groups = integer("group", 1);
  std::string const automatic = text("auto_pad", "NOTSET");
  extents given = integers("pads"), more = integers("output_padding"), wanted = integers("output_shape");
  int const from = image(x);
  ::cohort::shape const in = shape_of(from);
  checked_shape(weights.dims);
  if (groups < 1 || groups > weights.dims[0] || weights.dims[0] != in[0] || in[0] % groups != 0)
    refuse("its weights do not fit its input");
  bool const same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (automatic != "NOTSET" && automatic != "VALID" && !same)
    refuse("auto_pad is " + quote_for_error(automatic));
  for (extents* const list : {&more, &wanted})
    if (!list->empty() && list->size() != spatial)
      refuse("an attribute has another number of axes than its input");
  if (!given.empty() && given.size() != 2 * spatial) refuse("pads has another number of axes than its input");
  for (extents* const list : {&given, &more, &wanted})
    for (std::int64_t const one : *list)
      if (one < 0 || one > max_onnx_window)
        refuse("an extent of " + std::to_string(one) + " is not supported");
  // What is cut from the whole output before and after; negative: what is added to it.
  std::array<std::int64_t, 2> before{}, after{};
  for (std::size_t a = 0; a < spatial; ++a) {
    std::size_t const axis = 2 - spatial + a;
    int const k = axis == 0 ? dilated(moving.size.height, moving.dilation.height)
                            : dilated(moving.size.width, moving.dilation.width);
    std::int64_t const s = axis == 0 ? moving.stride.height : moving.stride.width;
    std::int64_t const extra = more.empty() ? 0 : more[a];
    std::int64_t const inner = in[static_cast<int>(axis) + 1];
    if (!wanted.empty() || same) {
      std::int64_t const total =
          std::max<std::int64_t>(s * (inner - 1) + extra + k - (wanted.empty() ? inner * s : wanted[a]), 0);
      std::int64_t const missing = (wanted.empty() ? inner * s : wanted[a]) - (s * (inner - 1) + k - total);
      before[axis] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      after[axis] = total - before[axis] - missing;
    } else if (automatic == "NOTSET" && !given.empty()) {
      before[axis] = given[a];
      after[axis] = given[a + spatial] - extra;
    } else {
      after[axis] = -extra;
    }
  }
  for (std::size_t axis = 0; axis < 2; ++axis)
    if (std::max(std::abs(before[axis]), std::abs(after[axis])) > max_onnx_window)
      refuse("its output is cut or extended by more than " + std::to_string(max_onnx_window) + " elements");
  checked_shape(
      {weights.dims[1] * groups,
       in[1] * std::int64_t{moving.stride.height} + dilated(moving.size.height, moving.dilation.height),
       in[2] * std::int64_t{moving.stride.width} + dilated(moving.size.width, moving.dilation.width)});
  bool const bias = has_input(2);
  std::int64_t const filters = weights.dims[1], channels = in[0] / groups,
                     area = moving.size.height * std::int64_t{moving.size.width};
  padding const sides(static_cast<int>(std::max<std::int64_t>(before[0], 0)),
                      static_cast<int>(std::max<std::int64_t>(after[0], 0)),
                      static_cast<int>(std::max<std::int64_t>(before[1], 0)),
                      static_cast<int>(std::max<std::int64_t>(after[1], 0)));
  int made = append("conv2d_transposed", {from},
                    {{"filters", {static_cast<double>(filters * groups)}},
                     {"kernel", encoded_extent(moving.size)},
                     {"stride", encoded_extent(moving.stride)},
                     {"padding", encoded_padding(sides)},
                     {"dilation", encoded_extent(moving.dilation)},
                     {"groups", {static_cast<double>(groups)}},
                     {"bias", {bias ? 1.0 : 0.0}}});
  std::vector<float> turned(weights.values.size());
  for (std::int64_t g = 0; g < groups; ++g)
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t k = 0; k < filters; ++k)
        std::copy_n(weights.values.begin() + ((g * channels + c) * filters + k) * area, area,
                    turned.begin() + ((g * filters + k) * channels + c) * area);
  store("weights", checked_shape({filters * groups, channels, moving.size.height, moving.size.width}),
        turned);
  if (bias) store("bias", checked_shape({filters * groups}), numbers(2).values);
  if (after[0] < 0 || after[1] < 0) {
    if (bias) refuse("its output is larger than its window reaches, and has a bias");
    made = append("zero_padding", {made},
                  {{"sides",
                    {static_cast<double>(padding_mode::sides), 0,
                     static_cast<double>(std::max<std::int64_t>(-after[0], 0)), 0,
                     static_cast<double>(std::max<std::int64_t>(-after[1], 0))}}},
                  false);
  }
  ::cohort::shape const out = shape_of(made);
  set(row_major(made, spatial == 1 ? extents{out[0], out[2]} : extents{out[0], out[1], out[2]}, x.dims[0]));
}

COHORT_CORE_INLINE void onnx_importer::pool() {
  onnx_value const& x = data(0);
  bool const is_max = node_->op == "MaxPool";
  std::size_t const spatial = x.dims.size() < 3 ? 0 : x.dims.size() - 2;
  sliding_window const moving = window(spatial, {}, true);
  std::string const automatic = text("auto_pad", "NOTSET");
  extents const given = integers("pads");
  bool const ceil = integer("ceil_mode", 0) != 0;
  bool const counts_padding = !is_max && integer("count_include_pad", 0) != 0;
  integer("storage_order", 0);
  if (is_used(1)) refuse("its indices are read");
  if (!(moving.dilation == extent2(1))) refuse("Cohort's pooling has no dilation");
  int from = image(x);
  ::cohort::shape in = shape_of(from);
  padding sides = pads(given, spatial, moving, in, automatic);
  // ceil_mode: padding behind the input so that the last window fits, if it begins in front of that padding.
  auto const extend = [&](int size, int stride, int extent, int begin, int& end) {
    int const room = extent + begin + end - size;
    if (room < 0 || room % stride == 0) return;
    int const steps = room / stride + 1;
    if (steps * stride >= extent + begin) return;
    end += steps * stride - room;
  };
  padding const before = sides;
  if (ceil) {
    extend(moving.size.height, moving.stride.height, in[1], sides.top, sides.bottom);
    extend(moving.size.width, moving.stride.width, in[2], sides.left, sides.right);
  }
  if (counts_padding) {
    if (!(before == sides)) refuse("it counts padding and has ceil_mode");
    if (encoded_padding(sides)[0] != 0)
      from = append("zero_padding", {from}, {{"sides", encoded_padding(sides)}}, false);
    sides = padding(0, 0, 0, 0);
  }
  int const made = append(is_max ? "max_pool" : "avg_pool", {from},
                          {{"window", encoded_extent(moving.size)},
                           {"stride", encoded_extent(moving.stride)},
                           {"padding", encoded_padding(sides)}});
  ::cohort::shape const out = shape_of(made);
  set(row_major(made, spatial == 1 ? extents{out[0], out[2]} : extents{out[0], out[1], out[2]}, x.dims[0]));
}

COHORT_CORE_INLINE void onnx_importer::global_pool() {
  onnx_value const& x = data(0);
  if (x.dims.size() < 3) refuse("its input has no spatial axes");
  std::string_view const kind = node_->op == "GlobalMaxPool" ? "global_max_pool" : "global_avg_pool";
  extents dims(x.dims.size() - 1, 1);
  dims[0] = x.dims[1];
  if (shape_of(x.id).rank == 2 && x.axes == std::vector<int>{onnx_value::batch, 1, 0})
    return set(row_major(append(kind, {x.id}), dims, x.dims[0]));
  around const part = split_at(x, 1);
  set(row_major(append(kind, {reshaped(x, checked_shape({part.along, part.after, 1}))}), dims, x.dims[0]));
}

COHORT_CORE_INLINE void onnx_importer::reduce() {
  onnx_value const& x = data(0);
  std::optional<extents> axes = list(1, "axes");
  bool const keeps = integer("keepdims", 1) != 0;
  if (integer("noop_with_empty_axes", 0) != 0 && !axes) return set(x);
  if (!axes || axes->empty()) refuse("it reduces the batch");
  std::vector<bool> reduced(x.dims.size());
  for (std::int64_t const one : *axes) reduced[static_cast<std::size_t>(axis_of(one, x.dims.size()))] = true;
  if (x.axes[0] != onnx_value::batch || reduced[0])
    refuse("it reduces the batch, or the batch is not the first axis");
  auto const first = std::find(reduced.begin(), reduced.end(), true);
  auto const last = std::find(reduced.rbegin(), reduced.rend(), true).base();
  if (std::find(first, last, false) != last) refuse("its axes are not adjacent");
  std::int64_t before = 1, along = 1, after = 1;
  extents dims;
  for (std::size_t axis = 1; axis < x.dims.size(); ++axis) {
    auto const at = reduced.begin() + static_cast<std::ptrdiff_t>(axis);
    (at < first ? before : at < last ? along : after) *= x.dims[axis];
    if (!*at || keeps) dims.push_back(*at ? 1 : x.dims[axis]);
  }
  if (before > 1 && after > 1) refuse("it reduces a middle axis");
  std::string_view const kind = node_->op == "ReduceMax" ? "global_max_pool" : "global_avg_pool";
  int const from = reshaped(x, after > 1 ? checked_shape({along, after}) : checked_shape({before, along, 1}));
  set(row_major(append(kind, {from}), dims, x.dims[0]));
}

// ---- normalisation ----
COHORT_CORE_INLINE void onnx_importer::batch_normalization() {
  onnx_value const& x = data(0);
  double const epsilon = real("epsilon", 1e-5F), momentum = real("momentum", 0.9F);
  if (integer("training_mode", 0) != 0) refuse("it is in training mode");
  if (integer("is_test", 0) == 0 && version_ < 7) refuse("it is in training mode");
  if (integer("spatial", 1) != 1) refuse("it normalises each position");
  for (std::size_t output = 1; output < node_->outputs.size(); ++output)
    if (is_used(output)) refuse("its statistics are read");
  if (x.dims.size() < 2) refuse("its input has no channels");
  ::cohort::shape const have = shape_of(x.id);
  bool const keeps = x.axes[1] >= 0 && have.rank > 0 && x.axes[1] == channel_axis(have)
                     && have[x.axes[1]] == x.dims[1] && !(have.rank == 2 && x.dims.size() < 3);
  fields const with{{"momentum", {momentum}}, {"epsilon", {epsilon}}};
  int from = x.id;
  if (!keeps) {
    around const part = split_at(x, 1);
    from = reshaped(
        x, x.dims.size() == 2 ? checked_shape({part.along}) : checked_shape({part.along, part.after, 1}));
  }
  int const made = append("batch_norm", {from}, with);
  int const channels = static_cast<int>(x.dims[1]);
  store("scale", {channels}, numbers(1).values);
  store("shift", {channels}, numbers(2).values);
  store("running_mean", {channels}, numbers(3).values);
  store("running_variance", {channels}, numbers(4).values);
  set(keeps ? like(x, made) : row_major(made, behind_batch_of(x), x.dims[0]));
}

COHORT_CORE_INLINE void onnx_importer::layer_normalization() {
  onnx_value const& x = data(0);
  double const epsilon = real("epsilon", 1e-5F);
  int const axis = axis_of(integer("axis", -1), x.dims.size());
  if (integer("stash_type", 1) != 1) refuse("it computes in another type than float");
  if (is_used(1) || is_used(2)) refuse("its statistics are read");
  around const part = split_at(x, axis);
  std::int64_t const width = part.along * part.after;
  tensor_float const scale = numbers(1);
  bool const has_shift = has_input(2);
  if (static_cast<std::int64_t>(scale.values.size()) != width) refuse("its scale does not fit its input");
  ::cohort::shape const have = shape_of(x.id);
  int const axes = static_cast<int>(x.dims.size()) - axis;
  bool const keeps = have.rank == static_cast<int>(x.dims.size()) - 1 && is_row_major(x)
                     && have == checked_shape(behind_batch_of(x));
  int const from =
      keeps ? x.id
            : reshaped(x, part.before > 1 ? checked_shape({part.before, width}) : checked_shape({width}));
  int const made = append("layer_norm", {from},
                          {{"axes", {keeps ? static_cast<double>(axes) : 1.0}}, {"epsilon", {epsilon}}});
  ::cohort::shape const each = net_.view().parameters(made).specs[0].dims;
  store("scale", each, scale.values);
  store("shift", each, has_shift ? numbers(2).values : std::vector<float>(scale.values.size()));
  set(keeps ? like(x, made) : row_major(made, behind_batch_of(x), x.dims[0]));
}

COHORT_CORE_INLINE void onnx_importer::rms_normalization() {
  onnx_value const& x = data(0);
  double const epsilon = real("epsilon", 1e-5F);
  int const axis = axis_of(integer("axis", -1), x.dims.size());
  if (integer("stash_type", 1) != 1) refuse("it computes in another type than float");
  around const part = split_at(x, axis);
  int const width = static_cast<int>(part.along * part.after);
  int const from =
      reshaped(x, part.before == 1 ? ::cohort::shape{width} : checked_shape({part.before, width}));
  int const made = append("rms_norm", {from}, {{"epsilon", {epsilon}}});
  store("scale", {width}, numbers(1).values);
  set(row_major(made, behind_batch_of(x), x.dims[0]));
}

COHORT_CORE_INLINE void onnx_importer::lrn() {
  onnx_value const& x = data(0);
  double const alpha = real("alpha", 0.0001F), beta = real("beta", 0.75), k = real("bias", 1);
  std::int64_t const size = integer("size", 0);
  if (size < 1 || size > max_onnx_window) refuse("its size is " + std::to_string(size));
  if (x.dims.size() < 2) refuse("its input has no channels");
  around const part = split_at(x, 1);
  int const made = append("lrn", {reshaped(x, checked_shape({part.along, part.after, 1}))},
                          {{"k", {k}},
                           {"n", {static_cast<double>(size)}},
                           {"alpha", {alpha / static_cast<double>(size)}},
                           {"beta", {beta}}});
  set(row_major(made, behind_batch_of(x), x.dims[0]));
}

// ---- products ----
/// A matrix n × m, transposed.
COHORT_CORE_INLINE std::vector<float> transposed_matrix(std::vector<float> const& from, std::size_t rows,
                                                        std::size_t columns) {
  std::vector<float> to(from.size());
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      to[column * rows + row] = from[row * columns + column];
  return to;
}

COHORT_CORE_INLINE void onnx_importer::gemm() {
  double const alpha = real("alpha", 1), beta = real("beta", 1);
  integer("broadcast", 0);
  bool const turns_a = integer("transA", 0) != 0, turned = integer("transB", 0) != 0;
  onnx_value const& x = data(0);
  tensor_float weights = numbers(1);
  if (turns_a) refuse("it transposes its input: the batch must be the first axis");
  if (x.dims.size() != 2 || weights.dims.size() != 2 || x.axes[0] != onnx_value::batch)
    refuse("its operands are no matrices with the batch as the rows of the first");
  ::cohort::shape const matrix = checked_shape(weights.dims);
  int const units = matrix[turned ? 0 : 1], width = matrix[turned ? 1 : 0];
  if (width != x.dims[1]) refuse("its weights do not fit its input");
  if (!turned)
    weights.values =
        transposed_matrix(weights.values, static_cast<std::size_t>(width), static_cast<std::size_t>(units));
  if (alpha != 1)
    for (float& one : weights.values) one = static_cast<float>(alpha * static_cast<double>(one));
  std::vector<float> bias;
  if (has_input(2)) {
    tensor_float const with = numbers(2);
    bool const is_row =
        with.dims.empty() || (with.dims.size() == 1 || (with.dims.size() == 2 && with.dims[0] == 1));
    if (!is_row || (with.values.size() != 1 && static_cast<int>(with.values.size()) != units))
      refuse("its C has an axis for the batch, or does not fit its output");
    for (int u = 0; u < units; ++u)
      bias.push_back(static_cast<float>(
          beta
          * static_cast<double>(with.values[with.values.size() == 1 ? 0 : static_cast<std::size_t>(u)])));
  }
  int const made = append("dense", {reshaped(x, {width})},
                          {{"units", {static_cast<double>(units)}}, {"bias", {bias.empty() ? 0.0 : 1.0}}});
  store("weights", {units, width}, weights.values);
  if (!bias.empty()) store("bias", {units}, bias);
  set(row_major(made, {units}, x.dims[0]));
}

COHORT_CORE_INLINE void onnx_importer::matmul() {
  onnx_value const& x = data(0);
  if (!is_constant(1)) {
    onnx_value const& y = data(1);
    if (x.dims.size() != y.dims.size() || x.dims.size() < 3 || x.axes[0] != onnx_value::batch
        || y.axes[0] != onnx_value::batch || x.dims[0] != y.dims[0])
      refuse("its operands are not matrices of each example");
    // Operands whose matrices are transposed stay as they are.
    std::array<bool, 2> turned{};
    std::vector<int> from;
    for (std::size_t which = 0; which < 2; ++which) {
      onnx_value one = which == 0 ? x : y;
      if (!is_row_major(one)) {
        std::swap(one.dims[one.dims.size() - 2], one.dims.back());
        std::swap(one.axes[one.axes.size() - 2], one.axes.back());
        turned[which] = true;
      }
      from.push_back(reshaped(one, checked_shape(behind_batch_of(one))));
    }
    int const made = append(
        "matmul", from, {{"transpose_a", {turned[0] ? 1.0 : 0.0}}, {"transpose_b", {turned[1] ? 1.0 : 0.0}}});
    ::cohort::shape const out = shape_of(made);
    return set(row_major(made, {out.extents.begin(), out.extents.begin() + out.rank}, x.dims[0]));
  }
  tensor_float const weights = numbers(1);
  if (weights.dims.size() != 2 || x.dims.size() < 2) refuse("its weights are no matrix");
  ::cohort::shape const matrix = checked_shape(weights.dims);
  int const width = matrix[0], units = matrix[1];
  if (x.dims.back() != width) refuse("its weights do not fit its input");
  fields const with{{"units", {static_cast<double>(units)}}, {"bias", {has_input(2) ? 1.0 : 0.0}}};
  auto const parameters = [&] {
    store(
        "weights", {units, width},
        transposed_matrix(weights.values, static_cast<std::size_t>(width), static_cast<std::size_t>(units)));
    if (has_input(2)) store("bias", {units}, numbers(2).values);
  };
  ::cohort::shape const have = shape_of(x.id);
  if (have.rank == 2 && x.axes.back() == 1 && x.dims.size() == 3) {  // the steps of a sequence, also T×N×C
    onnx_value made = like(x, append("dense", {x.id}, with));
    parameters();
    made.dims.back() = units;
    return set(made);
  }
  around const part = split_at(x, static_cast<int>(x.dims.size()) - 1);
  int const from =
      reshaped(x, x.dims.size() == 2 ? ::cohort::shape{width} : checked_shape({part.before, width}));
  int const made = append("dense", {from}, with);
  parameters();
  extents dims = behind_batch_of(x);
  dims.back() = units;
  set(row_major(made, dims, x.dims[0]));
}

// ---- sums and products of elements ----
COHORT_CORE_INLINE void onnx_importer::neg() {
  set(like(data(0), append("scale", {data(0).id}, {{"factor", {-1}}})));
}

COHORT_CORE_INLINE void onnx_importer::binary() {
  std::string const& op = node_->op;
  integer("broadcast", 0);  // of sets before 7, as today without `axis`
  if (is_constant(0) && is_constant(1)) refuse("its operands are constants");
  if (is_constant(0) || is_constant(1)) {
    bool const first = is_constant(0);
    tensor_float with = numbers(first ? 0 : 1);
    onnx_value x = data(first ? 1 : 0);
    if (op == "Add") return set(affine(x, nullptr, &with));
    if (op == "Mul") return set(affine(x, &with, nullptr));
    if (op == "Div" && first) refuse("it divides by a value that is no constant");
    for (float& one : with.values) one = op == "Div" ? 1 / one : first ? one : -one;
    if (op == "Div") return set(affine(x, &with, nullptr));
    if (first) x = like(x, append("scale", {x.id}, {{"factor", {-1}}}, false));
    return set(affine(x, nullptr, &with));
  }
  if (op == "Div") refuse("it divides by a value that is no constant");
  joined();
}

COHORT_CORE_INLINE void onnx_importer::joined() {
  std::string const& op = node_->op;
  std::vector<onnx_value> from;
  for (std::size_t x = 0; x < node_->inputs.size(); ++x) from.push_back(data(x));
  if (from.empty()) refuse("it has no inputs");
  if (from.size() == 1) return set(from[0]);
  if (op == "Sub") from[1].id = append("scale", {from[1].id}, {{"factor", {-1}}}, false);
  std::string_view const kind = op == "Mul"    ? "multiply"
                                : op == "Mean" ? "average"
                                : op == "Max"  ? "maximum"
                                               : "add";
  std::vector<int> ids;
  bool const is_same = std::ranges::all_of(from, [&](onnx_value const& one) {
    return one.dims == from[0].dims && one.axes == from[0].axes && shape_of(one.id) == shape_of(from[0].id);
  });
  if (is_same) {
    for (onnx_value const& one : from) ids.push_back(one.id);
    return set(like(from[0], append(kind, ids)));
  }
  for (onnx_value const& one : from) {
    if (one.dims.size() != from[0].dims.size() || one.axes[0] != onnx_value::batch
        || one.dims[0] != from[0].dims[0])
      refuse("its inputs have different batches, or different numbers of axes");
    ids.push_back(reshaped(one, checked_shape(one.dims.size() == 1 ? extents{1} : behind_batch_of(one))));
  }
  int const made = append(kind, ids);
  ::cohort::shape const out = shape_of(made);
  extents dims(out.extents.begin(), out.extents.begin() + out.rank);
  if (from[0].dims.size() == 1) dims.clear();
  set(row_major(made, dims, from[0].dims[0]));
}

// ---- shapes ----
COHORT_CORE_INLINE void onnx_importer::concat() {
  std::vector<onnx_value> from;
  for (std::size_t x = 0; x < node_->inputs.size(); ++x) from.push_back(data(x));
  if (from.empty()) refuse("it has no inputs");
  std::size_t const rank = from[0].dims.size();
  int const axis = axis_of(integer("axis", 1), rank);
  auto const at = static_cast<std::size_t>(axis);
  std::vector<int> ids;
  std::int64_t total = 0;
  bool is_sequence = from.size() > 1;
  for (onnx_value const& one : from) {
    if (one.dims.size() != rank) refuse("its inputs have different numbers of axes");
    for (std::size_t a = 0; a < rank; ++a)
      if (a != at && one.dims[a] != from[0].dims[a]) refuse("its inputs differ in another axis");
    total += one.dims[at];
    is_sequence = is_sequence && one.axes == from[0].axes && shape_of(one.id).rank == 2 && one.axes[at] == 1;
  }
  if (from.size() == 1) return set(from[0]);
  if (is_sequence) {  // the columns of sequences, also T×N×C
    for (onnx_value const& one : from) ids.push_back(one.id);
    onnx_value made = like(from[0], append("concatenate", ids));
    made.dims[at] = total;
    return set(made);
  }
  for (onnx_value const& one : from) {
    auto const [before, along, after] = split_at(one, axis);
    if (before > 1 && after > 1) refuse("it joins along a middle axis");
    ids.push_back(reshaped(one, after > 1    ? checked_shape({along, after, 1})
                                : before > 1 ? checked_shape({before, along})
                                             : checked_shape({along})));
  }
  extents dims = behind_batch_of(from[0]);
  dims[at - 1] = total;
  set(row_major(append("concatenate", ids), dims, from[0].dims[0]));
}

COHORT_CORE_INLINE void onnx_importer::slice() {
  onnx_value x = data(0);
  std::optional<extents> starts = list(1, "starts"), ends = list(2, "ends"), axes = list(3, "axes"),
                         steps = list(4, nullptr);
  if (!starts || !ends || starts->size() != ends->size()) refuse("its starts and ends are missing or differ");
  if (!axes) {
    axes.emplace(starts->size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (axes->size() != starts->size() || (steps && steps->size() != starts->size()))
    refuse("its axes do not fit");
  for (std::size_t i = 0; i < axes->size(); ++i) {
    int const axis = axis_of((*axes)[i], x.dims.size());
    std::int64_t const extent = x.dims[static_cast<std::size_t>(axis)];
    if (steps && (*steps)[i] != 1) refuse("a step is not 1");
    std::int64_t first = (*starts)[i], last = (*ends)[i];
    if (x.axes[static_cast<std::size_t>(axis)] == onnx_value::batch) {
      bool const is_all =
          first == 0 && (last >= std::numeric_limits<std::int32_t>::max() || (extent > 0 && last >= extent));
      if (!is_all) refuse("it selects a part of the batch");
      continue;
    }
    if (first < 0) first += extent;
    if (last < 0) last += extent;
    x = sliced(x, axis, std::clamp<std::int64_t>(first, 0, extent),
               std::clamp<std::int64_t>(last, 0, extent));
  }
  set(x);
}

COHORT_CORE_INLINE void onnx_importer::split() {
  onnx_value const& x = data(0);
  int const axis = axis_of(integer("axis", 0), x.dims.size());
  std::optional<extents> sizes = list(1, "split");
  std::int64_t const extent = x.dims[static_cast<std::size_t>(axis)];
  auto const parts = static_cast<std::int64_t>(node_->outputs.size());
  integer("num_outputs", parts);
  if (parts < 1) refuse("it has no outputs");
  if (!sizes) {
    std::int64_t const each = (extent + parts - 1) / parts;
    sizes.emplace(static_cast<std::size_t>(parts), each);
    sizes->back() = extent - each * (parts - 1);
  }
  if (static_cast<std::int64_t>(sizes->size()) != parts) refuse("its sizes do not fit its outputs");
  std::int64_t first = 0;
  for (std::size_t part = 0; part < sizes->size(); ++part) {
    std::int64_t const size = (*sizes)[part];
    if (size < 0 || size > extent - first) refuse("its sizes do not fit its input");
    if (is_used(part)) set(sliced(x, axis, first, first + size), part);
    first += size;
  }
}

COHORT_CORE_INLINE void onnx_importer::gather() {
  std::int64_t const axis = integer("axis", 0);
  if (!is_constant(0) && is_constant(1)) {  // one element along an axis
    onnx_value const& x = data(0);
    std::optional<extents> const index = list(1, nullptr);
    int const at = axis_of(axis, x.dims.size());
    std::int64_t const extent = x.dims[static_cast<std::size_t>(at)];
    if (!index || index->size() != 1 || any(1).dims.size() > 1)
      refuse("it selects several elements of a value");
    std::int64_t const first = (*index)[0] < 0 ? (*index)[0] + extent : (*index)[0];
    if (first < 0 || first >= extent) refuse("its index does not exist");
    onnx_value made = sliced(x, at, first, first + 1);
    if (any(1).dims.empty()) {
      made.dims.erase(made.dims.begin() + at);
      made.axes.erase(made.axes.begin() + at);
    }
    return set(made);
  }
  tensor_float const table = numbers(0);
  onnx_value const& x = any(1);
  if (!x.is_integer) refuse("its indices are no integers");
  if (axis_of(axis, table.dims.size()) != 0 || table.dims.size() != 2)
    refuse("it is no look-up of rows: its table must have two axes, and axis must be 0");
  if (x.axes[0] != onnx_value::batch || x.dims.size() > 3)
    refuse("its indices are not N, N x T or N x H x W");
  ::cohort::shape const dims = checked_shape(table.dims);
  bool const is_map = x.dims.size() == 3;
  int const from = reshaped(x, x.dims.size() == 1 ? ::cohort::shape{1} : checked_shape(behind_batch_of(x)));
  int const made =
      append("embedding", {from},
             {{"vocabulary", {static_cast<double>(dims[0])}}, {"width", {static_cast<double>(dims[1])}}});
  store("weights", dims, table.values);
  onnx_value value{.id = made, .dims = x.dims, .axes = {onnx_value::batch}};
  value.dims.push_back(dims[1]);
  if (x.dims.size() == 1) value.axes = {onnx_value::batch, 1};
  if (x.dims.size() == 2) value.axes = {onnx_value::batch, 0, 1};
  if (is_map) value.axes = {onnx_value::batch, 1, 2, 0};
  set(value);
}

COHORT_CORE_INLINE void onnx_importer::flatten() {
  onnx_value const& x = data(0);
  std::int64_t const given = integer("axis", 1);
  auto const rank = static_cast<std::int64_t>(x.dims.size());
  std::int64_t const axis = given == rank ? rank : axis_of(given, x.dims.size());
  if (axis < 1 || x.axes[0] != onnx_value::batch) refuse("it mixes examples of the batch");
  std::int64_t before = 1, after = 1;
  for (std::int64_t a = 1; a < rank; ++a) (a < axis ? before : after) *= x.dims[static_cast<std::size_t>(a)];
  if (before > 1) refuse("it adds an axis to the batch");
  if (shape_of(x.id).rank < 2 || !is_row_major(x))
    return set(row_major(reshaped(x, checked_shape({after})), {after}, x.dims[0]));
  set(row_major(append("flatten", {x.id}), {after}, x.dims[0]));
}

COHORT_CORE_INLINE void onnx_importer::reshape() {
  std::optional<extents> wanted = list(1, version_ < 5 ? "shape" : nullptr);
  bool const allows_zero = integer("allowzero", 0) != 0;
  if (!wanted) refuse("its shape is missing");
  onnx_value const& x = any(0);
  if (x.constant) {
    onnx_tensor made = *x.constant;
    std::int64_t known = 1, unknown = -1;
    for (std::size_t i = 0; i < wanted->size(); ++i) {
      if ((*wanted)[i] == 0 && !allows_zero) (*wanted)[i] = i < x.dims.size() ? x.dims[i] : 0;
      if ((*wanted)[i] < 0)
        unknown = static_cast<std::int64_t>(i);
      else if ((*wanted)[i] > max_onnx_extent || (known *= (*wanted)[i]) > max_onnx_layer_elements)
        refuse("its shape is too large");
    }
    if (unknown >= 0)
      (*wanted)[static_cast<std::size_t>(unknown)] = known == 0 ? 0 : x.constant->elements() / known;
    made.dims = *wanted;
    checked_shape(made.dims);
    if (made.elements() != x.constant->elements()) refuse("its shape does not fit its input");
    return set_constant(std::move(made));
  }
  if (x.is_integer) refuse("its input consists of integers");
  // The axes in front of the batch and behind it are reshaped apart.
  auto const batch = static_cast<std::size_t>(std::ranges::find(x.axes, onnx_value::batch) - x.axes.begin());
  std::int64_t before = 1, after = 1;
  for (std::size_t a = 0; a < x.dims.size(); ++a)
    if (a != batch) (a < batch ? before : after) *= x.dims[a];
  std::int64_t const count = x.dims[batch];
  extents const& target = *wanted;
  std::size_t at = target.size();
  extents dims;
  std::int64_t prefix = 1;
  for (std::size_t i = 0; i < target.size() && prefix <= before; ++i) {
    std::int64_t const one = target[i] == 0 && !allows_zero ? (i < x.dims.size() ? x.dims[i] : 0) : target[i];
    bool const copies = target[i] == 0 && i == batch && !allows_zero;
    // −1 is the batch if all other extents are those of an example.
    std::int64_t others = 1;
    for (std::size_t k = 0; k < target.size(); ++k)
      if (k != i) {
        std::int64_t const other = target[k] == 0 && k < x.dims.size() ? x.dims[k] : target[k];
        others =
            other < 0 || other > max_onnx_extent || others > max_onnx_layer_elements ? -1 : others * other;
        if (others < 0) break;
      }
    bool const infers = target[i] == -1 && others == before * after;
    if (prefix == before && (copies || infers || (count > 0 && one == count))) {
      at = i;
      break;
    }
    if (one < 1 || one > max_onnx_extent) break;
    prefix *= one;
    dims.push_back(one);
  }
  if (at == target.size()) refuse("its shape mixes examples of the batch");
  std::size_t const front = dims.size();
  std::int64_t known = 1;
  std::optional<std::size_t> unknown;
  for (std::size_t i = at + 1; i < target.size(); ++i) {
    std::int64_t const one = target[i] == 0 && !allows_zero ? (i < x.dims.size() ? x.dims[i] : 0) : target[i];
    if (one == -1 && !unknown)
      unknown = dims.size();
    else if (one < 1 || one > max_onnx_extent || (known *= one) > max_onnx_layer_elements)
      refuse("its shape mixes examples of the batch");
    dims.push_back(one);
  }
  if (unknown) dims[*unknown] = after / known;
  std::int64_t product = 1;
  for (std::int64_t const one : dims) product *= one;
  if (product != before * after) refuse("its shape does not fit its input");
  // Axes in the order of memory: those in front of the batch are the first of the layer's output.
  onnx_value turned = x;
  std::rotate(turned.dims.begin(), turned.dims.begin() + static_cast<std::ptrdiff_t>(batch),
              turned.dims.begin() + static_cast<std::ptrdiff_t>(batch) + 1);
  std::rotate(turned.axes.begin(), turned.axes.begin() + static_cast<std::ptrdiff_t>(batch),
              turned.axes.begin() + static_cast<std::ptrdiff_t>(batch) + 1);
  if (!is_row_major(turned))
    refuse("it reads a transposed value whose elements would have to be moved; Cohort has no such layer");
  onnx_value made = row_major(x.id, dims, count);
  made.dims.erase(made.dims.begin());
  made.axes.erase(made.axes.begin());
  made.dims.insert(made.dims.begin() + static_cast<std::ptrdiff_t>(front), count);
  made.axes.insert(made.axes.begin() + static_cast<std::ptrdiff_t>(front), onnx_value::batch);
  set(made);
}

COHORT_CORE_INLINE void onnx_importer::squeeze() {
  onnx_value x = any(0);
  std::optional<extents> axes = list(1, "axes");
  std::vector<bool> removed(x.dims.size());
  if (axes)
    for (std::int64_t const one : *axes)
      removed[static_cast<std::size_t>(axis_of(one, x.dims.size()))] = true;
  else
    for (std::size_t a = 0; a < removed.size(); ++a) removed[a] = x.dims[a] == 1;
  onnx_value made = x;
  made.dims.clear(), made.axes.clear();
  for (std::size_t a = 0; a < removed.size(); ++a) {
    if (removed[a] && x.dims[a] != 1) refuse("it removes an axis whose extent is not 1");
    if (removed[a] && !x.constant && x.axes[a] == onnx_value::batch) refuse("it removes the batch");
    if (removed[a]) continue;
    made.dims.push_back(x.dims[a]);
    if (!x.constant) made.axes.push_back(x.axes[a]);
  }
  if (!x.constant) return set(made);
  onnx_tensor tensor = *x.constant;
  tensor.dims = made.dims;
  set_constant(std::move(tensor));
}

COHORT_CORE_INLINE void onnx_importer::unsqueeze() {
  onnx_value x = any(0);
  std::optional<extents> const axes = list(1, "axes");
  constexpr std::size_t most = 16;
  if (!axes || axes->size() > most || x.dims.size() + axes->size() > most)
    refuse("its axes are missing, or its result has more than " + std::to_string(most) + " axes");
  std::size_t const rank = x.dims.size() + axes->size();
  std::vector<bool> added(rank);
  for (std::int64_t const one : *axes) {
    auto const at = static_cast<std::size_t>(axis_of(one, rank));
    if (added[at]) refuse("it adds an axis twice");
    added[at] = true;
  }
  onnx_value made = x;
  made.dims.clear(), made.axes.clear();
  for (std::size_t a = 0, next = 0; a < rank; ++a) {
    made.dims.push_back(added[a] ? 1 : x.dims[next]);
    if (!x.constant) made.axes.push_back(added[a] ? onnx_value::unit : x.axes[next]);
    if (!added[a]) ++next;
  }
  if (!x.constant) return set(made);
  onnx_tensor tensor = *x.constant;
  tensor.dims = made.dims;
  set_constant(std::move(tensor));
}

COHORT_CORE_INLINE void onnx_importer::transpose() {
  onnx_value const& x = any(0);
  extents order = integers("perm");
  if (order.empty()) {
    order.resize(x.dims.size());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  std::vector<bool> seen(x.dims.size());
  if (order.size() != x.dims.size()) refuse("its perm does not fit its input");
  onnx_value made = x;
  for (std::size_t a = 0; a < order.size(); ++a) {
    if (order[a] < 0 || order[a] >= static_cast<std::int64_t>(seen.size())
        || seen[static_cast<std::size_t>(order[a])])
      refuse("its perm is no permutation");
    seen[static_cast<std::size_t>(order[a])] = true;
    made.dims[a] = x.dims[static_cast<std::size_t>(order[a])];
    if (!x.constant) made.axes[a] = x.axes[static_cast<std::size_t>(order[a])];
  }
  if (!x.constant) return set(made);
  auto const values = x.constant->floats();
  if (!values || x.dims.size() != 2) refuse("its constant is no matrix of floats");
  set_constant(onnx_tensor::of("", made.dims,
                               order[0] == 0 ? *values
                                             : transposed_matrix(*values, static_cast<std::size_t>(x.dims[0]),
                                                                 static_cast<std::size_t>(x.dims[1]))));
}

COHORT_CORE_INLINE void onnx_importer::pad() {
  onnx_value const& x = data(0);
  std::string const mode = text("mode", "constant");
  std::optional<extents> const given = list(1, "pads");
  std::optional<double> const value = bound(2, "value");
  if (mode != "constant" || (value && *value != 0)) refuse("it pads with other numbers than 0");
  if (has_input(3)) refuse("it pads selected axes");
  std::size_t const rank = x.dims.size();
  if (!given || given->size() != 2 * rank) refuse("its pads do not fit its input");
  for (std::int64_t const one : *given)
    if (one < 0 || one > max_onnx_window) refuse("a padding of " + std::to_string(one) + " is not supported");
  if (rank < 2 || rank > 4 || x.axes[0] != onnx_value::batch || (*given)[0] != 0 || (*given)[rank] != 0)
    refuse("it pads the batch, or its input has no one to three extents behind the batch");
  if (rank == 4 && ((*given)[1] != 0 || (*given)[5] != 0)) refuse("it pads the channels of an image");
  auto const side = [&](std::size_t axis, bool end) {
    return static_cast<double>((*given)[axis + (end ? rank : 0)]);
  };
  extents const dims = behind_batch_of(x);
  int const from = reshaped(x, rank == 4   ? checked_shape(dims)
                               : rank == 3 ? checked_shape({1, dims[0], dims[1]})
                                           : checked_shape({1, 1, dims[0]}));
  bool const has_rows = rank > 2;
  int const made =
      append("zero_padding", {from},
             {{"sides",
               {static_cast<double>(padding_mode::sides), has_rows ? side(rank - 2, false) : 0,
                has_rows ? side(rank - 2, true) : 0, side(rank - 1, false), side(rank - 1, true)}}});
  extents padded;
  for (std::size_t a = 1; a < rank; ++a) padded.push_back(x.dims[a] + (*given)[a] + (*given)[a + rank]);
  set(row_major(made, padded, x.dims[0]));
}

COHORT_CORE_INLINE void onnx_importer::resize() {
  onnx_value const& x = data(0);
  std::string const mode = text("mode", "nearest"), rounding = text("nearest_mode", "round_prefer_floor");
  bool const is_upsample = node_->op == "Upsample" || version_ < 11;
  std::string const coordinates =
      text("coordinate_transformation_mode", is_upsample ? "asymmetric" : "half_pixel");
  real("cubic_coeff_a", -0.75), integer("exclude_outside", 0), real("extrapolation_value", 0);
  integer("antialias", 0);
  std::string const policy = text("keep_aspect_ratio_policy", "stretch");
  extents const axes = integers("axes");
  if (mode != "nearest") refuse("Cohort repeats elements only, mode nearest");
  if (!axes.empty() || policy != "stretch") refuse("it resizes selected axes");
  if (x.dims.size() != 4 || x.axes[0] != onnx_value::batch) refuse("its input is not N x C x H x W");
  std::vector<std::int64_t> factors;
  std::size_t const at = is_upsample ? 1 : 2;
  onnx_attribute const* const older = attribute("scales", onnx_attribute::reals);
  std::vector<float> scales = older ? older->floats : std::vector<float>();
  if (!older && has_input(at) && (any(at).constant && any(at).constant->elements() > 0))
    scales = numbers(at).values;
  if (!scales.empty()) {
    for (float const one : scales) {
      if (!(one >= 1 && one <= static_cast<float>(max_onnx_window)) || one != std::floor(one))
        refuse("a scale is no whole number");
      factors.push_back(static_cast<std::int64_t>(one));
    }
  } else {
    std::optional<extents> const sizes = list(3, nullptr);
    if (!sizes || sizes->size() != 4) refuse("its scales are missing");
    for (std::size_t a = 0; a < 4; ++a) {
      std::int64_t const extent = x.dims[a] < 0 ? (*sizes)[a] : x.dims[a];
      if ((*sizes)[a] < 1 || extent < 1 || (*sizes)[a] % extent != 0)
        refuse("a size is no multiple of that of its input");
      factors.push_back((*sizes)[a] / extent);
    }
  }
  if (factors.size() != 4 || factors[0] != 1 || factors[1] != 1) refuse("it resizes batch or channels");
  bool const repeats = (coordinates == "asymmetric" && rounding == "floor")
                       || ((coordinates == "half_pixel" || coordinates == "pytorch_half_pixel")
                           && rounding.starts_with("round_prefer"))
                       || is_upsample;
  if (!repeats && (factors[2] != 1 || factors[3] != 1))
    refuse("its coordinates " + quote_for_error(coordinates) + " with " + quote_for_error(rounding)
           + " do not repeat elements");
  checked_shape({x.dims[1], x.dims[2] * factors[2], x.dims[3] * factors[3]});
  int const made = append("upsampling", {image(x)},
                          {{"factor", {static_cast<double>(factors[2]), static_cast<double>(factors[3])}}});
  set(row_major(made, {x.dims[1], x.dims[2] * factors[2], x.dims[3] * factors[3]}, x.dims[0]));
}

// ---- sequences ----
/// Blocks of equal size in another order.
COHORT_CORE_INLINE std::vector<float> reordered(std::span<float const> from,
                                                std::vector<std::size_t> const& order) {
  std::vector<float> to;
  to.reserve(from.size());
  std::size_t const block = from.size() / order.size();
  for (std::size_t const one : order)
    to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(one * block),
              from.begin() + static_cast<std::ptrdiff_t>((one + 1) * block));
  return to;
}

/// The activations of one direction as fields.
COHORT_CORE_INLINE std::pair<onnx_importer::fields, std::vector<std::string>>
onnx_importer::recurrent_functions(std::size_t direction, std::size_t directions) {
  std::size_t const each = node_->op == "LSTM" ? 3 : node_->op == "GRU" ? 2 : 1;
  std::vector<std::string> names;
  onnx_attribute const* const given = attribute("activations", onnx_attribute::texts);
  onnx_attribute const* const alphas = attribute("activation_alpha", onnx_attribute::reals);
  onnx_attribute const* const betas = attribute("activation_beta", onnx_attribute::reals);
  if (given) names = given->strings;
  if (names.empty())
    for (std::size_t d = 0; d < directions; ++d) {
      if (each > 1) names.push_back("Sigmoid");
      for (std::size_t i = each == 1 ? 0 : 1; i < each; ++i) names.push_back("Tanh");
    }
  if (names.size() != each * directions) refuse("its activations do not fit its directions");
  std::size_t alpha = 0, beta = 0;
  std::vector<double> kinds;
  for (std::string const& one : names) {
    std::string lower = one;
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    auto const parameter = [&](onnx_attribute const* list, std::size_t& next, double otherwise) {
      return list && next < list->floats.size() ? static_cast<double>(list->floats[next++]) : otherwise;
    };
    if (lower == "tanh")
      kinds.push_back(0);
    else if (lower == "sigmoid")
      kinds.push_back(1);
    else if (lower == "relu")
      kinds.push_back(4);
    else if (lower == "hardsigmoid" && std::abs(parameter(alphas, alpha, 0.2) - 0.2) < 1e-7
             && std::abs(parameter(betas, beta, 0.5) - 0.5) < 1e-7)
      kinds.push_back(2);
    else if (lower == "affine" && parameter(alphas, alpha, 1) == 1 && parameter(betas, beta, 0) == 0)
      kinds.push_back(5);
    else
      refuse("Cohort has no function " + quote_for_error(one) + " with these parameters for its cells");
  }
  auto const first = kinds.begin() + static_cast<std::ptrdiff_t>(direction * each);
  fields made{{"activation", {first[each == 1 ? 0 : 1]}}};
  if (each == 3 && first[1] != first[2]) refuse("the functions of its cells and outputs differ");
  if (each > 1) made.push_back({"gate_activation", {first[0]}});
  return {made, names};
}

COHORT_CORE_INLINE int onnx_importer::recurrent_layer(onnx_value const& x, std::size_t direction,
                                                      std::size_t directions, bool last_step,
                                                      bool returns_state) {
  std::string const& op = node_->op;
  bool const is_lstm = op == "LSTM", is_gru = op == "GRU";
  std::size_t const gates = is_lstm ? 4 : is_gru ? 3 : 1;
  std::int64_t const layout = integer("layout", 0);
  tensor_float const weights = numbers(1), recurrent = numbers(2);
  if (weights.dims.size() != 3 || recurrent.dims.size() != 3) refuse("its weights have not three axes");
  checked_shape(weights.dims), checked_shape(recurrent.dims);
  std::int64_t const units = recurrent.dims[2], width = weights.dims[2];
  std::int64_t const columns = units * static_cast<std::int64_t>(gates);
  if (integer("hidden_size", units) != units || weights.dims[1] != columns || recurrent.dims[1] != columns
      || weights.dims[0] != static_cast<std::int64_t>(directions) || recurrent.dims[0] != weights.dims[0])
    refuse("its weights do not fit its hidden size");
  std::string const towards = text("direction", "forward");
  bool const reset_after = is_gru && integer("linear_before_reset", 0) != 0;
  bool const peepholes = is_lstm && has_input(7);
  if (is_lstm && integer("input_forget", 0) != 0) refuse("its input and forget gates are coupled");
  integer("output_sequence", 0);
  if (attribute("clip", onnx_attribute::real)) refuse("it clips its cells");

  std::vector<int> from;
  onnx_value turned = x;
  if (layout == 0) std::swap(turned.dims[0], turned.dims[1]), std::swap(turned.axes[0], turned.axes[1]);
  if (turned.axes[0] != onnx_value::batch)
    refuse("the batch of its input is not at the axis that layout names");
  from.push_back(reshaped(turned, checked_shape({turned.dims[1], turned.dims[2]})));
  if (turned.dims[2] != width) refuse("its weights do not fit its input");
  if (has_input(4) && !lengths_.contains(node_->inputs[4])) {  // then they are constants: find_lengths
    std::optional<extents> const given = list(4, nullptr);
    for (std::int64_t const one : *given)
      if (one != turned.dims[1]) refuse("its sequence_lens are constants that are not the number of steps");
  }
  for (std::size_t const which : {std::size_t{5}, std::size_t{6}}) {
    if (!has_input(which) || (which == 6 && !is_lstm)) continue;
    if (is_constant(which)) {
      tensor_float const given = numbers(which);
      for (float const one : given.values)
        if (one != 0) refuse("its initial state is a constant");
      continue;
    }
    onnx_value state = data(which);
    if (state.dims.size() != 3) refuse("its initial state has not three axes");
    if (layout == 0) std::swap(state.dims[0], state.dims[1]), std::swap(state.axes[0], state.axes[1]);
    if (state.axes[0] != onnx_value::batch)
      refuse("the batch of its initial state is not at the axis that layout names");
    onnx_value const own =
        sliced(state, 1, static_cast<std::int64_t>(direction), static_cast<std::int64_t>(direction) + 1);
    from.push_back(reshaped(own, checked_shape({units})));
  }
  if (from.size() > 1 && from.size() != (is_lstm ? 3U : 2U))
    refuse("only a part of its initial state is given");

  auto const part = [&](tensor_float const& all) {
    std::size_t const size = all.values.size() / directions;
    return std::span<float const>(all.values).subspan(direction * size, size);
  };
  std::vector<std::size_t> const order = is_lstm  ? std::vector<std::size_t>{0, 2, 3, 1}
                                         : is_gru ? std::vector<std::size_t>{0, 1, 2}
                                                  : std::vector<std::size_t>{0};
  fields with = recurrent_functions(direction, directions).first;
  with.push_back({"units", {static_cast<double>(units)}});
  with.push_back({"last_step", {last_step ? 1.0 : 0.0}});
  with.push_back({"returns_state", {returns_state ? 1.0 : 0.0}});
  with.push_back({"reverse", {direction == 1 || towards == "reverse" ? 1.0 : 0.0}});
  if (is_gru) with.push_back({"reset_after", {reset_after ? 1.0 : 0.0}});
  if (is_lstm) with.push_back({"peepholes", {peepholes ? 1.0 : 0.0}});
  bool const bias = has_input(3);
  with.push_back({"bias", {bias ? 1.0 : 0.0}});
  int const made = append(is_lstm ? "lstm" : is_gru ? "gru" : "simple_rnn", from, with);
  int const c = static_cast<int>(columns), u = static_cast<int>(units), w = static_cast<int>(width);
  store("weights", {c, w}, reordered(part(weights), order));
  store("recurrent_weights", {c, u}, reordered(part(recurrent), order));
  if (bias) {
    tensor_float const both = numbers(3);
    if (static_cast<std::int64_t>(both.values.size()) != 2 * columns * static_cast<std::int64_t>(directions))
      refuse("its bias does not fit its weights");
    std::span<float const> const own = part(both);
    std::vector<float> first = reordered(own.first(own.size() / 2), order);
    std::vector<float> const second = reordered(own.last(own.size() / 2), order);
    if (!reset_after)
      for (std::size_t i = 0; i < first.size(); ++i) first[i] += second[i];
    store("bias", {c}, first);
    if (reset_after) store("recurrent_bias", {c}, second);
  }
  if (peepholes) {
    tensor_float const three = numbers(7);
    if (static_cast<std::int64_t>(three.values.size()) != 3 * units * static_cast<std::int64_t>(directions))
      refuse("its peepholes do not fit its weights");
    store("peepholes", {3 * u}, reordered(part(three), {0, 2, 1}));  // i o f become i f o
  }
  return made;
}

COHORT_CORE_INLINE void onnx_importer::recurrent() {
  onnx_value const& x = data(0);
  if (x.dims.size() != 3) refuse("its input has not three axes");
  std::string const towards = text("direction", "forward");
  if (towards != "forward" && towards != "reverse" && towards != "bidirectional")
    refuse("direction is " + quote_for_error(towards));
  std::int64_t const layout = integer("layout", 0);
  std::size_t const directions = towards == "bidirectional" ? 2 : 1;
  bool const steps = is_used(0), state = is_used(1), cells = is_used(2);
  bool const last_step = !steps, returns_state = cells || (steps && state);
  std::vector<int> all[3];
  for (std::size_t d = 0; d < directions; ++d) {
    int const made = recurrent_layer(x, d, directions, last_step, returns_state);
    for (int output = 0; output < 3; ++output) {
      if (!(output == 0 ? steps : output == 1 ? state : cells)) continue;
      int part = made;
      if (returns_state)
        part = append(
            "recurrent_output", {made},
            {{"states", {node_->op == "LSTM" ? 2.0 : 1.0}}, {"part", {static_cast<double>(output)}}}, false);
      all[output].push_back(part);
    }
  }
  std::int64_t const length = x.dims[layout == 0 ? 0 : 1], batch = x.dims[layout == 0 ? 1 : 0];
  std::int64_t const units = numbers(2).dims[2], d = static_cast<std::int64_t>(directions);
  constexpr int of_batch = onnx_value::batch, unit = onnx_value::unit;
  for (std::size_t output = 0; output < 3; ++output) {
    if (all[output].empty()) continue;
    int id = all[output][0];
    bool const is_steps = output == 0;
    onnx_value value;
    if (directions == 2) {
      id = append("concatenate", all[output], {}, false);
      id = reshaped(id, is_steps ? checked_shape({length, 2, units}) : checked_shape({2, units}));
    }
    value.id = id;
    bool const two = directions == 2;
    if (is_steps) {
      value.dims = layout == 0 ? extents{length, d, batch, units} : extents{batch, length, d, units};
      value.axes = layout == 0 ? std::vector<int>{0, two ? 1 : unit, of_batch, two ? 2 : 1}
                               : std::vector<int>{of_batch, 0, two ? 1 : unit, two ? 2 : 1};
    } else {
      value.dims = layout == 0 ? extents{d, batch, units} : extents{batch, d, units};
      value.axes = layout == 0 ? std::vector<int>{two ? 0 : unit, of_batch, two ? 1 : 0}
                               : std::vector<int>{of_batch, two ? 0 : unit, two ? 1 : 0};
    }
    set(value, output);
  }
}

COHORT_CORE_INLINE void onnx_importer::attention() {
  std::int64_t const heads = integer("q_num_heads", 0), others = integer("kv_num_heads", 0);
  bool const causal = integer("is_causal", 0) != 0;
  onnx_attribute const* const scale = attribute("scale", onnx_attribute::real);
  if (real("softcap", 0) != 0) refuse("it has a softcap");
  integer("softmax_precision", 1), integer("qk_matmul_output_mode", 0);
  for (std::size_t input = 3; input < node_->inputs.size(); ++input)
    if (has_input(input)) refuse("it has a mask or earlier keys");
  for (std::size_t output = 1; output < node_->outputs.size(); ++output)
    if (is_used(output)) refuse("its keys, values or products are read");
  if (heads < 1 || heads != others || heads > max_onnx_extent)
    refuse("queries and keys have different numbers of heads, or none is given");
  std::vector<int> from;
  bool const packed = node_->inputs.size() == 1;  // by fuse_attention
  for (std::size_t x = 0; x < (packed ? 1 : 3); ++x) {
    if (data(x).dims.size() != 3 || data(x).axes[0] != onnx_value::batch
        || data(x).dims[0] != data(0).dims[0])
      refuse("its inputs are not N x T x C");
    from.push_back(reshaped(data(x), checked_shape(behind_batch_of(data(x)))));
  }
  int const columns = shape_of(from[0])[1] / (packed ? 3 : 1), width = columns / static_cast<int>(heads);
  if (integer("columns", columns) != columns || (packed && shape_of(from[0])[1] != 3 * columns))
    refuse("its queries, keys and values are parts of a wider value");
  double const usual = 1 / std::sqrt(static_cast<double>(width));
  if (scale && std::abs(static_cast<double>(scale->f) - usual) > 1e-6 * usual)
    refuse("its scale is not that of its width");
  int const made =
      append("attention", from, {{"heads", {static_cast<double>(heads)}}, {"causal", {causal ? 1.0 : 0.0}}});
  ::cohort::shape const out = shape_of(made);
  set(row_major(made, {out[0], out[1]}, data(0).dims[0]));
}

}  // namespace cohort::detail
