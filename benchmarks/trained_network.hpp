// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/graph.hpp>
#include <cohort/optimizer/optimizer_rule.hpp>
#include <string_view>

namespace benchmarks {

/// A network with the optimizer that the benchmarks use for it.
struct trained_network {
  std::string_view name;
  cohort::graph_view net;
  cohort::optimizer_rule rule;
  double l2 = 0;
};

}  // namespace benchmarks
