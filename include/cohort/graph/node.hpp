// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cohort/detail/hash.hpp>
#include <cohort/layer/kind.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

namespace detail {

/// Returns the name of a layer without a given name: "conv2d_1".
inline std::string generated_name(kind const& which, int ordinal) {
  return std::string(which.name) + '_' + std::to_string(ordinal);
}

}  // namespace detail

/// One layer of a graph: its kind and its ranges in the pools of the graph (values, edges, characters).
struct node {
  cohort::kind const* kind = nullptr;
  int first_value = 0;  ///< index in `values` of its first encoded field, of kind->slots fields
  int first_input = 0;  ///< index in `edges` of the id of its first input
  int input_count = 0;
  int first_character = 0;  ///< index in `characters` of the beginning of its given name
  int name_size = 0;        ///< 0: no name given
  int ordinal = 1;          ///< position among the nodes of its kind, from 1; part of a generated name
  shape output{};           ///< shape without the batch extent
  int shares = -1;          ///< the node whose parameters this node uses; −1: this node
  int mask = -1;            ///< the node at which the mask of its output begins; −1: no mask
  layer_settings settings{};
  source_line at{};
};

/// A network as a view: nodes in topological order (inputs before their readers) and their pools.
///
/// Before    `id` is a node: 0 ≤ id < size(). The graph or builder must outlive the view, which owns no
///           memory.
struct graph_view {
  std::span<node const> nodes;
  std::span<double const> values;
  std::span<int const> edges;
  std::span<char const> characters;

  constexpr int size() const { return static_cast<int>(nodes.size()); }
  constexpr node const& operator[](int id) const { return nodes[static_cast<std::size_t>(id)]; }
  constexpr cohort::kind const& kind(int id) const { return *(*this)[id].kind; }
  /// The encoded fields of a node: kind(id).slots elements.
  constexpr double const* fields(int id) const { return values.data() + (*this)[id].first_value; }
  /// Ids of the nodes that a node reads, in the order of its operands.
  constexpr std::span<int const> inputs(int id) const {
    return edges.subspan(static_cast<std::size_t>((*this)[id].first_input),
                         static_cast<std::size_t>((*this)[id].input_count));
  }
  constexpr std::vector<shape> input_shapes(int id) const {
    auto const from = inputs(id);
    std::vector<shape> shapes(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) shapes[i] = (*this)[from[i]].output;
    return shapes;
  }

  /// The name given by the user; empty if there is none.
  constexpr std::string_view given_name(int id) const {
    return {characters.data() + (*this)[id].first_character, static_cast<std::size_t>((*this)[id].name_size)};
  }
  /// The given name, or else a generated name of kind and ordinal: "conv2d_1".
  std::string name(int id) const {
    if ((*this)[id].name_size > 0) return std::string(given_name(id));
    return detail::generated_name(kind(id), (*this)[id].ordinal);
  }
  /// Returns whether name(id) == wanted; usable in constant evaluation.
  constexpr bool has_name(int id, std::string_view wanted) const {
    if ((*this)[id].name_size > 0) return given_name(id) == wanted;
    std::string_view const prefix = kind(id).name;
    if (wanted.size() < prefix.size() + 2 || wanted.substr(0, prefix.size()) != prefix) return false;
    fixed_text<16> number;
    number.append("_");
    number.append((*this)[id].ordinal);
    return wanted.substr(prefix.size()) == number.view();
  }
  /// The id of the node with this name, or −1.
  constexpr int find(std::string_view wanted) const {
    for (int id = 0; id < size(); ++id)
      if (has_name(id, wanted)) return id;
    return -1;
  }

  /// Ids of the layers that no other layer reads, in order. Inputs are never outputs.
  constexpr std::vector<int> outputs() const {
    std::vector<char> read(nodes.size(), 0);
    for (int from : edges) read[static_cast<std::size_t>(from)] = 1;
    std::vector<int> sinks;
    for (int id = 0; id < size(); ++id)
      if (!read[static_cast<std::size_t>(id)] && kind(id).role != layer_role::input) sinks.push_back(id);
    return sinks;
  }

  /// Ids of the nodes with this role, in order.
  constexpr std::vector<int> with_role(layer_role role) const {
    std::vector<int> found;
    for (int id = 0; id < size(); ++id)
      if (kind(id).role == role) found.push_back(id);
    return found;
  }

