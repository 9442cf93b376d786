// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/data/batch_view.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/execution/partition.hpp>
#include <cohort/execution/team.hpp>
#include <cohort/layer/detail/layer_states.hpp>
#include <cohort/plan/gradient_parts.hpp>
#include <cohort/plan/parameter_update.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/training/detail/backend_handle.hpp>
#include <cohort/training/detail/late_update.hpp>
#include <cohort/training/detail/notify_on_failure.hpp>
#include <cohort/training/detail/synchronised_sums.hpp>
#include <cohort/training/detail/worker_contexts.hpp>
#include <cohort/training/settings.hpp>
#include <cohort/training/step_times.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cohort::detail {

/// Results of a step on this rank.
///
/// Units     `loss`: weighted sum over the examples. `exchange_seconds`: waits for other ranks.
struct step_outcome {
  double loss = 0;
  bool has_loss = true;  ///< whether the step computes a loss
  bool updated = false;
  bool finite = true;      ///< whether this rank's losses, gradients and the exchanged gradient are finite
  bool all_finite = true;  ///< whether the exchanged gradient is finite; the same on every rank
  double exchange_seconds = 0;
  step_times times{};
};

/// The workers of one rank: threads that share the parameters, split each batch, and update one shard each.
///
/// Order     working copies | barrier | forward and backward | barrier | exchange | barrier | update of a
///           shard. A step has two barriers, or three if gradients are exchanged. Further barriers: one for
///           each round of norms, one for constraints, two for each sum of a layer over the whole batch, and
///           three if the previous step has late parts. Working copies are updated at the beginning of the
///           step, so changes of the parameters between two steps take effect.
/// Errors    after a deadline_error a worker may still run: group, strategy, update, batch and data must not
///           be destroyed.
class worker_group {
 public:
  /// `exchange`: longest wait of a strategy. This time is added to the workers' deadline, because the workers
  /// wait for the worker that exchanges.
  worker_group(backend_handle backend, training_settings const& settings, std::chrono::milliseconds exchange);

  int size() const { return team_.size(); }
  backend_handle const& backend() const { return backend_; }

  std::shared_ptr<plan const> plan_for(work_kind const& what) { return contexts_.plan_for(what); }
  /// Largest number of examples in a micro-batch if the workers split `batch` examples, and each worker
  /// splits its part into `micro_batches` micro-batches.
  int micro_batch_size(int batch, int micro_batches = 1) const;

  /// Enables sums of layers over the workers' parts of a batch. If `world` is not null, the layers also sum
  /// over the ranks of `world`.
  void synchronise(plan_sums const& sizes, std::unique_ptr<communicator> world);
  /// Closes the communicator of synchronise.
  void disconnect_sums() { sums_.reset(); }
  bool is_synchronised() const { return sums_.has_value(); }
  /// Returns whether the layers of a plan with these sums are those that `synchronise` connected.
  bool sums_match(plan_sums const& sizes) const { return sums_ && sums_->sizes() == sizes; }

  /// Makes layers carry states from step to step, for batches of `rows` examples on this rank. The states are
  /// zero at first; existing states for this number of rows are kept.
  void carry_states(std::vector<layer_states::layer> layers, int rows);
  /// The states that layers carry; null if they carry none.
  layer_states* states() { return states_.get(); }

  /// Returns the workers' gradient arenas; allocates them at the first call.
  ///
  /// Before    a plan exists, because the plan determines the size of the arenas.
  gradient_parts& gradients();
  bool has_gradients() const { return gradients_.has_value(); }

  /// Makes one step on one batch of this rank, with all parts in one run of the workers. The batch may be
  /// empty. Each worker splits its rows into `micro_batches` micro-batches.
  ///
  /// After     the parameters are unchanged if a loss or gradient is not finite, the examples' weights are 0,
  ///           or the strategy rejects the step. If a value was not finite, non_finite_location() returns
  ///           where the first such value was computed.
  step_outcome step(batch_view const& b, step_info const& now, strategy& exchange_strategy,
                    parameter_update& update, int micro_batches = 1);

