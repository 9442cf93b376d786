// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>
#include <cohort/layer/layers.hpp>
#include <concepts>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace cohort {

class tensor;

/// Records the layers of a network, in constant evaluation and at run time alike, and keeps the first mistake.
///
/// Order     a node's inputs are recorded before it.
/// Errors    none thrown: `problem()` says what the first mistake was; after it nothing is inferred any more.
class builder {
 public:
  /// A tensor that every batch brings, without the batch's extent: {1, 28, 28}.
  constexpr tensor input(shape extents, std::string_view name = {}, source at = source::here());

  /// Records a node of any kind.  Before: `kind` outlives the graph; `values` has kind.slots numbers.
  /// `owner`: the node whose parameters it uses; −1: what `settings.shares` names, or itself.
  constexpr int append(kind const& kind, double const* values, std::span<int const> inputs,
                       std::string_view name, layer_settings const& settings, source at, int owner = -1);

  constexpr graph_view view() const { return {nodes_, values_, edges_, characters_}; }
  constexpr finding const& problem() const { return problem_; }
  constexpr void report(finding const& mistake) {
    if (!problem_.found()) problem_ = mistake;
  }

  /// Declares the outputs of the network, in order. Without it, every layer that no other layer reads is one.
  ///
  /// Errors    problem() names the line of the first tensor that no layer reads and that is not declared; of an output that
  ///           another layer reads, that is declared twice, or that is an input.
  constexpr void declare_outputs(std::span<int const> ids);

  /// Puts the nodes into the order that depends on the network alone: the inputs as written, then each output's layers,
  /// operands from left to right. As recorded, the operands of `a + b` stand in the order in which a compiler happened
  /// to evaluate them, and with it generated names, hashes and initial parameters would differ between compilers.
  /// Names are checked then: two layers of one name are a mistake.
  constexpr void settle_order();

 private:
  friend class graph;

  constexpr bool right_number_of_inputs(node const& made);
  constexpr void infer(node& made, double const* values, std::span<int const> inputs);
  constexpr void share_parameters(int id, int owner);
  constexpr void give_name(node& made, std::string_view name);
  constexpr void check_names();

  std::vector<node> nodes_{};
  std::vector<double> values_{};
  std::vector<int> edges_{};
  std::vector<char> characters_{};
  std::vector<int> outputs_{};  // as declared; empty: what no layer reads
  finding problem_{};
};

/// The output of a layer while a network is written. `x | layer` and `x | block` continue it.
class tensor {
 public:
  constexpr tensor(builder& net, int id) : net_(&net), id_(id) {}
  constexpr int id() const { return id_; }
  constexpr shape dims() const { return net_->view()[id_].output; }
  constexpr builder& net() const { return *net_; }

 private:
  builder* net_;
  int id_;
};

namespace detail {

template <layer L>
constexpr layer_settings settings_of(L const& l) {
  if constexpr (requires { l.settings; })
    return l.settings;
  else
    return {};
}

}  // namespace detail

namespace detail {

/// The ids of a tensor, or of the tensors in a pair, tuple, array or vector.
template <class Returned>
constexpr std::vector<int> ids_of(Returned const& outputs) {
  std::vector<int> ids;
  if constexpr (std::same_as<Returned, tensor>)
    ids.push_back(outputs.id());
  else if constexpr (requires { std::tuple_size<Returned>::value; })
    std::apply([&](std::same_as<tensor> auto const&... each) { (ids.push_back(each.id()), ...); }, outputs);
  else
    for (tensor const& each : outputs) ids.push_back(each.id());
  return ids;
}

/// Runs a builder function and declares as outputs what it returns, if it returns anything.
template <class F>
constexpr void describe_with(F&& describe, builder& net) {
  if constexpr (std::is_void_v<std::invoke_result_t<F, builder&>>) {
    describe(net);
  } else {
    std::vector<int> const ids = ids_of(describe(net));
    net.declare_outputs(ids);
  }
}

}  // namespace detail

/// Feeds several tensors to one layer: join(add{.name = "sum"}, a, b).
template <layer L, std::same_as<tensor>... More>
constexpr tensor join(L const& l, tensor first, More... more) {
  int const inputs[]{first.id(), more.id()...};
  auto const values = detail::encode(l);
  return {first.net(),
          first.net().append(kind_of<L>, values.data(), inputs, l.name, detail::settings_of(l), l.at)};
}

