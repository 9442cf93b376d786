// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/training_position.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/optimizer/plateau.hpp>
#include <cohort/plan/parameter_update.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/trainer/detail/non_finite_reports.hpp>
#include <cohort/trainer/detail/predictor.hpp>
#include <cohort/trainer/detail/vote_state.hpp>
#include <cohort/trainer/detail/worker_group.hpp>
#include <cohort/trainer/settings.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace cohort::detail {

class fit_loop;

/// The data that a training keeps between calls: network, workers, strategy, updaters, and the position of
/// the run.
struct training_state {
  /// Sums over the finite steps of the current epoch on this rank.
  struct loss_sums {
    double loss = 0, weight = 0;
  };

  training_state(graph network, backend_handle backend, training_settings how,
                 std::shared_ptr<communicator> ranks, std::unique_ptr<strategy> how_to_exchange);

  /// The parameters after all steps: finishes pending buckets first.
  parameter_set& parameters();
  /// The updaters, made at the first call, with the current factor of the plateau schedule.
  parameter_update& update();
  /// The arenas of the updaters' state.
  std::vector<std::byte*> updater_arrays();
  /// The parameters' element type.
  element_type element() const { return workers->backend().parameters->type(); }
  replica current_replica() { return {parameters(), update()}; }

  /// Finishes the buckets that the last step left pending. Thread-safe.
  void finish_pending();

  /// Calls f, which runs the workers. A worker that misses its deadline may still use the group, the
  /// strategy, the updaters and `data`. These objects are then never destroyed.
  template <class F>
  auto run_workers(std::shared_ptr<void const> const& data, F f) {
    try {
      return f();
    } catch (deadline_error const&) {
      new std::tuple(workers, exchange_strategy, updater, data);
      throw;
    }
  }

  graph net;
  training_settings settings;
  std::shared_ptr<communicator> world;
  std::shared_ptr<worker_group> workers;
  std::shared_ptr<strategy>
      exchange_strategy;  // destroyed before the gradients that its pending exchange may use
  std::unique_ptr<predictor> inference;
  std::shared_ptr<parameter_update> updater{};
  training_position position{};
  loss_sums epoch_sums{};
  plateau rate_plateau{};
  vote_state voting{};
  non_finite_reports non_finite{};
  /// States of listeners by key, from a checkpoint; the next fit restores them.
  std::vector<std::pair<std::string, std::string>> saved_listeners{};
  fit_loop* active_fit = nullptr;
  plan const* logged_plan = nullptr;  // whose memory was logged last
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/training_state.ipp>
#endif
