// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/builder.hpp>
#include <string>
#include <utility>
#include <vector>

namespace cohort {

/// A network that owns its parts, made at run time or from a `network<F>()`. Immutable once made.
///
/// Errors    graph_error with the finding's sentence if the network is not well formed.
class graph {
 public:
  /// Runs a builder function, as `network<F>()` does at compile time. The function may return nothing: then every layer that no
  /// other layer reads is an output.
  template <std::invocable<builder&> F>
  static graph build(F&& describe) {
    builder net;
    detail::describe_with(describe, net);
    return graph(std::move(net));
  }

  /// Of a builder that declares no outputs, every layer that no other layer reads is one.
  explicit graph(builder net) {
    if (!net.problem_.found()) net.settle_order();
    if (net.problem_.found())
      throw graph_error({.what = {"the network is not well formed: ", net.problem_.text().view()}});
    if (net.nodes_.empty()) throw graph_error({.what = "the network has no layers"});
    nodes_ = std::move(net.nodes_);
    values_ = std::move(net.values_);
    edges_ = std::move(net.edges_);
    characters_ = std::move(net.characters_);
  }

  explicit graph(graph_view parts)
      : nodes_(parts.nodes.begin(), parts.nodes.end()),
        values_(parts.values.begin(), parts.values.end()),
        edges_(parts.edges.begin(), parts.edges.end()),
        characters_(parts.characters.begin(), parts.characters.end()) {}

  graph_view view() const { return {nodes_, values_, edges_, characters_}; }
  operator graph_view() const { return view(); }

  std::int64_t parameter_count() const { return view().parameter_count(); }
  std::uint64_t hash() const { return view().hash(); }

 private:
  std::vector<node> nodes_;
  std::vector<double> values_;
  std::vector<int> edges_;
  std::vector<char> characters_;
};

}  // namespace cohort
