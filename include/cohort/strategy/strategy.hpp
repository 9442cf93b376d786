// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/gradient_parts.hpp>
#include <cstdint>

namespace cohort {

/// Where a run stands when a hook is called.
///
/// Units     `step` counts updates of this rank from 0; `examples` those of this rank in this step.
struct step_info {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  int examples = 0;
};

/// Who agrees with whom and when: the hooks that a training loop calls, in this order in each step.
///
/// begin          the parameters may still change: apply what arrived, wait for stragglers
/// ready          a bucket's gradient is complete on all workers of this rank, while backward still runs below it;
///                called on the thread of the worker that was last, and for several buckets at once where workers end
///                at the same time; `gradients.pack` gives the rank's sum
/// before_update  every bucket was announced; what was exchanged is put back by `gradients.unpack`
/// after_update   the parameters have taken the step
/// abandon        the step ends without an update (a loss or gradient is not finite, a worker threw): what was announced
///                in it is void
/// end_of_epoch   no step is running
///
/// `exchanges`    false: nothing is announced, and the updater itself sums the workers' gradients
///
/// Before    gradients are those of the mean loss over this rank's examples.
class strategy {
 public:
  virtual ~strategy() = default;
  virtual bool exchanges() const { return true; }
  virtual void begin(step_info const&, parameter_set&) {}
  virtual void ready(step_info const&, bucket const&, gradient_parts&) {}
  virtual void before_update(step_info const&, gradient_parts&) {}
  virtual void after_update(step_info const&, parameter_set&) {}
  virtual void abandon(step_info const&) {}
  virtual void end_of_epoch(std::int64_t /*epoch*/, parameter_set&) {}
};

/// Nobody to agree with: one rank.
class no_exchange final : public strategy {
 public:
  bool exchanges() const override { return false; }
};

}  // namespace cohort
