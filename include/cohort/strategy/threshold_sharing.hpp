// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/residual_policy.hpp>
#include <cohort/codec/threshold_policy.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/strategy/process_group.hpp>
#include <cohort/strategy/sharing_route.hpp>
#include <cohort/strategy/sharing_settings.hpp>
#include <memory>

namespace cohort {

/// Ranks send of their gradients what has grown to a threshold, as a sign each, and keep the rest for later steps.
///
///     r += x    s = ±t where |r| ≥ t, else 0    r −= s
///
/// Units     thresholds are those of what is shared: a gradient, or a step. `per_parameter`: each tensor has its own.
/// Where arenas lie on a device that has threshold_device, gradients and residuals stay there: messages alone come to the
/// processor. The exceptions are the dense beginning, ranks that write one message together, and `unbounded`.
/// Moves     a message takes 96 bytes, 8 for 65,536 elements, 2 a threshold, and about n·H(d) + d·n bits at density d.
/// Errors    setting_error for a policy that makes no sense. All else is as sharing_by says.
/// Source    Strom, Interspeech 2015; Deeplearning4j's gradient sharing.
struct threshold_sharing {
  threshold_policy threshold = threshold::quantile{};
  residual_policy residual = residual::none{};
  bool per_parameter = false;
  cohort::share share = share::gradient;
  bool mean = false;
  int warm_up = 0;
  int sync_buffers = 0;
  route way = route::by_size;
  cohort::group group = group::process;
  int max_staleness = 0;
  bool slower_if_stale = false;

  std::unique_ptr<strategy> on(communicator& world) const;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/threshold_sharing.ipp>
#endif
