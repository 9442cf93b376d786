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
#include <cohort/training/detail/batch_rows.hpp>
#include <cohort/training/detail/notify_on_failure.hpp>
#include <cohort/training/detail/step_job.hpp>
#include <cohort/training/detail/synchronised_sums.hpp>
#include <cohort/training/detail/worker_contexts.hpp>
#include <cohort/training/settings.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cohort::detail {

/// The workers of one rank: threads that share the parameters, split each batch, and update one shard each.
///
/// Order     working copies | barrier | forward and backward | barrier | exchange | barrier | update of a
///           shard. A step has two barriers, or three if gradients are exchanged. Further barriers: one for
///           each round of norms, one for constraints, two for each sum of a layer over the whole batch, and
///           three if buckets were pending. Working copies are updated at the beginning of the step,
///           so changes of the parameters between two steps take effect.
/// Errors    after a deadline_error a worker may still run: group, strategy, update, batch and data must not
///           be destroyed.
class worker_group {
 public:
  /// `exchange`: longest wait of a strategy. It is added to the workers' deadline, because the workers wait
  /// for the worker that exchanges.
  worker_group(backend_handle backend, training_settings const& settings, std::chrono::milliseconds exchange);

  int size() const { return team_.size(); }
  backend_handle const& backend() const { return backend_; }

  std::shared_ptr<plan const> plan_for(work_kind const& what) { return contexts_.plan_for(what); }
  /// Largest number of examples in a micro-batch if the workers split `batch` examples, and each worker
  /// splits its part into `micro_batches` micro-batches.
  int micro_batch_size(int batch, int micro_batches = 1) const;

  /// Enables sums of layers over the workers' parts of a batch. Unless `world` is null, these are also sums
  /// over the ranks of `world`.
  void synchronise(plan_sums const& sizes, std::unique_ptr<communicator> world);
  bool is_synchronised() const { return sums_.has_value(); }

  /// Makes layers carry states from step to step, for batches of `rows` examples on this rank. The states are
  /// zero at first; existing states for this number of rows are kept.
  void carry_states(std::vector<layer_states::layer> layers, int rows);
  /// The states that layers carry; null if they carry none.
  layer_states* states() { return states_.get(); }

  /// Returns the workers' gradient arenas; allocates them at the first call.
  ///
  /// Before    a plan was made, because the plan fixes the size of the arenas.
  gradient_parts& gradients();
  bool has_gradients() const { return gradients_.has_value(); }

  /// Makes one step on one batch of this rank. The batch may be empty. Each worker splits its rows into
  /// `micro_batches` micro-batches.
  ///
  /// After     the parameters are unchanged if a loss or gradient is not finite, the examples' weights are 0,
  ///           or the strategy rejects the step. After a value that is not finite, non_finite_location()
  ///           returns where the first one was computed.
  step_outcome step(batch_view const& b, step_info const& now, strategy& exchange_strategy,
                    parameter_update& update, int micro_batches = 1);

  /// The same step in parts: begin_step; forward and backward for each micro-batch of this rank; exchange;
  /// end_step. Gradients are those of the mean loss over the examples of all backward calls since begin_step.
  ///
  /// forward    returns the weighted sum of the losses. `rounds`: how often each worker takes part in sums of
  ///            layers over workers and ranks, 0 or 1.
  /// backward   adds the gradients of the last forward, whose examples have the total weight `weight`.
  /// exchange   lets the strategy exchange the gradients, if it exchanges any; afterwards the first part of
  ///            gradients() holds the gradient of the step, the others zeros. `now`: step_info of all
  ///            examples. `is_only_rank`: whether the strategy has no other rank; it may then leave the sum
  ///            over the workers to the optimizer.
  /// end_step   updates the parameters, unless a loss or gradient is not finite, the weights of all examples
  ///            are 0, or the strategy rejects the step. Calls exchange first if it was not called.
  ///            `changed`: whether the caller has changed the exchanged gradient.
  ///
  /// Order     between these calls, no other call runs the workers, except further calls of forward.
  void begin_step(step_info const& now, strategy& exchange_strategy, parameter_update& update);
  double forward(batch_view const& b, int rounds);
  void backward(double weight);
  void exchange(step_info const& now, bool is_only_rank = false);
  step_outcome end_step(step_info const& now, bool changed = false);
  /// Number of the last step or inference of the workers: the parts of a step have the same number.
  std::int64_t job() const { return jobs_; }
  /// How often each worker takes part in a layer's sums. `examples`: number of examples, divided evenly over
  /// all ranks; 0: unknown, or divided in another way.
  int rounds(std::int64_t examples, int micro_batches) const {
    return sums_ ? sums_->rounds(examples, micro_batches) : 0;
  }

  /// Finishes the buckets that the last step left pending. Must be called before parameters or the
  /// optimizers' state are read or written between two steps. Thread-safe.
  ///
  /// Errors    those of a step.
  void finish_pending();

