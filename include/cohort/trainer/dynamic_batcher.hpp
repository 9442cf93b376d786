// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cohort/trainer/pending_predictions.hpp>
#include <cohort/trainer/training.hpp>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
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

  explicit dynamic_batcher(training const& model, dynamic_batching how = {})
      : dynamic_batcher([&model](std::span<tensor_view const> inputs) { return model.predict(inputs); },
                        inputs_of(model.network()), how) {}
  /// Any function in a model's place, with the shapes of its inputs without the batch.
  dynamic_batcher(run_function run, std::vector<shape> inputs, dynamic_batching how = {})
      : run_(std::move(run)), inputs_(std::move(inputs)), how_(how) {
    if (how.max_batch < 1 || how.runs < 1 || how.max_queue < how.max_batch || how.max_delay.count() < 0
        || how.max_delay > longest)
      throw setting_error(
          {.what = "these settings batch nothing",
           .expected = "max_batch and runs from 1, max_queue from max_batch, max_delay from 0 to 1,000 h",
           .got = {how.max_batch, ", ", how.runs, ", ", how.max_queue, ", ", how.max_delay.count(), " us"}});
    check(how.deadline);
    try {
      for (int i = 0; i < how.runs; ++i) threads_.emplace_back([this] { work(); });
    } catch (...) {
      stop();
      throw;
    }
  }
  ~dynamic_batcher() { stop(); }
  dynamic_batcher(dynamic_batcher const&) = delete;
  dynamic_batcher& operator=(dynamic_batcher const&) = delete;

  /// Begins a call; `deadline` instead of the settings'.
  pending_predictions submit(std::span<tensor_view const> inputs, std::chrono::milliseconds deadline) {
    int const count = checked_count(inputs);
    check(deadline);
    auto const mine = std::make_shared<detail::batched_call>(
        std::vector<tensor_view>(inputs.begin(), inputs.end()), count, clock::now() + deadline);
    std::unique_lock lock(mutex_);
    auto const has_room = [&] {
      if (!stopping_ && queued_ + count > how_.max_queue) drop_gone();
      return stopping_ || queued_ + count <= how_.max_queue;
    };
    if (how_.full == when_full::wait) room_.wait_until(lock, mine->limit, has_room);
    if (stopping_) throw setting_error({.what = "the batcher was stopped: it takes no more calls"});
    if (!has_room())
      throw deadline_error({.what = "the queue of the batcher is full",
                            .expected = {"at most ", how_.max_queue, " examples"},
                            .got = {queued_, " waiting, and ", count}});
    mine->since = clock::now();
    waiting_.push_back(mine);
    queued_ += count;
    lock.unlock();
    arrived_.notify_one();
    return pending_predictions(mine);
  }
  pending_predictions submit(tensor_view input) { return submit({&input, 1}, how_.deadline); }

  /// The same, waiting for the answer.
  predictions predict(std::span<tensor_view const> inputs, std::chrono::milliseconds deadline) {
    return submit(inputs, deadline).get();
  }
  predictions predict(tensor_view input) { return submit(input).get(); }

  /// Refuses calls from now on, and returns when those that waited are answered and no run is under way. Not for two threads at
  /// once.
  void stop() {
    {
      std::lock_guard const lock(mutex_);
      stopping_ = true;
    }
    arrived_.notify_all();
    room_.notify_all();
    for (std::thread& one : threads_) one.join();
    threads_.clear();
  }

  /// Examples that wait now.
  int queued() const {
    std::lock_guard const lock(mutex_);
    return queued_;
  }

 private:
  using clock = detail::batched_call::clock;
  using calls = std::vector<std::shared_ptr<detail::batched_call>>;
  static constexpr std::chrono::hours longest{1000};

  static void check(std::chrono::milliseconds deadline) {
    if (deadline.count() < 1 || deadline > longest)
      throw setting_error({.what = "a call cannot have this deadline",
                           .expected = "1 ms to 1,000 h",
                           .got = {deadline.count(), " ms"}});
  }

  static std::vector<shape> inputs_of(graph_view net) {
    std::vector<shape> shapes;
    for (int id : net.with_role(layer_role::input)) shapes.push_back(net[id].output);
    return shapes;
  }

  int checked_count(std::span<tensor_view const> inputs) const {
    int const count = inputs.empty() || inputs[0].dims.rank == 0 ? 0 : inputs[0].dims[0];
    if (inputs.size() != inputs_.size() || count < 1)
      throw shape_error({.what = "a call needs all inputs of the network, of one example or more",
                         .expected = {inputs_.size(), " inputs"},
                         .got = {inputs.size(), " inputs, ", count, " examples"}});
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (!(inputs[i].dims == inputs_[i].batched(count)) || inputs[i].type != element_type::f32)
        throw shape_error({.what = "an input has another shape or type than the network's",
                           .where = {"input ", i},
                           .expected = {to_string(inputs_[i].batched(count)), " x f32"},
                           .got = {to_string(inputs[i].dims), " x ", name_of(inputs[i].type)}});
    if (count > how_.max_batch)
      throw setting_error({.what = "a call brings more examples than a batch takes",
                           .expected = {"at most ", how_.max_batch},
                           .got = {count}});
    return count;
  }

  /// Whether a batch can begin.  Before: the lock is held.
  bool is_due() const {
    return !waiting_.empty()
           && (stopping_ || queued_ >= how_.max_batch
               || clock::now() >= waiting_.front()->since + how_.max_delay);
  }
  /// Drops the calls whose callers have gone, or whose time is over.  Before: the lock is held.
  void drop_gone() {
    std::erase_if(waiting_, [&](auto const& one) {
      bool const gone = one->is_over();
      if (gone) queued_ -= one->count;
      return gone;
    });
  }
  /// Takes the calls of a batch off the queue.  Before: the lock is held.
  calls take() {
    calls batch;
    for (int count = 0; !waiting_.empty(); waiting_.pop_front()) {
      auto const& next = waiting_.front();
      if (count + next->count > how_.max_batch) break;
      queued_ -= next->count;
      count += next->count;
      batch.push_back(next);
    }
    return batch;
  }

  void work() {
    std::vector<reusable_buffer> memory(inputs_.size());
    std::unique_lock lock(mutex_);
    for (;;) {
      drop_gone();
      if (waiting_.empty()) {
        if (stopping_) return;
        arrived_.wait_for(lock, std::chrono::seconds(1));
        continue;
      }
      if (!is_due()) arrived_.wait_until(lock, waiting_.front()->since + how_.max_delay);
      if (!is_due()) continue;
      calls const batch = take();
      bool const more = !waiting_.empty();
      lock.unlock();
      room_.notify_all();
      if (more) arrived_.notify_one();
      if (!batch.empty()) run(batch, memory);
      lock.lock();
    }
  }

  /// Predicts a batch and answers its calls.
  void run(calls const& batch, std::vector<reusable_buffer>& memory) const {
    try {
      int count = 0;
      for (auto const& one : batch) count += one->count;
      std::vector<tensor_view> inputs;
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        shape const whole = inputs_[i].batched(how_.max_batch);
        memory[i].resize(static_cast<std::size_t>(whole.elements()) * sizeof(float));
        std::byte* to = memory[i].data();
        for (auto const& one : batch) {
          one->copy_input(i, to);
          to += one->input_bytes(i);
        }
        inputs.emplace_back(memory[i].data(), element_type::f32, inputs_[i].batched(count));
      }
      predictions const made = run_(inputs);
      auto const size = static_cast<std::ptrdiff_t>(made.example.elements());
      if (std::ssize(made.values) != size * count)
        throw shape_error({.what = "a run has not given one row of outputs for each example",
                           .expected = {size * count, " values"},
                           .got = {made.values.size()}});
      auto from = made.values.begin();
      for (auto const& one : batch) {
        auto const end = from + one->count * size;
        one->answer({made.example, {from, end}});
        from = end;
      }
    } catch (...) {
      for (auto const& one : batch) one->fail(std::current_exception());
    }
  }

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
