// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cohort/random/stream.hpp>
#include <cohort/trainer/detail/worker_group.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "../backend_handles.hpp"
#include "../trained_network.hpp"

namespace benchmarks {

/// What a rank does besides its strategy's hooks. `compute` takes the time of a part of a step; `exchange`
/// calls a hook.
struct pacing {
  std::function<void(double seconds)> compute;
  std::function<void(std::function<void()> const&)> exchange;
};

/// One rank of a training without forward, backward and update: calls the hooks of a strategy in the order of
/// a step, on gradients that are drawn from the normal distribution, independently for each rank and step.
///
/// Units     `step_seconds`: forward and backward. Backward takes twice as long as forward; a bucket is ready
///           when backward has passed its layers, in proportion to their FLOPs.
class rehearsed_rank {
 public:
  rehearsed_rank(trained_network const& what, handle_maker backend, int rank, int ranks,
                 std::unique_ptr<cohort::strategy> exchange, double step_seconds, pacing how)
      : settings_{.updater = what.updater, .l2 = what.l2, .workers = 1},
        workers_(backend(what.net, settings_), settings_, std::chrono::seconds(120)),
        strategy_(std::move(exchange)),
        rank_(rank),
        ranks_(ranks),
        step_seconds_(step_seconds),
        how_(std::move(how)) {
    plan_ = workers_.plan_for({.examples = 1});
    update_ = std::make_unique<cohort::parameter_update>(parameters(), settings_.optimizer());
    gradient_.resize(static_cast<std::size_t>(parameters().elements()));
    cohort::random_stream const drawn(1, "gradient", 0, static_cast<std::uint64_t>(rank));
    for (std::size_t i = 0; i < gradient_.size(); ++i) drawn_.push_back(drawn.normal(i));
    find_backward_shares(what.net);
    strategy_->set_workers(1);
  }

  /// Makes a step.
  void step(std::int64_t number) {
    draw_gradient(number);
    cohort::step_info const now{.step = number, .examples = 1, .weight = 1, .expected = ranks_};
    cohort::replica const mine{parameters(), *update_};
    bool const exchanges_gradients = strategy_->what() == cohort::exchanged::gradient;
    how_.exchange([&] { strategy_->begin(now, mine); });
    bool updates = true;
    if (exchanges_gradients) {
      how_.compute(step_seconds_ / 3);
      for (cohort::bucket const& one : parameters().buckets()) {
        how_.compute(step_seconds_ * 2 / 3 * shares_[static_cast<std::size_t>(one.index)]);
        how_.exchange([&] { strategy_->ready(now, one, gradients()); });
      }
      how_.compute(step_seconds_ * 2 / 3 * shares_.back());
      how_.exchange([&] { updates = strategy_->before_update(now, gradients()); });
    } else {
      how_.compute(step_seconds_);
    }
    how_.exchange([&] { strategy_->after_update(now, mine, updates); });
  }

 private:
  cohort::parameter_set& parameters() { return *workers_.backend().parameters; }
  cohort::gradient_parts& gradients() { return workers_.gradients(); }

  /// Rotates the drawn numbers, which is faster than to draw others.
  void draw_gradient(std::int64_t step) {
    auto const distance = static_cast<std::size_t>(7919 * (step + 1)) % drawn_.size();
    std::ranges::rotate_copy(drawn_, drawn_.begin() + static_cast<std::ptrdiff_t>(distance),
                             gradient_.begin());
    parameters().write_all(reinterpret_cast<std::byte const*>(gradient_.data()), gradients().first());
  }

  /// The share of backward before each bucket is ready, and after the last one.
  void find_backward_shares(cohort::graph_view net) {
    double all = 0;
    for (int id = 0; id < net.size(); ++id) all += net.flops(id);
    int passed = net.size();  // layers from this one on have been passed
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
  int rank_, ranks_;
  double step_seconds_;
  pacing how_;
  std::vector<float> drawn_, gradient_;
  std::vector<double> shares_;
};

}  // namespace benchmarks
