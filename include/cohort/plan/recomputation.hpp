// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>
#include <cstddef>
#include <string>
#include <vector>

namespace cohort {

/// Activation checkpointing (rematerialisation): training does not keep some tensors from forward to
/// backward, but computes them again when backward first reads them. This saves memory and costs additional
/// work.
///
/// `cheap`   recomputes memory-bound layers: norms, activations, sums, pools, masks, joins. The selection
///           minimises the bytes that are kept. A layer is not recomputed if this would move more than
///           `max_bytes_moved_per_byte_saved` bytes for each byte saved.
/// `blocks`  layers by name or by prefix of their names ("stage_2_*"); each row is a block. All results of a
///           block, convolutions included, are recomputed from the block's inputs. Results that other layers
///           read are kept. Operations fused into another layer's kernel belong to that layer.
/// Exact     no bit of the result changes: the same kernels read the same values again, and dropout masks are
///           derived from counters. Layers that sum over workers or ranks run once.
/// Errors    setting_error, with the names of all layers, if a row matches no layer.
/// Source    Chen, Xu, Zhang and Guestrin, Training Deep Nets with Sublinear Memory Cost, 2016.
struct recomputation {
  static constexpr double max_bytes_moved_per_byte_saved = 8;

  bool cheap = false;
  std::vector<std::string> blocks{};

  /// Returns whether any layer may be recomputed.
  bool any() const { return cheap || !blocks.empty(); }
};

/// Memory that recomputation saves in a context, and its cost per step.
///
/// Units     `bytes_saved`: bytes that are not kept from forward to backward. The arena shrinks by these
///           bytes minus the peak memory of recomputed tensors. `bytes_moved`: bytes of the tensors of the
///           kernels that run again, each tensor counted once per kernel. `share_of_bytes`: `bytes_moved`
///           divided by the bytes of the tensors of all kernels of a step.
struct recomputation_cost {
  std::size_t bytes_saved = 0;
  double bytes_moved = 0;
  double share_of_bytes = 0;
  double flops = 0;
  int kernels = 0;
};

namespace detail {

/// Returns, for each node, the index of the first row of `blocks` that matches the node, or −1.
std::vector<int> rows_of_blocks(graph_view net, recomputation const& how);

}  // namespace detail

}  // namespace cohort
