// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/detail/prefetcher.hpp>
#include <utility>

namespace cohort::detail {

batch_queue::batch_queue(dataset data, loader_settings settings)
    : source_(std::move(data), settings), slots_(static_cast<std::size_t>(settings.prefetch) + 1) {}

void batch_queue::start(std::int64_t epoch, std::int64_t position) {
  std::lock_guard const lock(mutex_);
  ++generation_;
  epoch_ = epoch;
  position_ = position;
  ready_ = 0;
  ended_ = false;
  failure_ = nullptr;
  changed_.notify_all();
}

bool batch_queue::pop(std::chrono::milliseconds deadline, batch const*& out) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, deadline, [&] { return ready_ > 0 || ended_; })) return false;
  if (ready_ == 0) {
    if (failure_) std::rethrow_exception(failure_);
    out = nullptr;
    return true;
  }
  out = &slots_[next_];
  next_ = (next_ + 1) % slots_.size();
  --ready_;
  changed_.notify_all();
  return true;
}

bool batch_queue::stop(std::chrono::milliseconds deadline) {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  return changed_.wait_for(lock, deadline, [&] { return stopped_; });
}

void batch_queue::run() {
  std::unique_lock lock(mutex_);
  std::uint64_t mine = 0;
  while (!stopping_) {
    bool const restart = mine != generation_;
    if (!restart && (mine == 0 || ended_ || ready_ + 1 >= slots_.size())) {
      changed_.wait_for(lock, std::chrono::seconds(1));
      continue;
    }
    mine = generation_;
    std::int64_t const epoch = epoch_;
    std::int64_t const position = position_;
    batch& slot = slots_[(next_ + ready_) % slots_.size()];
    std::exception_ptr failure;
    bool more = false;
    lock.unlock();
    try {
      if (restart) source_.start(epoch, position);
      more = source_.fill(slot);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (mine != generation_) continue;
    if (more) ++ready_;
    ended_ = !more;
    failure_ = failure;
    changed_.notify_all();
  }
  stopped_ = true;
  changed_.notify_all();
}

prefetcher::prefetcher(dataset data, loader_settings const& settings)
    : deadline_(settings.deadline),
      queue_(std::make_shared<batch_queue>(std::move(data), settings)),
      thread_([queue = queue_] { queue->run(); }) {}

prefetcher::~prefetcher() {
  if (queue_->stop(deadline_))
    thread_.join();  // bounded: the thread has finished its work
  else
    thread_.detach();
}

}  // namespace cohort::detail
