// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/error/exceptions.hpp>
#include <cohort/plan/gradient_parts.hpp>
#include <cohort/plan/parameter_update.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/trainer/settings.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cohort::detail {

/// The buckets, from the first one on, whose sums may end while the next forward runs: those of the last layers that have half of
/// what is exchanged, or more. 0: none, where the first layer would be among them, which forward needs at once; where arenas
/// lie on a device; where the update does not come apart; where steps are left out as a whole; and where layers sum over the
/// batch, between barriers of their own.
inline int late_buckets(parameter_set const& parameters, parameter_update const& update,
                        when_not_finite otherwise, bool synchronised) {
  std::span<bucket const> const all = parameters.buckets();
  if (all.empty() || parameters.passes().space() || !update.comes_apart() || synchronised
      || otherwise == when_not_finite::skip)
    return 0;
  std::int64_t whole = 0, late = 0;
  for (bucket const& one : all) whole += one.elements;
  std::size_t count = 0;
  while (2 * late < whole) late += all[count++].elements;
  return count < all.size() ? static_cast<int>(count) : 0;
}

/// The rest of a step whose strategy has left buckets under way: what is to be done before their parameters are used.
class late_update {
 public:
  late_update() = default;  ///< nothing
  late_update(strategy& agree, int buckets, gradient_parts& gradients, parameter_update& update,
              step_info const& now)
      : agree_(&agree),
        gradients_(&gradients),
        update_(&update),
        step_(now.step),
        epoch_(now.epoch),
        which_{.first =
                   gradients.parameters().buckets()[static_cast<std::size_t>(buckets - 1)].first_parameter} {}

  explicit operator bool() const { return agree_ != nullptr; }
  strategy& agree() const { return *agree_; }
  int first_parameter() const { return which_.first; }
  /// Those that have taken the step.
  parameter_range early() const { return agree_ ? parameter_range{.last = which_.first} : parameter_range(); }

  /// Worker's share; wait() returns when every worker has called it as often. `waited`: worker 0 adds the seconds that it waits for
  /// other ranks.
  ///
  /// After     these parameters have taken the step, and training's copies of them are fresh.
  /// Errors    those of the strategy; numeric_error where a sum is not finite though its terms were: on all ranks alike.
  template <class Wait>
  void take(parameter_set& parameters, int worker, int workers, double& waited, Wait wait) const {
    if (worker == 0) {
      auto const begin = std::chrono::steady_clock::now();
      agree_->finish_pending(*gradients_);
      waited += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      require_finite(parameters);
    }
    wait();
    update_->take(worker, workers, gradients_->all(), step_, epoch_, wait, which_);
    wait();
    parameters.refresh(worker, workers, which_);
    wait();
  }

 private:
  void require_finite(parameter_set const& parameters) const {
    std::size_t const first = parameters.place_of(which_.first);
    if (!parameters.passes().finite(parameters.type(),
                                    gradients_->first() + first * bytes_of(parameters.type()),
                                    parameters.arena_elements() - first))
      throw numeric_error({.what = "a gradient is not finite",
                           .where = {"step ", step_, ", epoch ", epoch_, ", in the sum over the ranks"},
                           .expected = "finite numbers; a smaller learning rate",
                           .got = "NaN or infinity"});
  }

  strategy* agree_ = nullptr;
  gradient_parts* gradients_ = nullptr;
  parameter_update* update_ = nullptr;
  std::int64_t step_ = 0;
  std::int64_t epoch_ = 0;
  parameter_range which_{};
};

}  // namespace cohort::detail
