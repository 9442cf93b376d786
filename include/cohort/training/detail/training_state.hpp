// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/training_position.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/data/detail/rescale.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/optimizer/plateau.hpp>
#include <cohort/plan/detail/loss_divisor.hpp>
#include <cohort/plan/parameter_update.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cohort/training/detail/checkpoint_writer.hpp>
#include <cohort/training/detail/data_preparation.hpp>
#include <cohort/training/detail/non_finite_reports.hpp>
#include <cohort/training/detail/predictor.hpp>
#include <cohort/training/detail/rescaled_parts.hpp>
#include <cohort/training/detail/vote_state.hpp>
#include <cohort/training/detail/worker_group.hpp>
#include <cohort/training/listener.hpp>
#include <cohort/training/settings.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace cohort::detail {

/// State of a listener, as a checkpoint contains it.
struct saved_listener {
  std::string key;
  std::string state;
  element_type type = element_type::f32;
  buffer array{};
};

/// Identifies the examples of an epoch and their order in a checkpoint.
struct epoch_data {
  std::optional<std::uint64_t> fingerprint{};  ///< fingerprint of the data set; absent for a stream
  std::string order{};  ///< settings that determine the order within an epoch; empty: unknown
};

/// A call of training::fit that runs.
class running_fit {
 public:
  /// See training::has_common_steps.
  virtual bool has_common_steps() const = 0;
  virtual std::span<listener* const> listeners() const = 0;
  virtual int batch_size() const = 0;
  /// Returns the fingerprint of the data set, and the order of the current epoch. The fingerprint is absent
  /// for a stream, for an empty data set, and if an example cannot be read.
  virtual epoch_data data_of_epoch() const = 0;

 protected:
  ~running_fit() = default;
};

/// The data that a training keeps between calls: network, workers, strategy, optimizers, and the position of
/// the run.
struct training_state {
  /// Sums over the steps of the current epoch on this rank; `loss` and `weight`: over the steps with a loss
  /// whose losses and gradients were finite. A checkpoint stores only these two. `given_weight`: over all
  /// steps.
  struct running_sums {
    double loss = 0, weight = 0;
    std::int64_t steps = 0, examples = 0, ignored = 0;
    double given_weight = 0;
    double seconds = 0;  ///< duration of the steps outside fit
  };

  training_state(graph network, backend_handle backend, training_settings how,
                 std::shared_ptr<communicator> ranks, std::unique_ptr<strategy> how_to_exchange);

  /// Finishes late parts, and returns the parameters after all steps.
  parameter_set& parameters();
  /// The optimizers, made at the first call, with the current factor of the plateau schedule.
  parameter_update& update();
  /// The backend for predictions. With average_decay, its parameters are the averages so far. Thread-safe
  /// while no other thread trains, loads, evaluates or saves.
  backend_handle const& inference_backend();
  /// Copies the parameters to their average, if there is one, after the parameters were loaded.
  void restart_average();
  /// The parameters' element type.
  element_type element() const { return workers->backend().parameters->type(); }
  /// Whether the last epoch is interrupted.
  bool is_within_epoch() const { return position.position > 0 || epoch_sums.steps > 0; }
  /// See training::gather_parameters.
  void gather_parameters();
  replica current_replica() { return {parameters(), update()}; }