template <layer L>
constexpr tensor operator|(tensor x, L const& l) {
  return join(l, x);
}

/// A block: any callable that takes a tensor and gives one back.
template <class Block>
requires(!layer<Block> && std::invocable<Block const&, tensor>) constexpr tensor operator|(
    tensor x, Block const& block) {
  return block(x);
}

/// An operator cannot ask for its line: a finding names that of its right operand.
constexpr tensor operator+(tensor a, tensor b) { return join(add{.at = b.net().view()[b.id()].at}, a, b); }
constexpr tensor operator*(tensor a, tensor b) {
  return join(multiply{.at = b.net().view()[b.id()].at}, a, b);
}

/// As `+`, a finding names the line of the last operand; join(concatenate{}, a, b) has its own.
template <std::same_as<tensor>... More>
constexpr tensor concat(tensor first, More... more) {
  int const ids[]{first.id(), more.id()...};
  return join(concatenate{.at = first.net().view()[ids[sizeof...(More)]].at}, first, more...);
}

constexpr tensor builder::input(shape extents, std::string_view name, source at) {
  auto const values = detail::encode(cohort::input{.extents = extents});
  return {*this, append(kind_of<cohort::input>, values.data(), {}, name, {}, at)};
}

constexpr int builder::append(cohort::kind const& kind, double const* values, std::span<int const> inputs,
                              std::string_view name, layer_settings const& settings, source at, int owner) {
  node made;
  made.kind = &kind;
  made.first_value = static_cast<int>(values_.size());
  made.first_input = static_cast<int>(edges_.size());
  made.input_count = static_cast<int>(inputs.size());
  made.settings = settings;
  made.at = at;
  infer(made, values, inputs);
  give_name(made, name);
  values_.insert(values_.end(), values, values + kind.slots);
  edges_.insert(edges_.end(), inputs.begin(), inputs.end());
  nodes_.push_back(made);
  int const id = static_cast<int>(nodes_.size()) - 1;
  if (owner >= 0 || !settings.shares.empty()) share_parameters(id, owner);
  return id;
}

/// Makes node `id` use another's parameters.
constexpr void builder::share_parameters(int id, int owner) {
  if (problem_.found()) return;
  graph_view const recorded = view();
  node& made = nodes_[static_cast<std::size_t>(id)];
  for (int other = 0; other < id && owner < 0; ++other)
    if (recorded[other].name_size > 0 && recorded.given_name(other) == made.settings.shares) owner = other;
  auto const refuse = [&](char const* sentence) {
    report({.sentence = sentence, .layer = made.kind->name.data(), .at = made.at});
  };
  if (owner < 0) return refuse("no layer before this one was given the name that it shares parameters with");
  owner = recorded.owner(owner);
  if (made.settings.weights || made.settings.bias)
    return refuse("a layer that shares parameters has no initialisers of its own");
  parameter_list const own = recorded.parameters(id), theirs = recorded.parameters(owner);
  bool same = own.count == theirs.count && own.count > 0;
  for (int p = 0; same && p < own.count; ++p) {
    auto const &a = own.specs[static_cast<std::size_t>(p)], &b = theirs.specs[static_cast<std::size_t>(p)];
    if (!is_trained(a.role)) return refuse("a layer with running statistics cannot share parameters");
    same = a.role == b.role && a.dims == b.dims;
  }
  if (!same)
    return report({.sentence = "layers that share parameters have parameters of the same shapes",
                   .layer = made.kind->name.data(),
                   .at = made.at,
                   .shapes = {labelled_shape{"parameters", own.count > 0 ? own.specs[0].dims : shape{}},
                              labelled_shape{"shared", theirs.count > 0 ? theirs.specs[0].dims : shape{}}}});
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
      return refuse(id, "the network returns this tensor, but another layer reads it: return only what no layer reads");
    if (use[id] == declared) return refuse(id, "the network returns this tensor twice");
    if (nodes_[id].kind->role == layer_role::input) return refuse(id, "the network returns an input");
    use[id] = declared;
  }
  for (std::size_t id = 0; id < use.size(); ++id)
    if (use[id] == unread)
      return refuse(id, "nothing reads this tensor and the network does not return it: use, return or remove it");
  outputs_.assign(ids.begin(), ids.end());
}

