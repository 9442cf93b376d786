// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>
#include <cstddef>
#include <string>
#include <vector>

namespace cohort {

/// What training does not keep from forward to backward, but makes again when backward first reads it: less memory for more
/// work. The field's names are activation checkpointing and rematerialisation.
///
/// `cheap`   what layers make that are bound by memory: norms, activations, sums, pools, masks, joins. Of these, so much that the
///           least bytes are kept, and nothing runs again that moves more than `moved_for_a_byte` bytes for each byte saved.
/// `blocks`  layers by name, or by the beginning of their names ("stage_2_*"), each row a block: all that it makes, convolutions
///           included, is made again from what it reads; what other layers read of it is kept. What runs inside another layer's
///           kernel goes with that layer.
/// Exact     no bit of the result changes: the same kernels read the same numbers again, and masks come from counters.
///           Layers that sum over workers or ranks run once.
/// Errors    setting_error for a row that names no layer, with those that there are.
/// Source    Chen, Xu, Zhang and Guestrin, Training Deep Nets with Sublinear Memory Cost, 2016.
struct recomputation {
  static constexpr double moved_for_a_byte = 8;

  bool cheap = false;
  std::vector<std::string> blocks{};

  bool any() const { return cheap || !blocks.empty(); }
};

/// What recomputation spares a context and what it costs it in a step.
///
/// Units     `bytes_kept_less`: from forward to backward; the arena shrinks by that, less what is made again at its fullest
///           moment. `bytes_moved`: of the tensors of the kernels that run again, each once; `share_of_bytes`: of those of all
///           kernels of a step.
struct recomputation_cost {
  std::size_t bytes_kept_less = 0;
  double bytes_moved = 0;
  double share_of_bytes = 0;
  double flops = 0;
  int kernels = 0;
};

namespace detail {

/// The row of `blocks` that each node belongs to, the first that names it, or −1.
std::vector<int> rows_of_blocks(graph_view net, recomputation const& how);

}  // namespace detail

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/plan/impl/recomputation.ipp>
#endif
