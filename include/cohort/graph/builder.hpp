// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>
#include <cohort/layer/detail/built_in_layers.hpp>
#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace cohort {

class tensor;

/// Records the layers of a network, and the first mistake in these layers. Works at compile time and at run
/// time.
///
/// Order     a node's inputs are recorded before the node.
/// Errors    throws nothing: `problem()` returns the first mistake, after which shape inference stops.
class builder {
 public:
  /// Adds an input of the network: a tensor that every batch provides. `extents` excludes the batch: {1, 28,
  /// 28}.
  constexpr tensor input(shape extents, std::string_view name = {}, source_line at = source_line::here());
  /// Adds an input whose examples have different numbers of steps, at most T. `extents`: T×C, or T for
  /// indices. A batch pads each example to T steps and provides a mask for the input.
  constexpr tensor masked_input(shape extents, std::string_view name = {},
                                source_line at = source_line::here());
  /// Like masked_input, but a value can mark padding: if a batch has no mask, the steps whose elements all
  /// equal `value` are masked.
  constexpr tensor padded_input(shape extents, double value, std::string_view name = {},
                                source_line at = source_line::here());

  /// Records a node of any kind and returns its id. If the node needs zeros in the padding of a masked input,
  /// records a zero_masked layer before the node.
  ///
  /// Units     `owner`: the node whose parameters the new node uses; −1: the node named by `settings.shares`,
  ///           or the new node itself.
  /// Before    `kind` outlives the graph; `values` has kind.slots elements.
  constexpr int append(kind const& kind, double const* values, std::span<int const> inputs,
                       std::string_view name, layer_settings const& settings, source_line at, int owner = -1);

  /// Replaces the name of a node.
  constexpr void rename(int id, std::string_view name) {
    store_name(nodes_[static_cast<std::size_t>(id)], name);
  }

  /// The nodes recorded so far. Valid until the next call that changes the builder.
  constexpr graph_view view() const {
    // Uses pointers and sizes, because converting a vector to a span needs several times the compile time.
    return {{nodes_.data(), nodes_.size()},
            {values_.data(), values_.size()},
            {edges_.data(), edges_.size()},
            {characters_.data(), characters_.size()}};
  }

  /// The first mistake; problem().found() is false if there is none.
  constexpr finding const& problem() const { return problem_; }
  /// Records a mistake, unless one is recorded already.
  constexpr void report(finding const& mistake) {
    if (!problem_.found()) problem_ = mistake;
  }

  /// Declares the outputs of the network, in order. Without a declaration, the outputs are all layers that no
  /// other layer reads.
  ///
  /// Errors    problem() reports the line of the first wrong tensor. An output must not be an input of the
  ///           network, must not be read by a layer and must not be declared twice. Every other tensor must
  ///           be read.
  constexpr void declare_outputs(std::span<int const> ids);

  /// Sorts the nodes into canonical order: first the inputs, in their recorded order; then, for each output,
  /// the layers that it depends on, operands from left to right. Then checks that names are unique, and that
  /// all losses are means with the same divisor.
  ///
  /// Exact     the canonical order does not depend on the compiler. The recorded order depends on the
  ///           compiler, because C++ does not specify in which order the operands of `a + b` are evaluated.
  ///           With the recorded order, generated names, hashes and initial parameters would differ between
  ///           compilers.
  /// Errors    if two layers have the same name, problem() reports the layer whose name was given; if both
  ///           names were given, the later layer.
  constexpr void sort_nodes();

 private:
  friend class graph;

  constexpr bool check_input_count(node const& made);
  constexpr void infer(node& made, double const* values, std::span<int const> inputs);
  constexpr void derive_mask(node& made, double const* values, std::vector<int>& inputs);
  constexpr void share_parameters(int id, int owner);
  constexpr void store_name(node& made, std::string_view name);
  constexpr void drop_generated_names();
  constexpr void check_names();
  constexpr void check_divisors();

  std::vector<node> nodes_{};
  std::vector<double> values_{};
  std::vector<int> edges_{};
  std::vector<char> characters_{};
  std::vector<int> outputs_{};  // declared outputs; empty: all layers that no other layer reads
  finding problem_{};
};

/// The output of a layer of a network that is being built. `x | layer` and `x | block` append a layer or a
/// block that reads x.
class tensor {
 public:
  constexpr tensor(builder& net, int id) : net_(&net), id_(id) {}
  constexpr int id() const { return id_; }
  /// The shape without the batch extent.
  constexpr shape dims() const { return net_->view()[id_].output; }
  /// The network that the layer belongs to.
  constexpr builder& net() const { return *net_; }

 private:
  builder* net_;
  int id_;
};

/// Appends a layer with several inputs: join(add{.name = "sum"}, a, b).
template <layer L, std::same_as<tensor>... More>
constexpr tensor join(L const& l, tensor first, More... more) {
  static_assert(detail::is_built_in<L> || !detail::is_built_in_name(L::kind_name),
                "cohort: the kind_name of this layer is that of a built-in layer: choose another name");
  int const inputs[]{first.id(), more.id()...};
  auto const values = detail::encode(l);
  return {first.net(),
          first.net().append(kind_of<L>, values.data(), inputs, l.name, detail::settings_of(l), l.at)};
}

/// Appends a layer with one input.
template <layer L>
constexpr tensor operator|(tensor x, L const& l) {
  return join(l, x);
}

/// Never compiles: the error names the first member that `Other` lacks to be a layer.
template <class Other>
requires(!layer<Other> && !std::invocable<Other const&, tensor>) constexpr tensor operator|(tensor x,
                                                                                            Other const&) {
  detail::explain_missing_member<Other>();
  return x;
}

/// Appends a block: any callable from a tensor to a tensor.
template <class Block>
requires(!layer<Block> && std::invocable<Block const&, tensor>) constexpr tensor operator|(
    tensor x, Block const& block) {
  return block(x);
}

/// Rejects `layer | layer` without a tensor before the first layer. Compilers print the declaration of the
/// deleted function, with its comment.
template <layer First, layer Second>
tensor operator|(First const&, Second const&) = delete;  // a network begins with an input: b.input({4}) | ...

// The operators are templates, so that join<add> and join<multiply> are instantiated only where used.

/// Elementwise sum; shapes are broadcast as by `add`.
///
/// Errors    problem() reports the line of the right operand, because an operator cannot have an argument for
///           the source line.
template <std::same_as<tensor> Left>
constexpr tensor operator+(Left a, tensor b) {
  return join(add{.at = b.net().view()[b.id()].at}, a, b);
}
/// Elementwise product; shapes are broadcast as by `multiply`. Errors as for operator+.
template <std::same_as<tensor> Left>
constexpr tensor operator*(Left a, tensor b) {
  return join(multiply{.at = b.net().view()[b.id()].at}, a, b);
}

/// Concatenation along the channels.
///
/// Errors    problem() reports the line of the last operand; for join(concatenate{}, a, b), it reports the
///           line of concatenate{}.
template <std::same_as<tensor>... More>
constexpr tensor concat(tensor first, More... more) {
  int const ids[]{first.id(), more.id()...};
  return join(concatenate{.at = first.net().view()[ids[sizeof...(More)]].at}, first, more...);
}

}  // namespace cohort

#include <cohort/graph/impl/builder.tpp>
