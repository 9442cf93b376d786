// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/replica.hpp>
#include <cohort/strategy/outer_step.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>

namespace cohort::detail {

/// What f(first element, elements) is told of each parameter that is trained, in the dense canonical view.
template <class F>
void for_each_trained(parameter_set const& parameters, F f) {
  for (parameter const& p : parameters.table())
    if (p.trains()) f(static_cast<std::size_t>(p.first), static_cast<std::size_t>(p.spec.dims.elements()));
}

/// Where all ranks met last, and the velocity of their outer steps: the same on every rank.
///
/// Shapes    two dense arrays of the canonical view; none where the step is the mean itself.
/// Exact     an element is computed in double and rounded once. What is not trained is left as it is.
class outer_optimizer {
 public:
  explicit outer_optimizer(outer_step how) : how_(how) {}
  outer_optimizer copy() const;

  /// Ranks agree, and the next outer step is one from here. What a checkpoint of other elements had is forgotten.
  void start_from(replica const& mine);
  /// Whether an outer step can be taken.
  bool fits(replica const& mine) const;

  elements reference() const;

  /// The mean becomes what ranks go on from.  Before: fits.
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

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/outer_optimizer.ipp>
#endif