  /// Returns where a value of the last step was not finite on this rank, for example "first in conv2d_1".
  /// Returns "" if all values were finite.
  std::string non_finite_location();

  /// Runs inference on a batch. Then calls `consume(first row, context)` for each worker's part, in order.
  /// `layers`: nodes whose outputs the contexts keep; empty: the network's outputs.
  template <class Consume>
  void infer(batch_view const& b, std::span<int const> layers, Consume consume) {
    finish_pending();
    batch_ = b;
    job_ = {.data = &batch_, .kind = {.training = false, .layers = {layers.begin(), layers.end()}}};
    ++jobs_;
    prepare();
    refresh_stale();
    team_.run(inference_);
    for (int w = 0; w < size(); ++w) {
      index_slice const rows = rows_of(w);
      if (rows.count > 0) consume(rows.first, *worker_states_[static_cast<std::size_t>(w)].active);
    }
  }

  /// Starts or stops timing every kernel of training.
  void profile(bool on) { contexts_.profile(on); }
  /// The kernels' times of the training plans for a batch of `count` examples, summed over the workers.
  std::vector<plan_row> profile_rows(int count, int micro_batches) const;

 private:
  struct alignas(64) worker_state {
    double loss = 0;
    bool has_gradient = false;  // used in a step in parts
    plan_context* active = nullptr;
    ready_function ready{};
    std::function<void()> finish_late{};
    batch_rows rows{};
  };
  struct step_call {
    worker_group* group;
    void operator()(int w) const { group->work(w); }
  };
  struct late_call {
    worker_group* group;
    void operator()(int w) const { group->finish_late(w); }
  };
  struct inference_call {
    worker_group* group;
    void operator()(int w) const;
  };

  using clock = std::chrono::steady_clock;
  static double seconds(clock::duration time) { return std::chrono::duration<double>(time).count(); }

  template <class F>
  void notify_on_failure(strategy& exchange_strategy, F f) {
    detail::notify_on_failure(f, [&](char const* why) {
      if (sums_) sums_->abandon(why);
      exchange_strategy.abandon(why);
    });
  }

  /// Updates all working copies, on a worker's thread with the workers' number of kernel threads.
  void refresh_stale();

  /// A worker's part of the batch, and its number of micro-batches; no micro-batch is empty.
  index_slice rows_of(int w) const { return part_of({0, job_.data->count}, w, size()); }
  int micro_batch_count(index_slice const& rows) const;
  work_kind work_on(index_slice const& rows) const;

  /// Makes the contexts for every worker's micro-batches, which have at most two sizes.
  void prepare();

  /// Runs forward. `finishes_late`: finishes the pending buckets of the previous step before their parameters
  /// are used.
  plan_context& forward(int w, index_slice const& rows, bool finishes_late = false);
  void finish_late(int w);

  /// Sets the job of a step.
  void open_step(step_info const& now, strategy& exchange_strategy, parameter_update& update,
                 int micro_batches);
  /// Calls the strategy's last hook of a step. Returns the step's results, except the loss.
  step_outcome close_step(bool ran, clock::time_point beginning);

  /// Runs one worker's part of a step.
  void work(int w);
  /// Run one worker's part of forward, backward and the update, of a step in parts.
  void forward_part(int w);
  void backward_part(int w, double scale, double former);
  void update(int w);

  /// Finishes the exchange on worker 0. Every rank checks the reduced gradient, which is in the first part,
  /// so all ranks get the same result. This rank's vote contains whether its gradient was finite before the
  /// exchange.
  void finish_exchange();

  /// Runs forward and backward on all micro-batches and accumulates their gradients. Buckets become complete
  /// in the last micro-batch. With an exchange, the loss is read before backward, because the vote is sent
  /// with the first bucket. Without an exchange, the loss is read after backward, so a device is synchronised
  /// only once.
  void compute(int w);

  /// Counts a worker's completed bucket. The last worker calls the strategy's ready for the bucket. A
  /// worker's loss is known before its first bucket is complete.
  void arrive(bucket const& one);

  step_info now_with_votes() const;
  void set_non_finite();

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
  std::atomic<bool> locally_non_finite_{false};  // a loss or gradient of this rank is not finite
  step_job job_{};    // a member, because late workers still use it after a deadline_error
  batch_view batch_;  // the batch of job_
  std::int64_t jobs_ = 0;
  /// State of a step in parts.
  struct parts {
    double weight = 0;  // total weight of the examples whose gradients were added
    bool exchanged = false;
    clock::time_point beginning{};
  } parts_{};
  late_update pending_{};  // deferred part of the last step
  std::mutex pending_mutex_;
  double late_wait_seconds_ = 0;  // waits for pending_ that no step has reported yet
  step_call const step_{this};
  late_call const late_{this};
  inference_call const inference_{this};
};

}  // namespace cohort::detail
