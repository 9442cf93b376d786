// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/strategy/outer_step.hpp>
#include <cohort/strategy/strategy.hpp>
#include <memory>

namespace cohort {

/// Each rank trains on its own; every `every` steps all take the mean of their parameters, or an outer step towards it.
///
/// Shapes    the canonical flat view, and as many arrays more as updaters remember if `average_updater_state`; as they lie, where
///           that is the same on all ranks, on processors, close together, and nothing but the plain mean is made of what is
///           trained: no constraints, no `overlap`.
/// Units     `every` in steps; if `seconds` > 0 it counts instead: the slowest rank's speed since the last meeting says how
///           many steps that is, the same number on all ranks (the clock then decides the bits).
/// Order     all ranks meet in the same steps, and at the end of each epoch if steps are left: no data is dropped. Where ranks
///           share a stream, one that has run out skips to the next meeting and waits there.
///           `overlap`: a mean is begun at a period's end and applied at the next one's, when its votes are heard too; what was
///           learnt meanwhile is kept. Updaters' states and running statistics are averaged at an epoch's end alone. One rank
///           overlaps nothing.
/// Before    rank r holds w_r. The examples that it has seen since the last meeting weigh m_r together, 1 each where they have
///           no weights.
/// After     all hold g, the outer step towards Σ m_r·w_r / Σ m_r. `overlap`: rank r, which has sent w_r and now holds w, holds
///           g + (w − w_r); at an epoch's end, or when a vote ends the run, all hold g.
/// Moves     as an allreduce of n·(1 + state arrays) + 5 elements in a meeting, of n + 5 with `overlap`; of running variances
///           once more; of 8 bytes more with `seconds`. In the beginning rank 0's arrays once to all.
/// Errors    communicator_error on all ranks if one is lost.
/// Exact     the same bits on every rank after a meeting; `every` 1 with sgd is allreduce, to rounding. With one rank and the
///           plain outer step no bit differs from no strategy. What is frozen keeps its bits; running statistics take no outer
///           step.
/// Source    Deeplearning4j's ParameterAveragingTrainingMaster, which does not weigh. Overlap: Shen et al., CoCoD-SGD, IJCAI
///           2019; the outer step is then from the g before, so that its Δ is what one period has brought.
struct parameter_averaging {
  int every = 5;
  double seconds = 0;
  bool average_updater_state = true;
  outer_step outer{};
  bool overlap = false;

  std::unique_ptr<strategy> on(communicator& world) const;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/parameter_averaging.ipp>
#endif
