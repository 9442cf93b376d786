// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/graph.hpp>
#include <cohort/optimizer/updater.hpp>
#include <string_view>

namespace benchmarks {

/// A network with its updater, as benchmarks train it.
struct trained_network {
  std::string_view name;
  cohort::graph_view net;
  cohort::updater updater;
  double l2 = 0;
};

}  // namespace benchmarks