  /// The same step in parts: begin_step; forward and backward for each micro-batch of this rank; exchange;
  /// end_step. Gradients are those of the mean loss over the examples of all backward calls since begin_step.
  ///
  /// begin_step  `kind`: the plans of the step's forward and backward.
  /// forward    returns the weighted sum of the losses. `rounds`: how often each worker takes part in sums of
  ///            layers over workers and ranks, 0 or 1.
  /// backward   adds the gradients of the last forward, whose examples have the total weight `weight`.
  ///            `output_gradients`: of the mean loss over these examples, one for each output of the plans.
  /// exchange   lets the strategy exchange the gradients, if it exchanges any; afterwards the first part of
  ///            gradients() holds the gradient of the step, the other parts zeros. `now`: step_info of all
  ///            examples. `is_only_rank`: whether there is no other rank; the strategy may then leave the
  ///            sum over the workers to the optimizer.
  /// end_step   updates the parameters, unless a loss or gradient is not finite, the weights of all examples
  ///            are 0, or the strategy rejects the step. `changed`: whether the caller has changed the
  ///            exchanged gradient. The outcome's loss is that of the last forward.
  ///
  /// Order     between these calls, no other call runs the workers, except further calls of forward.
  void begin_step(work_kind kind, step_info const& now, strategy& exchange_strategy,
                  parameter_update& update);
  double forward(batch_view const& b, int rounds);
  void backward(double weight, std::span<tensor_view const> output_gradients = {});
  /// Calls `consume(first row, context)` for each worker's part of the last forward or inference, in order.
  template <class Consume>
  void each_part(Consume consume) {
    for (int w = 0; w < size(); ++w) {
      index_slice const rows = rows_of(w);
      if (rows.count > 0) consume(rows.first, *state_of(w).active);
    }
  }
  void exchange(step_info const& now, bool is_only_rank);
  step_outcome end_step(bool changed);
  /// Number of the last step or inference of the workers: the parts of a step have the same number.
  std::int64_t job() const { return jobs_; }
  /// How often each worker takes part in a layer's sums. `examples`: number of examples, divided evenly over
  /// all ranks; 0: unknown, or divided in another way.
  int rounds(std::int64_t examples, int micro_batches) const {
    return sums_ ? sums_->rounds(examples, micro_batches) : 0;
  }

  /// Finishes the late parts of the last step. Must be called before parameters or the optimizers' state are
  /// read or written between two steps. Thread-safe.
  ///
  /// Errors    those of a step.
  void finish_late();

  /// Returns where a value of the last step was not finite on this rank, for example "first in conv2d_1".
  /// Returns "" if all values were finite.
  std::string non_finite_location();

  /// Runs inference on a batch. Then calls `consume(first row, context)` for each worker's part, in order.
  /// `layers`: nodes whose outputs the contexts keep; empty: the network's outputs.
  template <class Consume>
  void infer(batch_view const& b, std::span<int const> layers, Consume consume) {
    finish_late();
    batch_ = b;
    job_ = {.kind = {.training = false, .layers = {layers.begin(), layers.end()}}};
    ++jobs_;
    prepare();
    refresh_stale();
    team_.run(inference_);
    each_part(consume);
  }

  /// Starts or stops timing every kernel of training.
  void profile(bool on) { contexts_.profile(on); }
  /// The kernels' times of the training plans for a batch of `count` examples, summed over the workers.
  std::vector<plan_row> profile_rows(int count, int micro_batches) const;

 private:
  using clock = std::chrono::steady_clock;

  /// One step, or an inference, as the workers process it.
  struct step_job {
    work_kind kind{};
    bool in_parts = false;
    int micro_batches = 1;
    int rounds = 0;                                   // how often a worker takes part in layers' sums
    double weight = 0;                                // of the examples whose gradients are summed
    double former = 1;                                // factor of the gradients of earlier micro-batches
    std::span<tensor_view const> output_gradients{};  // of the last forward's examples
    double output_scale = 1;                          // share of these examples in the weight
    step_info now{};
    strategy* exchange_strategy = nullptr;
    parameter_update* update = nullptr;
    bool exchanges = false;   // whether the strategy exchanges gradients
    bool is_applied = false;  // whether the workers update the parameters
    late_update late{};       // late parts of the previous step
    clock::time_point beginning{};
    step_times times{};  // times of worker 0
  };
  struct alignas(64) worker_state {
    plan_context* active = nullptr;
    double loss = 0;
    bool has_unread_loss = false;
    bool is_not_finite = false;        // a loss or gradient is not finite
    bool has_announced = false;        // backward calls `ready` for each bucket
    int backwards = 0;                 // number of micro-batches whose gradients were added
    bool has_other_gradients = false;  // the arena has gradients that not every plan computes
    ready_function ready{};
    std::function<void()> finish_late{};
    batch_view rows{};
    std::vector<tensor_view> output_gradients{};
  };
  /// A job of the team. The job is a member of the group, because workers may still use it after a
  /// deadline_error.
  struct team_job {
    worker_group* group;
    void (worker_group::*run)(int w);
    void operator()(int w) const { (group->*run)(w); }
  };

