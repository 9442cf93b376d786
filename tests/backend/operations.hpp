// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/graph.hpp>
#include <span>

#include "operations/attention.hpp"
#include "operations/basic.hpp"
#include "operations/elementwise.hpp"
#include "operations/losses.hpp"
#include "operations/normalisations.hpp"
#include "operations/recurrent.hpp"
#include "operations/sequences.hpp"
#include "operations/windows.hpp"

/// The table of operations. The conformance of backends (ladder.hpp) and the gradient check iterate over it.
/// A new operation is one more row in the family of its layer.
namespace operations {

inline constexpr std::span<row const> families[]{basic,          elementwise, losses,    windows,
                                                 normalisations, sequences,   recurrent, attention_layers};

template <class Visit>
void each_row(Visit visit) {
  for (std::span<row const> const family : families)
    for (row const& r : family) visit(r);
}

/// The row's network. For training, a row without a loss gets a dense layer and a loss at the end.
inline graph network_of(row const& r, std::uint64_t seed, bool training) {
  return graph::build([&](builder& net) {
    draw d(seed);
    tensor const made = r.body(net, d);
    if (!training || net.view().kind(made.id()).role == layer_role::loss) return;
    tensor const flat = net.view()[made.id()].output.rank == 2 ? made | flatten{} : made;
    flat | dense{.units = 5} | softmax_cross_entropy{};
  });
}

}  // namespace operations