  /// See training::outputs_of. Inputs are rescaled, and outputs of losses with rescaled targets mapped back.
  std::vector<predictions> predict(std::span<int const> layers, std::size_t outputs,
                                   std::span<tensor_view const> inputs,
                                   std::span<tensor_view const> masks = {});
  /// Like predict, but for inputs that have been checked and rescaled.
  std::vector<predictions> predict_rescaled(std::span<int const> layers, std::size_t outputs,
                                            std::span<tensor_view const> inputs,
                                            std::span<tensor_view const> masks = {});
  /// Maps the outputs of losses with rescaled targets back. `layers`: the nodes whose outputs `made` holds.
  void rescale_back(std::span<int const> layers, std::vector<predictions>& made) const;
  /// Returns the maps of the target with index `which`; none if this target is not rescaled.
  std::span<channel_scaling const> target_maps(std::size_t which) const {
    auto const& maps = preparation.rescaling.targets;
    return which < maps.size() ? std::span<channel_scaling const>(maps[which])
                               : std::span<channel_scaling const>();
  }
  /// Returns the divisor of the mean loss of a batch: the sum of the examples' weights. If the losses are
  /// means over the steps of masked sequences, each weight counts once per unmasked step. If losses ignore
  /// targets, each weight counts once per target that is not ignored.
  double weight_of(batch_view const& data) const {
    return divisor.of(data.inputs, data.masks, data.targets, data.weights, data.count);
  }
  /// Replaces inputs and targets with rescaled copies, which are valid until the next call.
  void rescale(batch_view& data);

  /// Factor of the learning rates after the plateaus so far.
  double rate_factor() const { return settings.plateau ? rate_plateau.factor : 1; }
  /// Returns the learning rate of a step, without a layer's own factor.
  double learning_rate(std::int64_t step, std::int64_t epoch) const {
    return rate_factor() * settings.optimizer.rule.learning_rate().value(step, epoch);
  }
  /// Finishes the late parts of the last step. Thread-safe.
  void finish_late();
  /// The batch size of the running fit; 0 outside fit.
  int batch_of_fit() const;

  /// Calls f, which runs the workers. A worker that misses its deadline may still use the group, the
  /// strategy, the optimizers and `data`; in this case these objects are never destroyed.
  template <class F>
  auto run_workers(std::shared_ptr<void const> const& data, F f) {
    try {
      return f();
    } catch (deadline_error const&) {
      new std::tuple(workers, exchange_strategy, stored_update, data, rescaled);
      throw;
    }
  }

  graph net;
  loss_divisor divisor;
  training_settings settings;
  std::shared_ptr<communicator> world;
  std::shared_ptr<worker_group> workers;
  std::shared_ptr<strategy>
      exchange_strategy;                   // destroyed before the gradients that its pending exchange may use
  std::optional<backend_handle> averaged;  // with average_decay: for predictions
  std::uint64_t averaged_version = 0;      // version of the parameters that `averaged` has
  std::mutex averaging{};                  // guards both
  std::unique_ptr<predictor> inference;
  std::shared_ptr<parameter_update> stored_update{};
  training_position position{};
  running_sums epoch_sums{};
  bool has_checked_ranks = false;  // set by the first step outside fit
  bool has_given_world = true;     // false: made by trainer without a communicator
  plateau rate_plateau{};
  vote_state voting{};
  non_finite_reports non_finite{};
  data_preparation preparation{};
  /// The caller's batch of a single step, rescaled.
  std::shared_ptr<rescaled_parts> rescaled = std::make_shared<rescaled_parts>();
  /// States of listeners from a checkpoint; the next fit restores them.
  std::vector<saved_listener> saved_listeners{};
  bool has_resumed = false;  // whether resumed, and no fit has begun since
  epoch_data interrupted{};  // examples and order of the interrupted epoch, compared by the next fit
  running_fit* active_fit = nullptr;
  bool wants_to_leave = false;       // fit leaves the job after a step, when no checkpoint is being written
  bool is_in_uncommon_step = false;  // whether on_step runs for a step of some ranks only
  std::int64_t states_step = -1;     // step after which the layer states apply; −1: none
  std::pair<int, int> logged_memory{};  // batch and micro-batches of the fit whose memory was logged last
  std::set<std::string> logged_schedules{};  // subjects of the schedule notes that were logged
  safetensors_metadata network_metadata{};   // of checkpoints; made by the first one
  checkpoint_writer checkpoints{};           // destroyed first: waits for the writing thread
};

}  // namespace cohort::detail
