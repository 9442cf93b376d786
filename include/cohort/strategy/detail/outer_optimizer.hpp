// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/replica.hpp>
#include <cohort/strategy/outer_step.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>

namespace cohort::detail {

/// Calls f(first element, number of elements) for each trained parameter, in the dense canonical view.
template <class F>
void for_each_trained(parameter_set const& parameters, F f) {
  for (parameter const& p : parameters.table())
    if (p.trains()) f(static_cast<std::size_t>(p.first), static_cast<std::size_t>(p.spec.dims.elements()));
}

/// State of the outer step: the parameters after the last meeting, and the velocity. All ranks have the same
/// state.
///
/// Shapes    two dense arrays of the canonical view; none if the outer step is the plain mean.
/// Exact     each element is computed in double and rounded once. Parameters that are not trained are
///           unchanged.
class outer_optimizer {
 public:
  explicit outer_optimizer(outer_step how) : how_(how) {}
  outer_optimizer copy() const;

  /// Sets the start of the next outer step to the replica's parameters, which are the same on all ranks.
  /// Discards the state of a checkpoint that has another type or size.
  void start_from(replica const& mine);
  /// Returns whether the state has the type and size of the replica.
  bool fits(replica const& mine) const;

  /// Returns the parameters after the last meeting.
  elements reference() const;

  /// Replaces the mean of all ranks' parameters with the result of the outer step.  Before: fits.
  void step(parameter_set const& parameters, std::byte* mean);

  void save(strategy_state& all) const;
  void restore(strategy_state const& saved);

 private:
  outer_step how_;
  element_type type_ = element_type::f32;
  buffer before_;
  buffer velocity_;
};

}  // namespace cohort::detail
