// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/data/order.hpp>
#include <cohort/data/sharding.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/layer/initialiser.hpp>
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/optimizer/plateau.hpp>
#include <cohort/plan/recomputation.hpp>
#include <cohort/training/fit_history.hpp>
#include <cohort/training/metric.hpp>
#include <cohort/training/run_autotuner.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cohort {

class listener;

/// Reaction to a loss or gradient that is not finite, the same on all ranks: end the run with an exception,
/// or skip the step.
enum class when_not_finite { stop, skip };

/// Settings of training that do not depend on the data.
///
/// Units     `workers`: threads that share this rank's parameters and split its batch. `threads`: threads in
///           each worker's kernels. Fastest for small networks: one worker per processor, one thread each.
///           With `tune` and 0 workers, a short calibration chooses between these and one worker with one
///           thread per processor; on a GPU, the choice is one worker. `max_bytes`: limit for parameters,
///           optimizer state, and the gradients and activations of all workers; 0: the free memory of a
///           device, or no limit on the processor. A worker's batches and micro-batches of all sizes share
///           one memory block. Each prediction plan is checked against the limit separately. `tune`: the
///           autotuner; null: none. `cohort::tune<backend>()` of <cohort/training/tune.hpp> measures the
///           backend's alternatives on this machine and stores the choices in the user's cache.
///           `average_decay` d, in [0, 1): after step t = 0, 1, …, the average a of the trained parameters w
///           becomes d'·a + (1 − d')·w with d' = min(d, t/(t + 1)). 0: no average. Evaluation, validation,
///           loss_of, predictions and models saved without optimizer state use a instead of w; running
///           statistics are those of the last step. Training, features(), checksum() and parameters() use w.
///           Checkpoints and models with optimizer state contain both. Loaded or restored parameters become
///           a; after a change through parameters(), a stays unchanged until the next step. Strategies that
///           replace w after the update are refused (strategy::supports_average_decay). parameter_averaging
///           averages a over the ranks as it averages w; between two meetings, predictions use the rank's a.
///           Costs two arenas of parameters, and one pass over the parameters in each step.
/// Exact     the same seed, workers, threads, backend and instruction set, and with `tune` the same choices,
///           give bitwise equal results. Ranks with different choices still hold the same parameters.
struct training_settings {
  optimizer_settings optimizer{};
  std::optional<reduce_on_plateau> plateau{};  ///< uses the mean loss of each epoch
  double average_decay = 0;                    ///< of the moving average of the parameters; 0: none
  initialiser weights = init::xavier{};
  initialiser bias = init::zeros{};
  std::uint64_t seed = 123;
  int workers = 1;
  int threads = 1;
  std::size_t max_bytes = 0;
  recomputation recompute{};  ///< activations that backward recomputes: less memory, more time
  std::shared_ptr<run_autotuner> tune{};
  when_not_finite not_finite = when_not_finite::stop;
  std::chrono::milliseconds deadline = std::chrono::seconds(120);  ///< limit of every wait for another worker
  sink log{};  ///< receives lines of text, on rank 0; empty: no log
};

namespace detail {

/// The fields that must be equal on all ranks: "optimizer.rule sgd; optimizer.rule.learning_rate 0.1; …".
std::string describe(training_settings const& s);

}  // namespace detail

/// Settings of one call of fit.
///
/// Units     `batch`: examples per rank and step, split over its workers. `accumulate`: number of
///           micro-batches that a worker processes one after another (gradient accumulation). An update still
///           uses `batch` examples, but needs memory for only batch / accumulate examples. `prefetch`: number
///           of batches that are prepared in advance in the background. `blocks`, `bucket`, `readers`: see
///           loader_settings. `epochs`: number of epochs to complete, including a resumed one. `sharding`:
///           whether all ranks have the same data set or each rank has a different one (data/sharding.hpp).
///           `validation`: a data set that is evaluated after each epoch, with the same `batch`, `readers`
///           and `sharding`. The loss and `metrics` on this data set are stored in the report's history and
///           passed to the listeners.
/// Order     listeners are called in the given order, once per update, not per micro-batch.
/// Exact     `accumulate` changes results by rounding only, for any sizes of micro-batches and weights of
///           examples. Exception: batch normalisation normalises over the micro-batch. `accumulate` must be
///           equal on all ranks.
struct fit_settings {
  int batch = 32;
  int epochs = 1;
  bool shuffle = true;
  block_shuffle blocks{};
  int prefetch = 0;
  std::int64_t bucket = 0;
  int readers = 1;
  int accumulate = 1;
  cohort::sharding sharding = cohort::sharding::global;
  std::optional<dataset> validation{};
  std::vector<metric> metrics{};
  std::vector<listener*> listeners{};
};

/// Results of fit.
///
/// Units     `steps`: of each rank. `examples` and `loss`: of all ranks. `wait_seconds`: part of `seconds` in
///           which no batch was ready. `exchange_seconds`: part of `seconds` in which a step waited for other
///           ranks. `skipped`: steps without update because a number was not finite or the examples' weights
///           were 0.
struct fit_report {
  std::int64_t steps = 0;
  std::int64_t examples = 0;
  double seconds = 0;
  double wait_seconds = 0;
  double exchange_seconds = 0;
  /// Mean loss of the last complete epoch; NaN if there is none, or no finite step had a weight.
  double loss = std::numeric_limits<double>::quiet_NaN();
  std::int64_t skipped = 0;
  std::int64_t lost_examples = 0;  ///< of ranks that were lost after steps without a meeting (averaging)
  bool stopped = false;            ///< stopped by a vote before the end of the last epoch
  fit_history history{};           ///< one row for each complete epoch
};

}  // namespace cohort
