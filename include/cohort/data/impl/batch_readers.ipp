// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/detail/batch_readers.hpp>
#include <cohort/error/exceptions.hpp>
#include <utility>

namespace cohort::detail {

batch_reading::batch_reading(dataset from, int readers)
    : data(std::move(from)), writer(data.describe()), examples(static_cast<std::size_t>(readers)) {
  for (example_view& one : examples) one.allocate(data.describe());
}

void batch_reading::read_rows(std::unique_lock<std::mutex>& lock, example_view& example) {
  while (next_row < indices.size()) {
    std::size_t const row = next_row++;
    std::int64_t const index = indices[row];
    batch& to = *out;
    example.epoch = to.epoch;
    ++reading;
    lock.unlock();
    std::exception_ptr failed;
    try {
      data.model().get(index, example);
      std::shared_lock const may_write(writing);
      if (!abandoned) writer.write(example, to, row);
    } catch (...) {
      failed = std::current_exception();
    }
    lock.lock();
    --reading;
    if (!failed) continue;
    if (!failure || row < failed_row) {
      failure = failed;
      failed_row = row;
    }
    next_row = indices.size();  // all lower rows have been claimed
  }
}

void batch_reading::run(std::size_t reader) {
  std::unique_lock lock(mutex);
  while (!stopping) {
    read_rows(lock, examples[reader]);
    changed.notify_all();
    changed.wait_for(lock, std::chrono::seconds(1), [&] { return stopping || next_row < indices.size(); });
  }
  --running;
  changed.notify_all();
}

batch_readers::batch_readers(dataset data, int readers, std::chrono::milliseconds deadline)
    : deadline_(deadline), state_(std::make_shared<batch_reading>(std::move(data), readers)) {
  try {
    for (std::size_t reader = 1; reader < state_->examples.size(); ++reader) {
      threads_.emplace_back([state = state_, reader] { state->run(reader); });
      std::lock_guard const lock(state_->mutex);
      ++state_->running;
    }
  } catch (...) {
    stop();
    throw;
  }
}

void batch_readers::stop() {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  bool const ended = state_->changed.wait_for(lock, deadline_, [&] { return state_->running == 0; });
  lock.unlock();
  for (std::thread& one : threads_)
    if (ended)
      one.join();  // bounded: the reader has finished its work
    else
      one.detach();
}

void batch_readers::gather(std::span<std::int64_t const> indices, batch& out) {
  batch_reading& s = *state_;
  std::unique_lock lock(s.mutex);
  if (s.abandoned) refuse_late_readers();
  s.out = &out;
  s.indices.assign(indices.begin(), indices.end());
  s.next_row = 0;
  s.failure = nullptr;
  s.changed.notify_all();
  s.read_rows(lock, s.examples[0]);
  if (!s.changed.wait_for(lock, deadline_, [&] { return s.reading == 0; })) {
    lock.unlock();
    std::unique_lock const nobody_writes(s.writing);
    s.abandoned = true;
    refuse_late_readers();
  }
  if (s.failure) std::rethrow_exception(std::exchange(s.failure, nullptr));
}

void batch_readers::refuse_late_readers() const {
  throw deadline_error({.what = "the data set did not provide an example in time",
                        .where = {threads_.size() + 1, " readers"},
                        .expected = {"each example of a batch within ", deadline_.count(), " ms"},
                        .got = "no example"});
}

}  // namespace cohort::detail
