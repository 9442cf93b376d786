// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/trainer/dynamic_batcher.hpp>
#include <exception>
#include <utility>

namespace cohort {

COHORT_CORE_INLINE dynamic_batcher::dynamic_batcher(training const& model, dynamic_batching how)
    : dynamic_batcher([&model](std::span<tensor_view const> inputs) { return model.predict(inputs); },
                      inputs_of(model.network()), how) {}

COHORT_CORE_INLINE dynamic_batcher::dynamic_batcher(run_function run, std::vector<shape> inputs,
                                                    dynamic_batching how)
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

COHORT_CORE_INLINE pending_predictions dynamic_batcher::submit(std::span<tensor_view const> inputs,
                                                               std::chrono::milliseconds deadline) {
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

COHORT_CORE_INLINE predictions dynamic_batcher::predict(std::span<tensor_view const> inputs,
                                                        std::chrono::milliseconds deadline) {
  return submit(inputs, deadline).get();
}

COHORT_CORE_INLINE void dynamic_batcher::stop() {
  {
    std::lock_guard const lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_all();
  room_.notify_all();
  for (std::thread& one : threads_) one.join();
  threads_.clear();
}

COHORT_CORE_INLINE int dynamic_batcher::queued() const {
  std::lock_guard const lock(mutex_);
  return queued_;
}

COHORT_CORE_INLINE void dynamic_batcher::check(std::chrono::milliseconds deadline) {
  if (deadline.count() < 1 || deadline > longest)
    throw setting_error({.what = "a call cannot have this deadline",
                         .expected = "1 ms to 1,000 h",
                         .got = {deadline.count(), " ms"}});
}

COHORT_CORE_INLINE std::vector<shape> dynamic_batcher::inputs_of(graph_view net) {
  std::vector<shape> shapes;
  for (int id : net.with_role(layer_role::input)) shapes.push_back(net[id].output);
  return shapes;
}

COHORT_CORE_INLINE int dynamic_batcher::checked_count(std::span<tensor_view const> inputs) const {
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

COHORT_CORE_INLINE bool dynamic_batcher::is_due() const {
  return !waiting_.empty()
         && (stopping_ || queued_ >= how_.max_batch
             || clock::now() >= waiting_.front()->since + how_.max_delay);
}

COHORT_CORE_INLINE void dynamic_batcher::drop_gone() {
  std::erase_if(waiting_, [&](auto const& one) {
    bool const gone = one->is_over();
    if (gone) queued_ -= one->count;
    return gone;
  });
}

COHORT_CORE_INLINE dynamic_batcher::calls dynamic_batcher::take() {
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

COHORT_CORE_INLINE void dynamic_batcher::work() {
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

COHORT_CORE_INLINE void dynamic_batcher::run(calls const& batch, std::vector<reusable_buffer>& memory) const {
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

}  // namespace cohort