  static double seconds(clock::duration time) { return std::chrono::duration<double>(time).count(); }

  template <class F>
  void notify_on_failure(strategy& exchange_strategy, F f) {
    detail::notify_on_failure(f, [&](char const* why) {
      if (sums_) sums_->abandon(why);
      exchange_strategy.abandon(why);
    });
  }
  /// Runs f on every worker, as a part of a step.
  template <class F>
  void run_part(F f) {
    notify_on_failure(*job_.exchange_strategy, [&] { team_.run(f); });
  }

  /// Allocates the gradient arenas. `are_freed`: the strategy frees parts of them.
  void make_gradients(bool are_freed);

  /// Updates all working copies, on a worker's thread with the workers' number of kernel threads.
  void refresh_stale();

  worker_state& state_of(int w) { return worker_states_[static_cast<std::size_t>(w)]; }
  std::byte* arena_of(int w) const { return gradients_->all()[static_cast<std::size_t>(w)]; }
  /// A worker's part of the batch, and its number of micro-batches; no micro-batch is empty.
  index_slice rows_of(int w) const { return part_of({0, batch_.count}, w, size()); }
  int micro_batch_count(index_slice const& rows) const;
  /// Rows of a worker's micro-batch p: none if the worker has fewer, or after a loss that is not finite.
  index_slice micro_batch(int w, int p);
  work_kind work_on(index_slice const& rows) const;

  /// Makes the contexts for every worker's micro-batches, which have at most two sizes.
  void prepare();

  /// Begins a step: sets the job, and calls the strategy's first hook.
  void begin(step_job job);
  void set_info(step_info const& now);
  /// Ends a step: calls the strategy's last hook. Returns the step's results.
  step_outcome end();

  /// A worker's share of a whole step, and of its parts. `p`: index of the micro-batch; 0 in a step in parts.
  /// A worker without rows takes part in the layers' sums as often as the others.
  void step_part(int w);
  void forward_part(int w, int p);
  void backward_part(int w, int p);
  void exchange_part(int w);
  void update_part(int w);

  void forward(int w, index_slice const& rows, bool finishes_late = false);
  void finish_late(int w);
  void infer_part(int w);

  /// Adds the loss of the last forward, once. With an exchange, the loss is read before backward, because the
  /// vote is sent with the first bucket. Without an exchange, a whole step reads the last loss after
  /// backward, so that a device is synchronised only once.
  void read_loss(int w);

  /// Completes a worker's gradient, unless backward has called `ready` for the buckets. A worker without a
  /// gradient, or whose loss or gradient is not finite, contributes zeros.
  void complete_gradient(int w);

  /// Counts a worker's completed bucket. The last worker calls the strategy's ready for the bucket. A
  /// worker's loss is known before its first bucket is complete.
  void arrive(bucket const& one);

  /// Finishes the exchange on worker 0. Every rank checks the reduced gradient, which is in the first part,
  /// so all ranks get the same result. This rank's vote reports whether its own gradient was finite before
  /// the exchange.
  void finish_exchange();

  /// Sets the late parts of this step, if the strategy has late buckets.
  void set_late();

  step_info now_with_votes() const;
  void set_not_finite(int w);

  bool finite(bucket const& one, std::byte const* arena) const;
  bool finite(std::byte const* arena, std::size_t first, std::size_t count) const;
  arena_passes& passes() const { return backend_.parameters->passes(); }

  backend_handle backend_;
  training_settings settings_;
  std::vector<int> former_threads_;
  std::vector<buffer> arenas_;
  std::optional<gradient_parts> gradients_;
  team team_;
  std::optional<synchronised_sums> sums_;
  std::unique_ptr<layer_states> states_;
  worker_contexts contexts_;
  std::vector<worker_state> worker_states_;
  std::vector<std::atomic<int>> arrived_;
  std::atomic<bool> rejected_{false};            // the step must not be applied
  bool shard_is_finite_ = true;                  // whether the exchanged gradient of this rank's shard is
  std::atomic<bool> locally_non_finite_{false};  // a loss or gradient of this rank is not finite
  step_job job_{};    // a member, because workers may still use it after a deadline_error
  batch_view batch_;  // the batch of job_
  std::int64_t jobs_ = 0;
  late_update late_{};  // late parts of the last step
  std::mutex late_mutex_;
  double late_wait_seconds_ = 0;  // time of waits for late parts, not reported yet
  team_job const step_{this, &worker_group::step_part};
  team_job const finish_late_{this, &worker_group::finish_late};
  team_job const inference_{this, &worker_group::infer_part};
};

}  // namespace cohort::detail
