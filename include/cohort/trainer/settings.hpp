// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/execution/sink.hpp>
#include <cohort/layer/initialiser.hpp>
#include <cohort/optimizer/optimizer.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cohort {

class listener;

/// How a network is trained, whatever the data.
///
/// Units     `workers`: threads that share this rank's parameters and split its batch; `threads`: threads inside
///           each worker's kernels (fastest for small networks: workers as processors, one thread each).
///           `max_bytes`: parameters, state, and the gradients and activations of all workers for one batch size;
///           each plan of prediction or another batch size is held to it by itself; 0: no limit.
/// Exact     one seed, workers, threads, backend and instruction set give one result, bit by bit.
struct training_settings {
  cohort::updater updater = sgd{};
  std::optional<cohort::updater> bias_updater{};  ///< nothing: as `updater`
  double l1 = 0;
  double l2 = 0;
  double bias_l1 = 0;
  double bias_l2 = 0;
  initialiser weights = init::xavier{};
  initialiser bias = init::zeros{};
  std::uint64_t seed = 123;
  int workers = 1;
  int threads = 1;
  std::size_t max_bytes = 0;
  std::chrono::milliseconds deadline = std::chrono::seconds(120);  ///< of every wait for another worker
  sink log{};  ///< lines of text for the user; empty: none

  optimizer_settings optimizer() const {
    return {.updater = updater,
            .bias_updater = bias_updater,
            .l1 = l1,
            .l2 = l2,
            .bias_l1 = bias_l1,
            .bias_l2 = bias_l2};
  }
};

/// One call of fit.
///
/// Units     `batch` examples a rank and step, split over its workers; `prefetch` batches made ahead by a thread.
/// Order     listeners are told in the order given.
struct fit_settings {
  int batch = 32;
  int epochs = 1;
  bool shuffle = true;
  int prefetch = 0;
  std::vector<listener*> listeners{};
};

/// What fit did.
///
/// Units     `wait_seconds`: of `seconds`, those in which no step ran because no batch was there.
struct fit_report {
  std::int64_t steps = 0;
  std::int64_t examples = 0;
  double seconds = 0;
  double wait_seconds = 0;
  double loss = 0;  ///< mean of the last epoch

  double samples_per_second() const { return seconds > 0 ? static_cast<double>(examples) / seconds : 0; }
};

}  // namespace cohort