constexpr void builder::settle_order() {
  graph_view const recorded = view();
  if (outputs_.empty()) outputs_ = recorded.outputs();
  std::vector<int> order, place(nodes_.size(), -1), waiting;
  auto const settle = [&](int id) {
    place[static_cast<std::size_t>(id)] = static_cast<int>(order.size());
    order.push_back(id);
  };
  for (int id : recorded.with_role(layer_role::input)) settle(id);
  for (int sink : outputs_) {
    waiting.push_back(sink);
    while (!waiting.empty()) {
      int const id = waiting.back();
      int missing = -1;
      for (int from : recorded.inputs(id))
        if (missing < 0 && place[static_cast<std::size_t>(from)] < 0) missing = from;
      if (missing >= 0) {
        waiting.push_back(missing);
        continue;
      }
      if (place[static_cast<std::size_t>(id)] < 0) settle(id);
      waiting.pop_back();
    }
  }
  std::vector<node> nodes;
  std::vector<int> edges;
  nodes.reserve(nodes_.size());
  edges.reserve(edges_.size());
  for (int id : order) {
    node moved = recorded[id];
    moved.first_input = static_cast<int>(edges.size());
    moved.ordinal = 1;
    for (std::size_t before = nodes.size(); before-- > 0 && moved.ordinal == 1;)
      if (*nodes[before].kind == *moved.kind) moved.ordinal = nodes[before].ordinal + 1;
    for (int from : recorded.inputs(id)) edges.push_back(place[static_cast<std::size_t>(from)]);
    if (moved.shares >= 0) moved.shares = place[static_cast<std::size_t>(moved.shares)];
    nodes.push_back(moved);
  }
  nodes_ = std::move(nodes);
  edges_ = std::move(edges);
  check_names();
}

constexpr bool builder::right_number_of_inputs(node const& made) {
  int const most = made.kind->max_inputs;
  if (made.input_count <= most && (most == 0 || made.input_count > 0)) return true;
  report({.sentence = "this layer takes another number of inputs",
          .layer = made.kind->name.data(),
          .at = made.at,
          .shapes = {labelled_number("inputs", made.input_count), labelled_number("at most", most)}});
  return false;
}

constexpr void builder::infer(node& made, double const* values, std::span<int const> inputs) {
  if (problem_.found() || !right_number_of_inputs(made)) return;
  std::vector<shape> shapes(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    node const& from = nodes_[static_cast<std::size_t>(inputs[i])];
    shapes[i] = from.output;
    if (from.kind->role == layer_role::loss)
      return report({.sentence = "a loss is the end of its branch: no layer can read it",
                     .layer = made.kind->name.data(),
                     .at = made.at,
                     .shapes = {labelled_shape{"loss", from.output}}});
  }
  inference const result = made.kind->infer(values, shapes);
  made.output = result.output;
  if (!result.problem.found()) return;
  problem_ = result.problem;
  problem_.layer = made.kind->name.data();
  problem_.at = made.at;
  if (inputs.size() < 2) return;
  problem_.operands[0] = nodes_[static_cast<std::size_t>(inputs[0])].at;
  for (std::size_t i = shapes.size(); i-- > 1;)
    if (shapes[i] == problem_.shapes[1].value)
      problem_.operands[1] = nodes_[static_cast<std::size_t>(inputs[i])].at;
}

constexpr void builder::give_name(node& made, std::string_view name) {
  made.first_character = static_cast<int>(characters_.size());
  made.name_size = static_cast<int>(name.size());
  characters_.insert(characters_.end(), name.begin(), name.end());
}

/// Given names differ from each other and from the generated ones, which depend on the settled order.
constexpr void builder::check_names() {
  graph_view const settled = view();
  for (int id = 0; id < settled.size(); ++id) {
    if (settled[id].name_size == 0) continue;
    for (int other = 0; other < settled.size(); ++other) {
      if (other == id || !settled.has_name(other, settled.given_name(id))) continue;
      bool const other_came_later = other > id && settled[other].name_size > 0;
      int const at_fault = other_came_later ? other : id;
      return report({.sentence = "another layer has this name already",
                     .layer = settled.kind(at_fault).name.data(),
                     .at = settled[at_fault].at,
                     .shapes = {labelled_number("layer", at_fault),
                                labelled_number("as layer", id + other - at_fault)}});
    }
  }
}

}  // namespace cohort
