// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/plan/arena_sums.hpp>
#include <cohort/plan/gradient_parts.hpp>
#include <cohort/plan/parameter_rules.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace cohort {

/// The updaters' state and their pass over the parameters, sharded over the workers of a rank.
///
/// Shapes    each state array is an arena of the master's size and layouts.
/// Order     take does it all; apart: for each phase of phases(workers) every worker calls measure, and all wait for each
///           other before they go on; then apply; and where constrains(workers), all wait again and call constrain.
/// Errors    setting_error where a row names no layer, or freezes one that parameter_set::freeze has not.
/// Exact     a shard's bounds are multiples of 16 elements, and a tensor is constrained by one worker: their number changes no
///           bit here.
class parameter_update {
 public:
  parameter_update(parameter_set& parameters, optimizer_settings const& settings);

  int state_arrays() const { return static_cast<int>(state_.size()); }
  std::byte* state(int k) const { return state_[static_cast<std::size_t>(k)]; }
  std::size_t bytes() const;
  optimizer_settings const& settings() const { return settings_; }
  parameter_rules const& rules() const { return rules_; }

  /// A factor on all rates from now on: plateau::factor.
  void scale_rates(double factor) { rate_factor_ = factor; }

  /// Sets every state array to its initial value; padding as well, where no gradient ever comes.
  void reset();

  /// Worker's share of one update with the sum of the parts; wait() returns when every worker has called it as often. Of some
  /// parameters alone only where that comes_apart.
  template <class Wait>
  void take(int worker, int workers, std::span<std::byte* const> parts, std::int64_t step, std::int64_t epoch,
            Wait wait, parameter_range const& which = {}) {
    for (int phase = 0; phase < phases(workers); ++phase) {
      measure(phase, worker, workers, parts, step, epoch);
      wait();
    }
    apply(worker, workers, parts, step, epoch, which);
    if (!constrains(workers)) return;
    wait();
    constrain(worker, workers);
  }

  /// Whether parameters can be updated at different times: no norm of whole tensors is measured and no constraint held.
  bool comes_apart() const { return rounds() == 0 && !has_constraints(); }

  /// How many rounds of norms of whole tensors must be measured before apply: of gradients, then of steps. None by one
  /// worker, whose apply measures itself.
  int phases(int workers) const { return workers == 1 ? 0 : rounds(); }

  /// Worker's share of one of them.
  void measure(int phase, int worker, int workers, std::span<std::byte* const> parts, std::int64_t step,
               std::int64_t epoch);

  /// Worker's share of the updaters' pass.
  void apply(int worker, int workers, std::span<std::byte* const> parts, std::int64_t step,
             std::int64_t epoch, parameter_range const& which = {});

  bool has_constraints() const { return !constrained_.empty(); }
  /// Whether parameters must be held to constraints after apply. Not by one worker, whose apply does it.
  bool constrains(int workers) const { return workers > 1 && has_constraints(); }

  /// Worker's share of that.
  void constrain(int worker, int workers);
  /// The same for dense canonical elements of all parameters: of a mean that nobody has taken yet.
  void constrain(std::byte* dense) const;

 private:
  using scope = gradient_normalisation::scope;

  int rounds() const { return step_squares_ ? 2 : gradient_squares_ ? 1 : 0; }

  bool needs(detail::norm_of norm) const;

  void require_frozen() const;

  void measure_gradients(int worker, int workers, std::span<std::byte* const> parts);

  void measure_steps(int worker, int workers, std::span<std::byte* const> parts, std::int64_t step,
                     std::int64_t epoch);

  double factor_of_all() const;
  /// The factor that normalises parameter p's gradient; `whole` is that of the whole network.
  double factor(std::size_t p, double whole) const;

  /// All but the norms that the updater may need.
  update_scalars scalars(std::size_t p, double whole, std::int64_t step, std::int64_t epoch) const;

  void apply_rules(int worker, int workers, std::span<std::byte* const> parts, std::int64_t step,
                   std::int64_t epoch, parameter_range const& which);

  /// A tensor with a constraint, and its place among the dense ones.
  struct constrained {
    int p;
    std::int64_t first;
  };
  template <class T>
  void constrain_as(constrained const& one) {
    T* const w = dense_.template as<T>() + one.first;
    auto* const bytes = reinterpret_cast<std::byte*>(w);
    parameters_.read(one.p, parameters_.master(), bytes);
    hold<T>(one.p, w);
    parameters_.write(one.p, bytes, parameters_.master());
  }
  template <class T>
  void hold(int p, T* w) const {
    shape const& dims = parameters_.table()[static_cast<std::size_t>(p)].spec.dims;
    apply_constraint<T>(rules_[static_cast<std::size_t>(p)].constraint,
                        {w, static_cast<std::size_t>(dims.elements())}, static_cast<std::size_t>(dims[0]));
  }

 public:
  /// Workers that one update can sum.
  static constexpr std::size_t max_parts = gradient_parts::max_parts;

 private:
  parameter_set& parameters_;
  arena_passes& passes_;
  optimizer_settings settings_;
  parameter_rules rules_;
  double rate_factor_ = 1;
  std::vector<buffer> arrays_;
  std::vector<std::byte*> state_;  // where they lie
  std::optional<arena_sums> gradient_squares_;
  std::optional<arena_sums> step_squares_;
  std::optional<arena_sums> parameter_squares_;
  std::vector<constrained> constrained_;
  buffer dense_;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/plan/impl/parameter_update.ipp>
#endif
