// SPDX-License-Identifier: Apache-2.0
#pragma once
// Definitions of the constexpr members of `builder`; builder.hpp includes this header at its end.
#include <algorithm>
#include <cohort/graph/builder.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

constexpr tensor builder::input(shape extents, std::string_view name, source_line at) {
  auto const values = detail::encode(cohort::input{.extents = extents});
  return {*this, append(kind_of<cohort::input>, values.data(), {}, name, {}, at)};
}

constexpr tensor builder::masked_input(shape extents, std::string_view name, source_line at) {
  auto const values = detail::encode(cohort::masked_input{.extents = extents});
  return {*this, append(kind_of<cohort::masked_input>, values.data(), {}, name, {}, at)};
}

constexpr tensor builder::padded_input(shape extents, double value, std::string_view name, source_line at) {
  auto const values = detail::encode(cohort::padded_input{.extents = extents, .value = value});
  return {*this, append(kind_of<cohort::padded_input>, values.data(), {}, name, {}, at)};
}

constexpr int builder::append(cohort::kind const& kind, double const* values, std::span<int const> inputs,
                              std::string_view name, layer_settings const& settings, source_line at,
                              int owner) {
  node made;
  made.kind = &kind;
  made.input_count = static_cast<int>(inputs.size());
  made.settings = settings;
  made.at = at;
  infer(made, values, inputs);
  std::vector<int> from(inputs.begin(), inputs.end());
  derive_mask(made, values, from);
  made.first_value = static_cast<int>(values_.size());
  made.first_input = static_cast<int>(edges_.size());
  store_name(made, name);
  // insert is not used, because g++ 12 warns that insert would write past the end (-Wstringop-overflow).
  for (int slot = 0; slot < kind.slots; ++slot) values_.push_back(values[slot]);
  for (int const one : from) edges_.push_back(one);
  nodes_.push_back(made);
  int const id = static_cast<int>(nodes_.size()) - 1;
  if (owner >= 0 || !settings.shares.empty()) share_parameters(id, owner);
  return id;
}

/// Makes node `id` use the parameters of node `owner`. If `owner` is −1, the settings of node `id` name the
/// owner in `shares`.
constexpr void builder::share_parameters(int id, int owner) {
  if (problem_.found()) return;
  graph_view const recorded = view();
  node& made = nodes_[static_cast<std::size_t>(id)];
  for (int other = 0; other < id && owner < 0; ++other)
    if (recorded[other].name_size > 0 && recorded.given_name(other) == made.settings.shares) owner = other;
  auto const refuse = [&](char const* sentence) {
    report({.sentence = sentence, .layer = made.kind->name.data(), .at = made.at});
  };
  if (owner < 0) return refuse("no earlier layer has the name given in settings.shares");
  owner = recorded.owner(owner);
  if (made.settings.weights || made.settings.bias || made.settings.recurrent)
    return refuse("a layer that shares parameters must not set initialisers");
  parameter_list const needed = recorded.parameters(id), shared = recorded.parameters(owner);
  bool same = needed.count == shared.count && needed.count > 0;
  for (int p = 0; same && p < needed.count; ++p) {
    auto const &a = needed.specs[static_cast<std::size_t>(p)], &b = shared.specs[static_cast<std::size_t>(p)];
    if (!is_trained(a.role)) return refuse("a layer with running statistics cannot share parameters");
    same = a.role == b.role && a.dims == b.dims;
  }
  if (!same)
    return report({.sentence = "layers that share parameters need parameters of the same shapes",
                   .layer = made.kind->name.data(),
                   .at = made.at,
                   .shapes = {labelled_shape{"parameters", needed.count > 0 ? needed.specs[0].dims : shape{}},
                              labelled_shape{"shared", shared.count > 0 ? shared.specs[0].dims : shape{}}}});
  made.shares = owner;
  made.settings = nodes_[static_cast<std::size_t>(owner)].settings;
}

constexpr void builder::declare_outputs(std::span<int const> ids) {
  if (problem_.found()) return;
  enum : char { unread, read, declared };
  std::vector<char> use(nodes_.size(), unread);
  for (int from : edges_) use[static_cast<std::size_t>(from)] = read;
  auto const refuse = [&](std::size_t id, char const* sentence) {
    report({.sentence = sentence, .layer = nodes_[id].kind->name.data(), .at = nodes_[id].at});
  };
  for (int const one : ids) {
    auto const id = static_cast<std::size_t>(one);
    if (use[id] == read)
      return refuse(id,
                    "the network returns this tensor, but another layer reads it: return only tensors that "
                    "no layer reads");
    if (use[id] == declared) return refuse(id, "the network returns this tensor twice");
    if (nodes_[id].kind->role == layer_role::input)
      return refuse(id, "the network returns an input: return the output of a layer");
    use[id] = declared;
  }
  for (std::size_t id = 0; id < use.size(); ++id)
    if (use[id] == unread)
      return refuse(
          id, "no layer reads this tensor and the network does not return it: use, return or remove it");
  outputs_.assign(ids.begin(), ids.end());
}

