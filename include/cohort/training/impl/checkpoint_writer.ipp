// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/training/detail/checkpoint_writer.hpp>
#include <exception>
#include <new>
#include <system_error>
#include <utility>

namespace cohort::detail {

void writer_ranks::open(communicator& world) {
  std::lock_guard const lock(mutex_);
  if (!ranks_) ranks_ = world.duplicate();
}

void writer_ranks::close() {
  std::lock_guard const lock(mutex_);  // bounded by the deadline of the thread's operation
  ranks_.reset();
}

communicator& writer_ranks::opened() const {
  if (!ranks_) throw communicator_error({.what = "the ranks have changed"});
  return *ranks_;
}

void checkpoint_job::run(writer_ranks& ranks) noexcept {
  std::string trouble;
  try {
    ranks.access([&](communicator& world) { save_.begin(world); });
    save_.write_rank_file();
    ranks.access([&](communicator& world) { save_.exchange(world); });
    try {
      if (is_collective())
        ranks.access([&](communicator& world) { save_.finish(&world); });
      else
        save_.finish(nullptr);
    } catch (std::exception const& failure) {
      save_.refuse_rank_0(failure.what());
    }
  } catch (std::exception const& failure) {
    trouble = failure.what();
    if (trouble.empty()) trouble = "no reason given";
  } catch (...) {
    trouble = "an exception that is not a std::exception";
  }
  std::lock_guard const lock(mutex_);
  trouble_ = std::move(trouble);
  has_ended_ = true;
  changed_.notify_all();
}

bool checkpoint_job::ends_within(std::chrono::milliseconds limit) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] { return has_ended_; });
}

bool checkpoint_job::wait(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  std::uint64_t seen = memory_->reads();
  if (has_ended_ || stalled_at_ == seen) return has_ended_;
  while (!changed_.wait_for(lock, limit, [&] { return has_ended_; }))
    if (std::uint64_t const before = std::exchange(seen, memory_->reads()); before == seen) {
      stalled_at_ = seen;
      return false;
    }
  return true;
}

checkpoint_writer::~checkpoint_writer() {
  if (wait(limit_))
    join();
  else
    thread_.detach();
}

void checkpoint_writer::join() {
  if (thread_.joinable()) thread_.join();  // bounded: the thread has finished its work
}

void checkpoint_writer::reserve(std::vector<std::size_t> const& blocks) {
  join();
  memory_ = std::make_shared<snapshot_memory>();
  if (blocks.empty()) return;
  try {
    thread_ = std::thread([memory = memory_, blocks] {
      try {
        for (std::size_t const bytes : blocks) memory->reserve(bytes);
      } catch (std::bad_alloc const&) {  // the next snapshot reports it
      }
    });
  } catch (std::system_error const&) {  // the next snapshot allocates
  }
}

std::shared_ptr<snapshot_memory> const& checkpoint_writer::next_snapshot() {
  join();
  if (!memory_) memory_ = std::make_shared<snapshot_memory>();
  memory_->restart();
  return memory_;
}

std::shared_ptr<checkpoint_job> checkpoint_writer::start(communicator& world, checkpoint_target const& target,
                                                         checkpoint_content content) {
  limit_ = writing_limit(world);
  ranks_->open(world);
  job_ = std::make_shared<checkpoint_job>(target, std::move(content), memory_);
  bool has_started = false;
  if (!job_->is_collective()) try {
      thread_ = std::thread([job = job_, ranks = ranks_] { job->run(*ranks); });
      has_started = true;
    } catch (std::system_error const&) {  // the other ranks' threads need this rank
    }
  if (!has_started) job_->run(*ranks_);
  return job_;
}

void checkpoint_writer::free_memory() {
  if (is_writing()) return;
  join();
  job_.reset();
  memory_.reset();
}

std::chrono::milliseconds writing_limit(communicator const& world) {
  return world.settings().deadline * 3 / 4;
}

}  // namespace cohort::detail
