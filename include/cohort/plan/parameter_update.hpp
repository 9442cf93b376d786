// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/optimizer/update_pass.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cohort/plan/running_statistics.hpp>
#include <cstddef>
#include <span>
#include <vector>

namespace cohort {

/// The updater's state and its pass over the parameters, sharded over the workers of a rank.
///
/// Shapes    each state array is an arena of the master's size and layouts.
/// Exact     a shard's bounds are multiples of 16 elements: the number of workers changes no bit here.
class parameter_update {
 public:
  static constexpr std::size_t max_state_arrays = 4;

  parameter_update(parameter_set& parameters, optimizer_settings const& settings)
      : parameters_(parameters),
        settings_(settings),
        updaters_{settings.updater_of(parameter_role::weights), settings.updater_of(parameter_role::biases)},
        isa_(best_isa()) {
    settings.check();
    int const arrays = std::max(updaters_[0].state_arrays(), updaters_[1].state_arrays());
    for (int k = 0; k < arrays; ++k) state_.emplace_back(parameters.arena_bytes());
    reset();
  }

  int state_arrays() const { return static_cast<int>(state_.size()); }
  std::byte* state(int k) const { return state_[static_cast<std::size_t>(k)].data(); }
  std::size_t bytes() const { return state_.size() * parameters_.arena_bytes(); }
  optimizer_settings const& settings() const { return settings_; }
  /// Before    the role is trained.
  updater const& updater_of(parameter_role role) const { return updaters_[static_cast<std::size_t>(role)]; }

  /// Sets every state array to its initial value; padding as well, where no gradient ever comes.
  void reset() {
    by_type([&]<class T>(T*) {
      for (parameter const& p : parameters_.table())
        for (int k = 0; is_trained(p.spec.role) && k < updater_of(p.spec.role).state_arrays(); ++k)
          std::fill_n(state_[static_cast<std::size_t>(k)].template as<T>() + p.offset, p.room,
                      static_cast<T>(updater_of(p.spec.role).initial_state(k)));
    });
  }

  /// Worker's share of one update with the sum of the parts.
  void apply(int worker, int workers, std::span<std::byte* const> parts, std::int64_t step,
             std::int64_t epoch) {
    by_type([&]<class T>(T*) {
      apply_as<T>(worker, workers, parts, step, epoch);
      if (worker == 0) detail::follow_statistics<T>(parameters_, parts);
    });
  }

 private:
  template <class F>
  void by_type(F f) const {
    parameters_.type() == element_type::f64 ? f(static_cast<double*>(nullptr))
                                            : f(static_cast<float*>(nullptr));
  }

  template <class T>
  void apply_as(int worker, int workers, std::span<std::byte* const> parts, std::int64_t step,
                std::int64_t epoch) {
    constexpr std::size_t unit = 16;
    std::size_t const units = parameters_.arena_elements() / unit;
    auto const bound = [&](int w) {
      return units * static_cast<std::size_t>(w) / static_cast<std::size_t>(workers) * unit;
    };
    std::size_t const first = bound(worker), last = bound(worker + 1);
    T const* from[max_parts];
    T* states[max_state_arrays];
    for (parameter const& p : parameters_.table()) {
      std::size_t const begin = std::max(first, p.offset), end = std::min(last, p.offset + p.room);
      if (begin >= end || !is_trained(p.spec.role)) continue;
      updater const& rule = updater_of(p.spec.role);
      penalties const pull = settings_.penalties_of(p.spec.role);
      for (std::size_t part = 0; part < parts.size(); ++part)
        from[part] = reinterpret_cast<T const*>(parts[part]) + begin;
      for (int k = 0; k < rule.state_arrays(); ++k)
        states[k] = state_[static_cast<std::size_t>(k)].template as<T>() + begin;
      update_scalars const now{
          .rate = rule.rate().value(step, epoch), .step = step, .l1 = pull.l1, .l2 = pull.l2};
      apply_update(isa_, rule, now, reinterpret_cast<T*>(parameters_.master()) + begin, from,
                   static_cast<int>(parts.size()), states, end - begin);
    }
  }

 public:
  /// Workers that one update can sum.
  static constexpr std::size_t max_parts = 256;

 private:
  parameter_set& parameters_;
  optimizer_settings settings_;
  std::array<updater, 2> updaters_;
  isa isa_;
  std::vector<buffer> state_;
};

}  // namespace cohort
