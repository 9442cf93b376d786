// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/chrono.hpp>
#include <cohort/prediction/pending_predictions.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cohort/training/training.hpp>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace cohort {

/// Behaviour of a call if the queue is full: wait for space until its deadline, or fail at once.
enum class when_full { wait, refuse };

/// Settings of a dynamic_batcher.
///
/// Units     `max_batch`: examples per run. `max_delay`: longest time that a batch's first call waits for
///           further calls; the largest latency that batching adds. `max_queue`: largest number of queued
///           examples. `deadline`: longest time from a call to its answer, 1 ms to 1,000 h. `runs`: number
///           of concurrent runs, each on a separate thread. With a model, the kernels of each run use the
///           model's number of threads.
struct dynamic_batching {
  int max_batch = 32;
  std::chrono::microseconds max_delay = std::chrono::milliseconds(1);
  int max_queue = 1024;
  std::chrono::milliseconds deadline = std::chrono::seconds(10);
  int runs = 1;
  when_full full = when_full::wait;
};

/// Combines the examples of many callers into batches and predicts them together (dynamic batching).
///
/// Shapes    a call has 1 to max_batch examples: n × the model's inputs, in f32; indices may also be i32.
///           Calls with a batch_view may have masks. Calls whose inputs differ in type, and calls with and
///           without masks, run in different batches.
/// Order     the queue is first in, first out; a call that waits for space is not in the queue yet. A batch
///           runs as soon as one of the `runs` threads is free, and either max_batch examples are queued or
///           the batch's first call has waited for max_delay. All members are thread-safe except stop. The
///           model must outlive the batcher, and must not be trained or loaded while the batcher exists.
/// After     stop or the destructor: new calls are refused, and the queued calls are answered.
/// Errors    shape_error and setting_error for an invalid call; deadline_error if the call is not answered in
///           time or the queue is full. Other callers do not get these errors. If the run of a batch
///           fails, all callers of the batch get the error.
/// Source    the dynamic batcher of NVIDIA Triton; Olston et al., TensorFlow-Serving, 2017.
class dynamic_batcher {
 public:
  /// Computes predictions: takes the inputs, returns one row of outputs per example.
  using run_function = std::function<predictions(std::span<tensor_view const>)>;

  /// Predicts with `model`.
  explicit dynamic_batcher(training const& model, dynamic_batching how = {});
  /// Predicts with any function. `inputs`: the shapes of the function's inputs, without the batch dimension.
  dynamic_batcher(run_function run, std::vector<shape> inputs, dynamic_batching how = {});
  ~dynamic_batcher() { stop(); }
  dynamic_batcher(dynamic_batcher const&) = delete;
  dynamic_batcher& operator=(dynamic_batcher const&) = delete;

  /// Queues a call and returns without waiting for its answer. `deadline` overrides the settings' deadline.
  pending_predictions submit(std::span<tensor_view const> inputs, std::chrono::milliseconds deadline);
  pending_predictions submit(tensor_view input) { return submit(std::span(&input, 1), how_.deadline); }
  /// Like the first submit, but the call may have masks (see batch_view): one per masked input, or none.
  /// Targets are ignored.
  pending_predictions submit(batch_view const& call, std::chrono::milliseconds deadline);
  pending_predictions submit(batch_view const& call) { return submit(call, how_.deadline); }

  /// Queues a call and blocks until its answer or its deadline.
  predictions predict(std::span<tensor_view const> inputs, std::chrono::milliseconds deadline);
  predictions predict(tensor_view input) { return submit(input).get(); }
  predictions predict(batch_view const& call) { return submit(call).get(); }

  /// Refuses new calls, answers the queued ones, and blocks until no run is active. Not thread-safe.
  void stop();

  /// Number of queued examples.
  int queued() const;

 private:
  using clock = detail::batched_call::clock;
  using calls = std::vector<std::shared_ptr<detail::batched_call>>;
  static constexpr std::chrono::hours longest{1000};  // limit of deadlines and max_delay

  /// Errors    setting_error for a deadline out of range.
  static void check(std::chrono::milliseconds deadline);

  /// Shape and type of one input or mask of an example.
  struct part {
    shape example;
    bool may_be_indices = false;
  };
  struct parts {
    std::vector<part> inputs, masks;
  };
  using batch_function = std::function<predictions(batch_view const&)>;

  dynamic_batcher(batch_function run, parts of, dynamic_batching how);
  static parts parts_of(graph_view net);

  /// Returns the number of examples of a call.
  ///
  /// Errors    shape_error and setting_error for an invalid call.
  int checked_count(std::span<tensor_view const> inputs, std::span<tensor_view const> masks) const;
  pending_predictions submit(std::span<tensor_view const> inputs, std::span<tensor_view const> masks,
                             std::chrono::milliseconds deadline);
  /// Returns whether a batch can start.   Before  mutex_ is locked.
  bool is_due() const;
  /// Removes calls that were cancelled or have exceeded their deadline.   Before  mutex_ is locked.
  void drop_expired();
  /// Removes the calls of the next batch from the queue and returns them.   Before  mutex_ is locked.
  calls dequeue_batch();

  /// Loop of one thread.
  void work();

  /// Predicts a batch and answers its calls.
  void run(calls const& batch, std::vector<reusable_buffer>& memory) const;

  batch_function run_;
  parts parts_;
  dynamic_batching how_;
  mutable std::mutex mutex_;
  std::condition_variable work_available_;   // also notified by stop
  std::condition_variable space_available_;  // also notified by stop
  std::deque<std::shared_ptr<detail::batched_call>> waiting_;
  int queued_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cohort
