// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/data/batch_view.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/plan/detail/loss_divisor.hpp>
#include <cohort/plan/plan.hpp>
#include <cohort/tensor/element.hpp>
#include <cohort/tensor/view.hpp>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort::detail {

/// Sums the losses of a network over examples at inference. Plans do not compute losses at inference; the
/// loss layers' kernels for the processor compute them from the layers' inputs.
///
/// Errors    data_error if a target is out of range; shape_error.
class loss_meter {
 public:
  loss_meter(graph_view net, element_type type) : net_(net), divisor_(net), type_(type) {}

  /// The nodes that the losses read. `add` needs their outputs in this order.
  std::vector<int> layers() const;
  /// Adds the examples of a batch from row `first` on. Output `offset + i` of `done` belongs to layers()[i].
  void add(batch_view const& from, std::int64_t first, plan_context const& done, int offset = 0);

  /// Weighted mean over the examples of all ranks, the same on every rank; NaN without examples, or if a loss
  /// layer has no kernel for the processor.   Order  collective.
  double mean(communicator& world) const;

 private:
  template <class T>
  double sum_of(int loss, std::size_t which, std::span<tensor_view const> inputs,
                batch_view const& part) const;

  graph_view net_;
  loss_divisor divisor_;
  element_type type_;
  double loss_ = 0, weight_ = 0;
};

}  // namespace cohort::detail
