// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/data/sharding.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/layer/initialiser.hpp>
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/optimizer/plateau.hpp>
#include <cohort/plan/recomputation.hpp>
#include <cohort/trainer/run_autotuner.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cohort {

class listener;

/// What to do when a loss or gradient is not finite, on all ranks alike: end the run by an exception, or leave the step out.
enum class when_not_finite { stop, skip };

/// How a network is trained, whatever the data.
///
/// Units     `workers`: threads that share this rank's parameters and split its batch; `threads`: threads inside
///           each worker's kernels (fastest for small networks: workers as processors, one thread each). With `tune`,
///           0 workers means that a short calibration chooses between that and one worker with as many threads; on a GPU one worker.
///           `max_bytes`: parameters, state, and the gradients and activations of all workers, whose batches and pieces of
///           all sizes take turns in one memory; each plan of prediction is held to it by itself; 0: on a device what it has left,
///           on the processor no limit.
///           `tune`, off where it is null: `cohort::tune<backend>()` of <cohort/trainer/tune.hpp> times what the backend can run in
///           several ways on this machine, and keeps what it takes in the user's cache.
/// Exact     one seed, workers, threads, backend and instruction set give one result, bit by bit; with `tune` also the choices
///           that were made. Ranks may choose differently and hold the same parameters all the same.
struct training_settings {
  cohort::updater updater = sgd{};
  std::optional<cohort::updater> bias_updater{};  ///< nothing: as `updater`
  double l1 = 0;
  double l2 = 0;
  double bias_l1 = 0;
  double bias_l2 = 0;
  gradient_normalisation normalisation{};
  parameter_constraint constraint{};  ///< of weights
  parameter_constraint bias_constraint{};
  std::vector<layer_override> layers{};        ///< single layers by name, where they are trained otherwise
  std::optional<reduce_on_plateau> plateau{};  ///< goes by the mean loss of each epoch
  initialiser weights = init::xavier{};
  initialiser bias = init::zeros{};
  std::uint64_t seed = 123;
  int workers = 1;
  int threads = 1;
  std::size_t max_bytes = 0;
  recomputation recompute{};  ///< what backward makes again instead of keeping it: less memory, more time
  std::shared_ptr<run_autotuner> tune{};
  when_not_finite not_finite = when_not_finite::stop;
  std::chrono::milliseconds deadline = std::chrono::seconds(120);  ///< of every wait for another worker
  sink log{};  ///< lines of text for the user, on rank 0; empty: none

  optimizer_settings optimizer() const;
};

namespace detail {

std::string describe(updater const& one);

/// "constraint max_norm 2"
std::string describe(char const* of, parameter_constraint const& how);

std::string describe(layer_override const& row);

/// What ranks must have in common, as text.
std::string describe(training_settings const& s);

}  // namespace detail

/// One call of fit.
///
/// Units     `batch` examples a rank and step, split over its workers, each of which takes its part in `accumulate` pieces,
///           one after another: an update still uses `batch` examples, in the memory that batch / accumulate need.
///           `prefetch` batches made ahead by a thread.
///           `epochs`: that many are ended; one that a checkpoint had begun counts.
///           `sharding`: whether the data set is the same on every rank, or each rank's own (data/sharding.hpp).
/// Order     listeners are told in the order given, of updates, not of pieces.
/// Exact     `accumulate` changes results by rounding alone, whatever the sizes of pieces and weights of examples; but a
///           normalisation over the batch is one over the piece. The same on all ranks.
struct fit_settings {
  int batch = 32;
  int epochs = 1;
  bool shuffle = true;
  int prefetch = 0;
  int accumulate = 1;
  cohort::sharding sharding = cohort::sharding::global;
  std::vector<listener*> listeners{};
};

/// What fit did.
///
/// Units     `steps` of each rank; `examples` and `loss` of all ranks. `wait_seconds`: of `seconds`, those in which no step ran
///           because no batch was there; `exchange_seconds`: those in which a step waited for other ranks. `skipped`: steps
///           left out because something was not finite.
struct fit_report {
  std::int64_t steps = 0;
  std::int64_t examples = 0;
  double seconds = 0;
  double wait_seconds = 0;
  double exchange_seconds = 0;
  double loss = 0;  ///< mean of the last epoch that ended
  std::int64_t skipped = 0;
  bool stopped = false;  ///< by a vote, before the last epoch's end

  double samples_per_second() const { return seconds > 0 ? static_cast<double>(examples) / seconds : 0; }
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/settings.ipp>
#endif
