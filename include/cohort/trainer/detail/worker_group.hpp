// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/trainer/detail/notify_on_failure.hpp>
#include <atomic>
#include <chrono>
#include <cohort/data/batch.hpp>
#include <cohort/execution/partition.hpp>
#include <cohort/execution/team.hpp>
#include <cohort/plan/gradient_parts.hpp>
#include <cohort/plan/parameter_update.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/trainer/detail/backend_handle.hpp>
#include <cohort/trainer/detail/batch_rows.hpp>
#include <cohort/trainer/detail/step_job.hpp>
#include <cohort/trainer/detail/synchronised_sums.hpp>
#include <cohort/trainer/detail/worker_contexts.hpp>
#include <cohort/trainer/settings.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cohort::detail {

/// The workers of one rank: threads that share the parameters, split each batch, and update a shard each.
///
/// Order     working copies | barrier | forward and backward | barrier | exchange | barrier | update of a shard.
///           Two barriers a step where no gradient is exchanged, three where one is; one more for each round of norms and for
///           constraints, two for each sum of a layer over the whole batch, three where buckets were left under way. Working
///           copies are derived at the beginning, so that whoever wrote parameters between two steps is heard.
/// Errors    after a deadline_error a worker may still be at work: group, strategy, update, batch and data must live on.
class worker_group {
 public:
  /// `exchange` is the longest that a strategy waits: workers wait for the one that waits for it.
  worker_group(backend_handle port, training_settings const& settings, std::chrono::milliseconds exchange);

  int size() const { return team_.size(); }
  backend_handle const& port() const { return port_; }

  std::shared_ptr<plan const> plan_for(work_kind const& what) { return contexts_.plan_for(what); }
  /// The examples of the largest piece when a batch of so many is split over the workers, and by each into pieces.
  int piece_of(int batch, int pieces = 1) const;

  /// Lets layers that ask for it sum over the workers' parts of a batch, and over those of the ranks of `world`, where
  /// there is one.
  void synchronise(plan_sums const& sizes, std::unique_ptr<communicator> world);
  bool is_synchronised() const { return sums_.has_value(); }

  /// Gives every worker its gradient arena.  Before: a plan has been made, so the arena has its size.
  gradient_parts& gradients();

  /// One step on one batch of this rank, which may be empty; each worker takes its rows in so many pieces.
  ///
  /// After     where something is not finite, the examples weigh nothing or the strategy says so, no parameter has taken this
  ///           step: trouble() says where a number is not finite.
  step_outcome step(batch const& b, step_info const& now, strategy& agree, parameter_update& update,
                    int pieces = 1);

  /// Takes what the last step has left under way. Called before anything between two steps reads or writes parameters or the
  /// updaters' state. Thread-safe.
  ///
  /// Errors    those of a step.
  void settle();

  /// Where the last step's numbers are not finite on this rank: "first in conv2d_1"; empty if they are.
  std::string trouble();

  /// Runs the batch forward only; `take(worker's first row, context)` is called for each worker's part, in order.
  /// `layers` are the nodes whose outputs a context then has; none: the network's outputs.
  template <class Take>
  void infer(batch const& b, std::span<int const> layers, Take take) {
    settle();
    job_ = {.data = &b, .kind = {.training = false, .layers = {layers.begin(), layers.end()}}};
    prepare();
    refresh_stale();
    team_.run(inference_);
    for (int w = 0; w < size(); ++w) {
      index_slice const rows = rows_of(w);
      if (rows.count > 0) take(rows.first, *results_[static_cast<std::size_t>(w)].now);
    }
  }

  /// Takes the time of every kernel of training, or stops to; the sum over the workers.
  void profile(bool on) { contexts_.profile(on); }
  /// The rows of training plans for a batch of that many examples, summed over the workers.
  std::vector<plan_row> profile_rows(int count, int pieces) const;

 private:
  struct alignas(64) worker {
    double loss = 0;
    context* now = nullptr;
    ready_function ready{};
    std::function<void()> late{};
    batch_rows rows{};
  };
  struct step_call {
    worker_group* group;
    void operator()(int w) const { group->work(w); }
  };
  struct late_call {
    worker_group* group;
    void operator()(int w) const { group->take_late(w); }
  };
  struct inference_call {
    worker_group* group;
    void operator()(int w) const;
  };

  template <class F>
  void notify_on_failure(strategy& agree, F f) {
    detail::notify_on_failure(f, [&](char const* why) {
      if (sums_) sums_->abandon(why);
      agree.abandon(why);
    });
  }

  /// Brings every working copy up to date, on a thread that has the workers' number of threads.
  void refresh_stale();

  /// Worker's part of the batch, and how many pieces it takes it in: none is empty.
  index_slice rows_of(int w) const { return part_of({0, job_.data->count}, w, size()); }
  int pieces_of(index_slice const& rows) const;
  work_kind work_on(index_slice const& rows) const;

  /// Sees to it that every worker has contexts for its pieces, which have one size or two.
  void prepare();

  /// `late`: takes what was left under way before it is used.
  context& forward(int w, index_slice const& rows, bool late = false);
  void take_late(int w);

  /// One worker's step.
  void work(int w);

  /// Every rank checks the reduced gradient, which lies in the first part, and so all come to the same answer; that this rank's own
  /// is not finite was its vote.
  void finish_exchange();

  /// Gradients of the pieces are added up; buckets get complete in the last one. A loss is a vote that travels with the first bucket;
  /// where there is none it is asked for last, so that a device is waited for once.
  void compute(int w);

  /// The last worker to complete a bucket announces it. A worker's losses are known before its first bucket.
  void arrive(bucket const& one);

  step_info now_with_votes() const;
  void set_bad();

  bool finite(bucket const& one, std::byte const* arena) const;
  bool finite(std::byte const* arena, std::size_t first, std::size_t count) const;
  arena_passes& passes() const { return port_.parameters->passes(); }

  using clock = std::chrono::steady_clock;
  static double seconds(clock::duration time) { return std::chrono::duration<double>(time).count(); }

  backend_handle port_;
  training_settings settings_;
  std::vector<int> former_threads_;
  std::vector<buffer> arenas_;
  std::optional<gradient_parts> gradients_;
  team team_;
  std::optional<synchronised_sums> sums_;
  worker_contexts contexts_;
  std::vector<worker> results_;
  std::vector<std::atomic<int>> arrived_;
  std::atomic<bool> bad_{false};      // this step cannot be taken
  std::atomic<bool> own_bad_{false};  // by this rank's own numbers
  step_job job_{};      // outlives a call that a deadline ends, as everything that workers touch
  late_update left_{};  // of the last step
  std::mutex settling_;
  double late_seconds_ = 0;  // in which that was waited for, until a step reports them
  step_call const step_{this};
  late_call const late_{this};
  inference_call const inference_{this};
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/worker_group.ipp>
#endif
