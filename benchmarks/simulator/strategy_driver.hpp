// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cohort/random/stream.hpp>
#include <cohort/training/detail/worker_group.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "../backend_handles.hpp"
#include "../trained_network.hpp"

namespace benchmarks {

/// Functions that replace the compute of a part of a step, and the call of a strategy's hook.
struct step_actions {
  std::function<void(double seconds)> compute;
  std::function<void(std::function<void()> const&)> call_hook;
};

/// Calls the hooks of a strategy in the order of a step, without forward, backward and update. The gradients
/// are drawn once from the normal distribution, and are rotated in each step.
///
/// Units     `step_seconds`: time of forward and backward. Backward takes twice as long as forward; a bucket
///           is ready when backward has passed its layers, in proportion to their FLOPs. `seed`: seed of the
///           gradients.
/// Before    the backend's parameters are f32.
class strategy_driver {
 public:
  strategy_driver(trained_network const& what, handle_maker backend, std::uint64_t seed, int ranks,
                  std::unique_ptr<cohort::strategy> exchange, double step_seconds, step_actions how)
      : settings_{.optimizer = {.rule = what.rule, .l2 = what.l2}, .workers = 1},
        workers_(backend(what.net, settings_), settings_, std::chrono::seconds(120)),
        strategy_(std::move(exchange)),
        ranks_(ranks),
        step_seconds_(step_seconds),
        how_(std::move(how)) {
    plan_ = workers_.plan_for({.examples = 1});
    update_ = std::make_unique<cohort::parameter_update>(parameters(), settings_.optimizer);
    gradient_.resize(static_cast<std::size_t>(parameters().elements()));
    cohort::random_stream const drawn(seed, "gradient");
    for (std::size_t i = 0; i < gradient_.size(); ++i) drawn_.push_back(drawn.normal(i));
    find_backward_shares(what.net);
    strategy_->set_workers(1);
  }

  /// Makes a step.
  void step(std::int64_t number) {
    cohort::step_info const now{.step = number, .examples = 1, .weight = 1, .expected = ranks_};
    cohort::replica const mine{parameters(), *update_};
    bool const exchanges_gradients = strategy_->what() == cohort::exchanged::gradient;
    how_.call_hook([&] { strategy_->begin(now, mine); });
    bool updates = true;
    if (exchanges_gradients) {
      rotate_gradient(number);
      how_.compute(step_seconds_ / 3);
      for (cohort::bucket const& one : parameters().buckets()) {
        how_.compute(step_seconds_ * 2 / 3 * shares_[static_cast<std::size_t>(one.index)]);
        how_.call_hook([&] { strategy_->ready(now, one, gradients()); });
      }
      how_.compute(step_seconds_ * 2 / 3 * shares_.back());
      how_.call_hook([&] { updates = strategy_->before_update(now, gradients()); });
    } else {
      how_.compute(step_seconds_);
    }
    how_.call_hook([&] { strategy_->after_update(now, mine, updates); });
  }

 private:
  cohort::parameter_set& parameters() { return *workers_.backend().parameters; }
  cohort::gradient_parts& gradients() { return workers_.gradients(); }

  /// Rotates the gradient, so that each step sends other elements than the preceding step.
  void rotate_gradient(std::int64_t step) {
    auto const distance = static_cast<std::size_t>(7919 * (step + 1)) % drawn_.size();
    std::ranges::rotate_copy(drawn_, drawn_.begin() + static_cast<std::ptrdiff_t>(distance),
                             gradient_.begin());
    parameters().write_all(reinterpret_cast<std::byte const*>(gradient_.data()), gradients().first());
  }

  /// Computes the share of backward before each bucket is ready, and after the last bucket.
  void find_backward_shares(cohort::graph_view net) {
    double all = 0;
    for (int id = 0; id < net.size(); ++id) all += net.flops(id);
    int passed = net.size();  // layers from this one on are complete
    auto const pass_to = [&](int first) {
      double flops = 0;
      for (int id = first; id < passed; ++id) flops += net.flops(id);
      passed = std::min(passed, first);
      shares_.push_back(flops / all);
    };
    for (cohort::bucket const& one : parameters().buckets()) {
      int first = passed;
      for (int p = one.first_parameter; p < one.first_parameter + one.parameters; ++p)
        first = std::min(first, parameters().table()[static_cast<std::size_t>(p)].node);
      pass_to(first);
    }
    pass_to(0);
  }

  cohort::training_settings settings_;
  cohort::detail::worker_group workers_;
  std::shared_ptr<cohort::plan const> plan_;
  std::unique_ptr<cohort::parameter_update> update_;
  std::unique_ptr<cohort::strategy> strategy_;
  int ranks_;
  double step_seconds_;
  step_actions how_;
  std::vector<float> drawn_, gradient_;
  std::vector<double> shares_;
};

}  // namespace benchmarks