constexpr void builder::sort_nodes() {
  graph_view const recorded = view();
  if (outputs_.empty()) outputs_ = recorded.outputs();
  std::vector<int> order, position(nodes_.size(), -1), pending;
  auto const place = [&](int id) {
    position[static_cast<std::size_t>(id)] = static_cast<int>(order.size());
    order.push_back(id);
  };
  for (int id : recorded.with_role(layer_role::input)) place(id);
  for (int sink : outputs_) {
    pending.push_back(sink);
    while (!pending.empty()) {
      int const id = pending.back();
      int missing = -1;
      for (int from : recorded.inputs(id))
        if (missing < 0 && position[static_cast<std::size_t>(from)] < 0) missing = from;
      if (missing >= 0) {
        pending.push_back(missing);
        continue;
      }
      if (position[static_cast<std::size_t>(id)] < 0) place(id);
      pending.pop_back();
    }
  }
  std::vector<node> nodes;
  std::vector<int> edges;
  nodes.reserve(nodes_.size());
  edges.reserve(edges_.size());
  for (int id : order) {
    node sorted = recorded[id];
    sorted.first_input = static_cast<int>(edges.size());
    sorted.ordinal = 1;
    for (std::size_t before = nodes.size(); before-- > 0 && sorted.ordinal == 1;)
      if (*nodes[before].kind == *sorted.kind) sorted.ordinal = nodes[before].ordinal + 1;
    for (int from : recorded.inputs(id)) edges.push_back(position[static_cast<std::size_t>(from)]);
    if (sorted.shares >= 0) sorted.shares = position[static_cast<std::size_t>(sorted.shares)];
    if (sorted.mask >= 0) sorted.mask = position[static_cast<std::size_t>(sorted.mask)];
    nodes.push_back(sorted);
  }
  nodes_ = std::move(nodes);
  edges_ = std::move(edges);
  drop_generated_names();
  check_names();
  check_divisors();
}

constexpr bool builder::check_input_count(node const& made) {
  int const most = made.kind->max_inputs;
  if (made.input_count <= most && (most == 0 || made.input_count > 0)) return true;
  report({.sentence = "this layer got the wrong number of inputs",
          .layer = made.kind->name.data(),
          .at = made.at,
          .shapes = {labelled_number("inputs", made.input_count), labelled_number("at most", most)}});
  return false;
}

constexpr void builder::infer(node& made, double const* values, std::span<int const> inputs) {
  if (problem_.found() || !check_input_count(made)) return;
  std::vector<shape> shapes(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    node const& from = nodes_[static_cast<std::size_t>(inputs[i])];
    shapes[i] = from.output;
    if (from.kind->role == layer_role::loss)
      return report({.sentence = "this layer reads a loss: a loss must be the last layer of its branch",
                     .layer = made.kind->name.data(),
                     .at = made.at,
                     .shapes = {labelled_shape{"loss", from.output}}});
    if (std::ranges::find(made.kind->applies, from.kind->name) != made.kind->applies.end())
      return report(
          {.sentence = "this loss contains the activation of the layer before it: remove that layer",
           .layer = made.kind->name.data(),
           .at = made.at,
           .shapes = {labelled_shape{from.kind->name.data(), from.output}},
           .operands = {from.at}});
  }
  inference const result = made.kind->infer(values, shapes);
  made.output = result.output;
  if (!result.problem.found()) return;
  problem_ = result.problem;
  problem_.layer = made.kind->name.data();
  problem_.at = made.at;
  if (inputs.size() < 2) return;
  auto const line_of = [&](std::size_t i) { return nodes_[static_cast<std::size_t>(inputs[i])].at; };
  problem_.operands[0] = line_of(0);
  for (std::size_t i = shapes.size(); i-- > 0;) {
    if (shapes[i] == problem_.shapes[0].value) problem_.operands[0] = line_of(i);
    if (shapes[i] == problem_.shapes[1].value && (i > 0 || problem_.operands[1].line == 0))
      problem_.operands[1] = line_of(i);
  }
}

