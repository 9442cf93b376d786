// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "networks.hpp"

#include <chrono>
#include <cohort/onednn.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/trainer/trainer.hpp>
#include <cstdint>
#include <memory>
#include <utility>

namespace benchmarks {

/// A batch of noise in [0, 1) with random classes, in memory.
inline cohort::batch noise_batch(cohort::graph_view net, int count) {
  cohort::random_stream const chance(1, "noise");
  cohort::shape const example = net[net.with_role(cohort::layer_role::input)[0]].output;
  int const classes = net[net.with_role(cohort::layer_role::loss)[0]].output[0];
  cohort::batch made;
  made.count = count;
  made.global_count = count;
  made.inputs.push_back({.name = "input", .example = example, .type = cohort::element_type::f32});
  made.targets.push_back({.name = "label", .example = {}, .type = cohort::element_type::i32});
  made.inputs[0].reserve(count);
  made.targets[0].reserve(count);
  auto* const values = reinterpret_cast<float*>(made.inputs[0].memory.data());
  auto const elements = static_cast<std::uint64_t>(example.elements()) * static_cast<std::uint64_t>(count);
  for (std::uint64_t i = 0; i < elements; ++i) values[i] = chance.uniform01(i);
  auto* const labels = reinterpret_cast<std::int32_t*>(made.targets[0].memory.data());
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i)
    labels[i] = static_cast<std::int32_t>(chance.below(elements + i, static_cast<std::uint64_t>(classes)));
  return made;
}

/// The trainer's step on oneDNN, over and over on one batch: forward, backward, exchange and update, no loader, no
/// listeners.
class repeated_step {
 public:
  repeated_step(trained_network const& what, int batch, int workers,
                std::unique_ptr<cohort::strategy> agree = std::make_unique<cohort::no_exchange>())
      : repeated_step(cohort::detail::port_to<cohort::onednn>, what, batch,
                      {.updater = what.updater, .l2 = what.l2, .workers = workers}, std::move(agree)) {}

  /// On another backend, `port_to` of it, and with settings of one's own.
  template <class Port>
  repeated_step(Port port, trained_network const& what, int batch, cohort::training_settings const& settings,
                std::unique_ptr<cohort::strategy> agree = std::make_unique<cohort::no_exchange>())
      : settings_(settings),
        data_(noise_batch(what.net, batch)),
        workers_(port(what.net, settings_), settings_, std::chrono::seconds(120)),
        agree_(std::move(agree)) {
    plan_ = workers_.plan_for({.examples = workers_.piece_of(batch)});
    update_ = std::make_unique<cohort::parameter_update>(*workers_.port().parameters, settings_.optimizer());
  }

  std::vector<cohort::measurement> exchange_report() const { return agree_->report(); }
  cohort::parameter_set const& parameters() { return *workers_.port().parameters; }
  /// What it holds from its first step on, its batch included.
  cohort::run_memory forecast() const {
    cohort::run_memory all = cohort::memory_of_workers(*plan_, workers_.size(), false);
    all.updater_state = update_->bytes();
    all.batches = data_.inputs[0].memory.capacity() + data_.targets[0].memory.capacity();
    return all;
  }
  cohort::recomputation_cost recomputed() const { return plan_->recomputed(); }

  /// The mean loss before the update.
  double operator()() {
    cohort::step_info const now{.step = step_++,
                                .examples = data_.count,
                                .weight = static_cast<double>(data_.count),
                                .expected = data_.count};
    return workers_.step(data_, now, *agree_, *update_).loss / data_.count;
  }

 private:
  cohort::training_settings settings_;
  cohort::batch data_;
  cohort::detail::worker_group workers_;
  std::shared_ptr<cohort::plan const> plan_;
  std::unique_ptr<cohort::parameter_update> update_;
  std::unique_ptr<cohort::strategy> agree_;
  std::int64_t step_ = 0;
};

}  // namespace benchmarks
