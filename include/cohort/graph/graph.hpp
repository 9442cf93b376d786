// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/builder.hpp>
#include <cohort/graph/detail/describe_network.hpp>
#include <utility>
#include <vector>

namespace cohort {

/// A network that owns its storage. Built at run time or from a `network<F>()`; immutable.
///
/// Errors    graph_error with the text of the finding if the network is not well formed or has no layers.
class graph {
 public:
  /// Runs a builder function, as `network<F>()` does at compile time. The function returns the outputs. If it
  /// returns nothing, the outputs are all layers that no other layer reads.
  template <std::invocable<builder&> F>
  static graph build(F&& describe) {
    builder net;
    detail::describe_with(describe, net);
    return graph(std::move(net));
  }

  /// Takes ownership of a builder's nodes. If the builder declares no outputs, the outputs are all layers
  /// that no other layer reads.
  explicit graph(builder net);

  /// Copies a network that is well formed and in canonical order.
  explicit graph(graph_view parts);

  graph_view view() const { return {nodes_, values_, edges_, characters_}; }
  operator graph_view() const { return view(); }

  /// Number of trained elements: see graph_view::parameter_count.
  std::int64_t parameter_count() const { return view().parameter_count(); }
  /// Hash of everything in the network that determines training: see graph_view::hash.
  std::uint64_t hash() const { return view().hash(); }

 private:
  std::vector<node> nodes_;
  std::vector<double> values_;
  std::vector<int> edges_;
  std::vector<char> characters_;
};

}  // namespace cohort
