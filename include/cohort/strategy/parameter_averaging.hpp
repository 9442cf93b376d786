// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/strategy/outer_step.hpp>
#include <cohort/strategy/strategy.hpp>
#include <memory>

namespace cohort {

/// Trains each rank independently; every `every` steps all ranks take the mean of their parameters, or an
/// outer step towards the mean.
///
///     P = 4           rank 0    rank 1    rank 2    rank 3
///     step 1             |         |         |         |      each rank trains with its own gradient
///      ...               |         |         |         |
///     step `every`      w_0       w_1       w_2       w_3
///     meeting           <--------- allreduce --------->       Σ m_r·w_r / Σ m_r
///                        g         g         g         g
///     `overlap`       the allreduce is in flight during the next `every` steps
///
/// Shapes    the canonical flat view, and with `average_optimizer_state` one more array per state array of
///           the optimizers. If all ranks have the same layout, in the processor's memory and with padding of
///           at most 1/64, and if there is no outer step, no constraint and no `overlap`, the arrays are
///           averaged in place.
/// Units     `every`: period in steps. If `seconds` > 0, the period has about this duration instead. The
///           speed of the slowest rank in the last period determines the number of steps, which is the same
///           on all ranks. The result's bits then depend on timing.
/// Order     all ranks meet after the same steps. If ranks have trained since the last meeting, all ranks
///           also meet at an epoch's end, so that every example counts. If ranks share a stream, a rank whose
///           part has ended skips to the next meeting and waits there. With `overlap`, the allreduce of a
///           mean starts at a period's end. The mean and its votes are applied at the end of the next period;
///           the steps in between are kept. With `overlap`, optimizers' states and running statistics are
///           averaged only at an epoch's end. For a single rank, `overlap` has no effect.
/// Before    rank r has the parameters w_r. The examples that rank r has seen since the last meeting have the
///           total weight m_r (the number of examples without weights).
/// After     all ranks have g, the result of the outer step with the mean Σ m_r·w_r / Σ m_r. With `overlap`,
///           rank r sends w_r and trains further to w; after the exchange, rank r has g + (w − w_r). At an
///           epoch's end, or when a vote ends the run, all ranks have g.
/// Moves     per meeting, an allreduce of n·(1 + number of averaged state arrays) + 5 elements; with
///           `overlap`, of n + 5 elements. Networks with running statistics need two more allreduces, as
///           merge_statistics. `seconds` needs an allreduce of 8 bytes. At the start of a new run, rank 0's
///           arrays are broadcast.
/// Errors    communicator_error on all ranks if a rank is lost.
/// Exact     the same bits on every rank after a meeting. `every` 1 with sgd equals allreduce, up to
///           rounding. With one rank, the plain outer step and examples without weights, the result is
///           bitwise equal to training without a strategy. Frozen parameters keep their bits; running
///           statistics have no outer step, and are merged in f64: the mean of the variances plus the
///           variance of the means.
/// Source    Deeplearning4j's ParameterAveragingTrainingMaster, which does not weight by examples. Overlap:
///           Shen et al., CoCoD-SGD, IJCAI 2019; the outer step then starts from the previous g, so that its
///           Δ is the progress of one period.
struct parameter_averaging {
  int every = 5;
  double seconds = 0;
  bool average_optimizer_state = true;
  outer_step outer{};
  bool overlap = false;

  /// Returns the strategy of this rank.  Order: collective.  Errors: setting_error for an invalid setting.
  std::unique_ptr<strategy> on(communicator& world) const;
};

}  // namespace cohort
