// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "backend_handles.hpp"
#include "networks.hpp"
#include "noise_batch.hpp"

#include <chrono>
#include <cohort/training/detail/worker_group.hpp>
#include <cohort/training/run_memory.hpp>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace benchmarks {

/// The trainer's step, repeated on one batch: forward, backward, exchange and update, without loader and
/// listeners.
class repeated_step {
 public:
  repeated_step(trained_network const& what, int batch, int workers,
                std::unique_ptr<cohort::strategy> exchange = std::make_unique<cohort::no_exchange>(),
                int rank = 0)
      : repeated_step("onednn", what, batch,
                      {.optimizer = {.rule = what.rule, .l2 = what.l2}, .workers = workers},
                      std::move(exchange), rank) {}

  /// Uses the backend with this name (as make_backend_handle) and custom settings.
  repeated_step(std::string_view backend, trained_network const& what, int batch,
                cohort::training_settings const& settings,
                std::unique_ptr<cohort::strategy> exchange = std::make_unique<cohort::no_exchange>(),
                int rank = 0)
      : settings_(settings),
        data_(noise_batch(what.net, batch)),
        workers_(make_backend_handle(backend)(what.net, settings_), settings_, std::chrono::seconds(120)),
        strategy_(std::move(exchange)) {
    plan_ = workers_.plan_for({.examples = workers_.micro_batch_size(batch)});
    cohort::parameter_set& parameters = *workers_.backend().parameters;
    update_ = std::make_unique<cohort::parameter_update>(parameters, settings_.optimizer, 0,
                                                         strategy_->shard(parameters, rank));
  }

  std::vector<cohort::measurement> exchange_report() const { return strategy_->report(); }
  cohort::parameter_set const& parameters() { return *workers_.backend().parameters; }
  /// Memory in use from the first step on, including the batch.
  cohort::run_memory forecast() const {
    cohort::run_memory all = cohort::memory_of_workers(*plan_, workers_.size(), false);
    all.gradients -= strategy_->freed_gradients(*workers_.backend().parameters);
    if (update_->frees_parameters())
      all.parameters -= strategy_->freed_parameters(*workers_.backend().parameters);
    all.optimizer_state = update_->bytes();
    all.batches = data_.inputs[0].memory.capacity() + data_.targets[0].memory.capacity();
    return all;
  }
  cohort::recomputation_cost recomputed() const { return plan_->recomputed(); }

  /// Runs one step. Returns the mean loss before the update.
  double operator()() {
    cohort::step_info const now{.step = step_++,
                                .examples = data_.count,
                                .weight = static_cast<double>(data_.count),
                                .expected = data_.count};
    return workers_.step(data_, now, *strategy_, *update_).loss / data_.count;
  }
  /// Finishes the late parts of the last step.
  void finish_late() { workers_.finish_late(); }

 private:
  cohort::training_settings settings_;
  cohort::batch data_;
  cohort::detail::worker_group workers_;
  std::shared_ptr<cohort::plan const> plan_;
  std::unique_ptr<cohort::parameter_update> update_;
  std::unique_ptr<cohort::strategy> strategy_;
  std::int64_t step_ = 0;
};

}  // namespace benchmarks
