// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/tensor/buffer.hpp>
#include <cohort/trainer/pending_predictions.hpp>
#include <cohort/trainer/training.hpp>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace cohort {

/// What a call does that finds the queue full: wait for room until its deadline, or fail at once.
enum class when_full { wait, refuse };

/// How calls become batches.
///
/// Units     `max_batch`: examples of a run; `max_delay`: what the first of them waits for others, so what latency may grow by;
///           `max_queue`: examples that wait, at most; `deadline`: from a call to its answer, 1 ms to 1,000 h; `runs` at the
///           same time, each on a thread of its own with the model's number of threads.
struct dynamic_batching {
  int max_batch = 32;
  std::chrono::microseconds max_delay = std::chrono::milliseconds(1);
  int max_queue = 1024;
  std::chrono::milliseconds deadline = std::chrono::seconds(10);
  int runs = 1;
  when_full full = when_full::wait;
};

/// Puts the examples of many callers together and predicts them at once (dynamic batching).
///
/// Shapes    a call brings one example or a few, up to max_batch: n × the model's inputs, f32.
/// Order     of the queue: who waits for room is not in it. A batch runs when it is full, or when its first example has waited
///           for max_delay.
///           Calls come from any thread. The model must outlive this, and is not trained or loaded meanwhile.
/// After     stop, or the destructor: new calls are refused, those that wait are answered.
/// Errors    shape_error and setting_error where a call does not fit, deadline_error where it is not answered in time or the
///           queue is full: to this caller alone. What a run throws: to those whose examples it had.
/// Source    the dynamic batcher of NVIDIA Triton; Olston et al., TensorFlow-Serving, 2017.
class dynamic_batcher {
 public:
  /// What predicts: inputs in, one row of outputs an example.
  using run_function = std::function<predictions(std::span<tensor_view const>)>;

  explicit dynamic_batcher(training const& model, dynamic_batching how = {});
  /// Any function in a model's place, with the shapes of its inputs without the batch.
  dynamic_batcher(run_function run, std::vector<shape> inputs, dynamic_batching how = {});
  ~dynamic_batcher() { stop(); }
  dynamic_batcher(dynamic_batcher const&) = delete;
  dynamic_batcher& operator=(dynamic_batcher const&) = delete;

  /// Begins a call; `deadline` instead of the settings'.
  pending_predictions submit(std::span<tensor_view const> inputs, std::chrono::milliseconds deadline);
  pending_predictions submit(tensor_view input) { return submit({&input, 1}, how_.deadline); }

  /// The same, waiting for the answer.
  predictions predict(std::span<tensor_view const> inputs, std::chrono::milliseconds deadline);
  predictions predict(tensor_view input) { return submit(input).get(); }

  /// Refuses calls from now on, and returns when those that waited are answered and no run is under way. Not for two threads at
  /// once.
  void stop();

  /// Examples that wait now.
  int queued() const;

 private:
  using clock = detail::batched_call::clock;
  using calls = std::vector<std::shared_ptr<detail::batched_call>>;
  static constexpr std::chrono::hours longest{1000};

  static void check(std::chrono::milliseconds deadline);

  static std::vector<shape> inputs_of(graph_view net);

  int checked_count(std::span<tensor_view const> inputs) const;

  /// Whether a batch can begin.  Before: the lock is held.
  bool is_due() const;
  /// Drops the calls whose callers have gone, or whose time is over.  Before: the lock is held.
  void drop_gone();
  /// Takes the calls of a batch off the queue.  Before: the lock is held.
  calls take();

  void work();

  /// Predicts a batch and answers its calls.
  void run(calls const& batch, std::vector<reusable_buffer>& memory) const;

  run_function run_;
  std::vector<shape> inputs_;
  dynamic_batching how_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;  // a call, or the stop
  std::condition_variable room_;     // in the queue, or the stop
  std::deque<std::shared_ptr<detail::batched_call>> waiting_;
  int queued_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/dynamic_batcher.ipp>
#endif