/// Derives the mask of a node's output. Replaces each input whose padding must be 0 by a zero_masked layer
/// that reads it.
constexpr void builder::derive_mask(node& made, double const* values, std::vector<int>& inputs) {
  if (problem_.found()) return;
  std::vector<shape> shapes;
  for (int id : inputs) shapes.push_back(nodes_[static_cast<std::size_t>(id)].output);
  mask_rule const rule = made.kind->masks(values, shapes);
  int of_queries = -1, of_others = -1;  // masks of the query inputs and of the other inputs
  auto const refuse = [&](char const* sentence, labelled_shape first = {}, labelled_shape second = {}) {
    report({.sentence = sentence, .layer = made.kind->name.data(), .at = made.at, .shapes = {first, second}});
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    int const found = nodes_[static_cast<std::size_t>(inputs[i])].mask;
    int& mask = static_cast<int>(i) < rule.queries ? of_queries : of_others;
    if (found < 0) continue;
    if (mask >= 0 && mask != found)
      return refuse("the inputs of this layer have different masks", labelled_number("mask of layer", mask),
                    labelled_number("mask of layer", found));
    mask = found;
  }
  int const mask = rule.queries > 0 ? of_queries : of_others;  // mask of the output
  if (rule.use == mask_use::begins) {
    if (of_queries >= 0 || of_others >= 0)
      return refuse("a mask begins at this layer, but its input already has one", {"input", shapes[0]});
    if (!inputs.empty() && nodes_[static_cast<std::size_t>(inputs[0])].kind->role != layer_role::input)
      return refuse("a mask begins at this layer, but it does not read an input of the network",
                    {"input", shapes[0]});
    made.mask = static_cast<int>(nodes_.size());
  }
  if (of_queries < 0 && of_others < 0) return;
  if (rule.use == mask_use::refuses) return refuse(rule.sentence, {"input", shapes[0]});
  auto const steps_of = [&](int begin) { return nodes_[static_cast<std::size_t>(begin)].output[0]; };
  for (int const id : inputs) {
    node const& from = nodes_[static_cast<std::size_t>(id)];
    if (from.mask >= 0 && from.output[0] - steps_of(from.mask) != std::max(-rule.state_rows, 0))
      return refuse("this layer reads the steps and the state together: use the members of with_state",
                    {"input", from.output});
  }
  if (shapes[0].rank < 2 && made.output.rank < 2)
    return refuse("a masked input T contains indices, for an embedding: values need the shape TxC",
                  {"input", shapes[0]});
  for (int& id : inputs) {
    node const& from = nodes_[static_cast<std::size_t>(id)];
    if (!rule.needs_zeros || from.mask < 0 || *from.kind == kind_of<zero_masked>) continue;
    id = append(kind_of<zero_masked>, nullptr, {&id, 1}, {}, {}, made.at);
  }
  if (mask < 0 || rule.use != mask_use::passes) return;
  if (made.output[0] != steps_of(mask) + std::max(rule.state_rows, 0))
    return refuse("a layer that passes a mask must keep the number of steps", {"input", shapes[0]},
                  {"output", made.output});
  made.mask = mask;
}

constexpr void builder::store_name(node& made, std::string_view name) {
  made.first_character = static_cast<int>(characters_.size());
  made.name_size = static_cast<int>(name.size());
  // insert is not used, because it costs more compile time.
  for (char const character : name) characters_.push_back(character);
}

/// Drops given names that equal the generated names, so that the hash does not depend on them.
constexpr void builder::drop_generated_names() {
  graph_view const net = view();
  for (int id = 0; id < net.size(); ++id) {
    std::string_view const given = net.given_name(id);
    node& named = nodes_[static_cast<std::size_t>(id)];
    named.name_size = 0;
    if (!net.has_name(id, given)) named.name_size = static_cast<int>(given.size());
  }
}

/// Reports a given name that is also the given or generated name of another node. Generated names depend on
/// the node order, so the nodes must be sorted.
constexpr void builder::check_names() {
  graph_view const net = view();
  for (int id = 0; id < net.size(); ++id) {
    if (net[id].name_size == 0) continue;
    for (int other = 0; other < net.size(); ++other) {
      if (other == id || !net.has_name(other, net.given_name(id))) continue;
      bool const other_is_later = other > id && net[other].name_size > 0;
      int const at_fault = other_is_later ? other : id;
      return report({.sentence = "another layer already has this name",
                     .layer = net.kind(at_fault).name.data(),
                     .at = net[at_fault].at,
                     .shapes = {labelled_number("layer", at_fault),
                                labelled_number("other layer", id + other - at_fault)}});
    }
  }
}

/// Reports losses that are means with different divisors, because the gradients of each part of a batch are
/// weighted by a single factor.
constexpr void builder::check_divisors() {
  if (problem_.found()) return;
  graph_view const net = view();
  std::vector<int> const losses = net.with_role(layer_role::loss);
  for (int id : losses)
    if (losses.size() > 1 && net.averages_targets(id))
      return report({.sentence =
                         "a loss with an ignore_index is a mean over the targets not ignored, so it "
                         "must be the only loss: set sum_steps, or use weights of the examples instead",
                     .layer = net.kind(id).name.data(),
                     .at = net[id].at,
                     .shapes = {labelled_shape{"input", net[net.inputs(id)[0]].output}}});
  for (int id : losses)
    if (net.averaged_mask(id) != net.averaged_mask(losses[0]))
      return report({.sentence = "all losses must be means over the same steps, or all over examples: set "
                                 "sum_steps for losses of masked sequences",
                     .layer = net.kind(id).name.data(),
                     .at = net[id].at,
                     .shapes = {labelled_shape{"input", net[net.inputs(id)[0]].output},
                                labelled_shape{"first loss", net[net.inputs(losses[0])[0]].output}}});
}

}  // namespace cohort
