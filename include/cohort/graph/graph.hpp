// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/builder.hpp>
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
  explicit graph(builder net);

  explicit graph(graph_view parts);

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

#ifndef COHORT_CORE_COMPILED
#include <cohort/graph/impl/graph.ipp>
#endif