  /// Ids of the nodes at which masks begin, in ascending order. Mask i of a batch belongs to the i-th of
  /// these nodes.
  constexpr std::vector<int> masks() const {
    std::vector<int> found;
    for (int id = 0; id < size(); ++id)
      if ((*this)[id].mask == id) found.push_back(id);
    return found;
  }
  /// The index, among the masks of a batch, of the mask that begins at node `begin`; −1 if `begin` is −1.
  constexpr int mask_number(int begin) const {
    int number = 0;
    for (int id = 0; id < begin; ++id) number += (*this)[id].mask == id ? 1 : 0;
    return begin < 0 ? -1 : number;
  }
  /// Returns the node at which the mask of a node's kernels begins; −1 if there is none. The kernels get the
  /// mask of the node's inputs without the query inputs, whose mask is separate (mask_rule::queries).
  constexpr int input_mask(int id) const {
    std::span<int const> const from = inputs(id);
    for (std::size_t i = from.size(); i-- > 0;)
      if (int const begin = (*this)[from[i]].mask; begin >= 0) {
        auto const shapes = input_shapes(id);
        return static_cast<int>(i) < kind(id).masks(fields(id), shapes).queries ? -1 : begin;
      }
    return -1;
  }
  /// Returns whether a node has readers and all readers have `reads_indices`. Batches may then contain the
  /// node as i32.
  constexpr bool is_indices(int id) const {
    bool is_read = false;
    for (int reader = 0; reader < size(); ++reader)
      for (int from : inputs(reader))
        if (from == id) {
          if (!kind(reader).reads_indices) return false;
          is_read = true;
        }
    return is_read;
  }
  /// The targets that a loss accepts.
  constexpr target_spec target(int loss) const {
    auto const shapes = input_shapes(loss);
    return kind(loss).target(fields(loss), shapes);
  }
  /// The node whose mask selects the steps over which a loss is a mean; −1: the loss is a mean over examples.
  constexpr int averaged_mask(int loss) const {
    if (input_mask(loss) < 0) return -1;
    target_spec const of_loss = target(loss);
    return of_loss.steps > 0 && !of_loss.sums_steps ? input_mask(loss) : -1;
  }
  /// Returns whether a loss is a mean over the targets that it does not ignore.
  constexpr bool averages_targets(int loss) const {
    target_spec const of_loss = target(loss);
    return of_loss.ignores() && !of_loss.sums_steps;
  }

  /// The node whose parameters a node uses: the node itself, unless it shares another node's parameters.
  constexpr int owner(int id) const { return (*this)[id].shares < 0 ? id : (*this)[id].shares; }

  /// The parameters of a node; initialisers in the node's settings replace the kind's initialisers.
  constexpr parameter_list parameters(int id) const {
    auto const shapes = input_shapes(id);
    parameter_list list = kind(id).parameters(fields(id), shapes);
    for (parameter_spec& spec : list.specs) {
      if (!is_trained(spec.role)) continue;
      layer_settings const& settings = (*this)[id].settings;
      auto const& chosen = spec.recurrent                         ? settings.recurrent
                           : spec.role == parameter_role::weights ? settings.weights
                                                                  : settings.bias;
      if (chosen) spec.initial = chosen;
    }
    return list;
  }

  /// Number of trained elements: running statistics do not count, shared parameters count once.
  constexpr std::int64_t parameter_count() const {
    std::int64_t total = 0;
    for (int id = 0; id < size(); ++id) {
      if (owner(id) != id) continue;
      for (parameter_spec const& spec : parameters(id))
        if (is_trained(spec.role)) total += spec.dims.elements();
    }
    return total;
  }

  /// FLOPs of a node in the forward pass of one example. A training step needs about three times as many.
  constexpr double flops(int id) const {
    auto const shapes = input_shapes(id);
    return kind(id).flops(fields(id), shapes);
  }

  /// Hash of everything in the network that determines training: kinds, field values, edges, names,
  /// initialisers and parameter sharing.
  constexpr std::uint64_t hash() const {
    std::uint64_t h = detail::fnv1a("cohort graph 1");
    auto number = [&](double value) {
      auto bits = std::bit_cast<std::uint64_t>(value);
      char bytes[8]{};
      for (char& byte : bytes) {
        byte = static_cast<char>(bits & 0xff);
        bits >>= 8;
      }
      h = detail::fnv1a(std::string_view(bytes, 8), h);
    };
    auto setting = [&](std::optional<initialiser> const& s) {
      number(s ? 1 : 0);
      if (!s) return;
      h = detail::fnv1a(s->name(), h);
      number(s->parameter);
    };
    for (int id = 0; id < size(); ++id) {
      h = detail::fnv1a(given_name(id), detail::fnv1a(kind(id).name, h));
      for (int slot = 0; slot < kind(id).slots; ++slot) number(fields(id)[slot]);
      for (int from : inputs(id)) number(from);
      setting((*this)[id].settings.weights);
      setting((*this)[id].settings.bias);
      if ((*this)[id].settings.recurrent) setting((*this)[id].settings.recurrent);
      if (owner(id) != id) number(owner(id));
    }
    return h;
  }
};

}  // namespace cohort
