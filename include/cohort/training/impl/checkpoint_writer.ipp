// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/training/detail/checkpoint_writer.hpp>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <utility>

namespace cohort::detail {

void writer_ranks::open(communicator& world) {
  std::lock_guard const lock(mutex_);
  if (!ranks_) ranks_ = world.duplicate();
}

void writer_ranks::meet() {
  static constexpr std::byte token{};
  constexpr int tag = 0;
  constexpr std::chrono::milliseconds pause{5};
  int arrived = 1;  // ranks whose threads have called `meet`, as far as rank 0 knows
  bool is_announced = false;
  auto const receive_from = [&](communicator& world, int rank) {
    std::optional<arrival> const found = world.probe(rank, tag);
    std::byte received{};
    if (found) world.receive({&received, 1}, found->from, tag);
    return found.has_value();
  };
  auto const have_met = [&](communicator& world) {
    if (world.rank() != 0) {
      if (!std::exchange(is_announced, true)) world.start_send({&token, 1}, 0, tag);
      return receive_from(world, 0);
    }
    while (arrived < world.size() && receive_from(world, communicator::any_source)) ++arrived;
    if (arrived < world.size()) return false;
    for (int rank = 1; rank < world.size(); ++rank) world.start_send({&token, 1}, rank, tag);
    return true;
  };
  std::unique_lock lock(mutex_);
  while (!have_met(opened())) closed_.wait_for(lock, pause);
}

void writer_ranks::close() {
  std::lock_guard const lock(mutex_);  // bounded by the deadline of the thread's operation
  ranks_.reset();
  closed_.notify_all();
}

communicator& writer_ranks::opened() const {
  if (!ranks_) throw communicator_error({.what = "the ranks have changed"});
  return *ranks_;
}

/// Returns the target with a function that counts the thread's progress.
checkpoint_target counted(checkpoint_target target, std::shared_ptr<snapshot_memory> const& memory) {
  target.on_progress = [memory] { memory->count_progress(); };
  return target;
}

checkpoint_job::checkpoint_job(communicator const& world, checkpoint_target target,
                               checkpoint_content content, std::shared_ptr<snapshot_memory> memory)
    : content_(std::move(content)),
      memory_(std::move(memory)),
      save_(world, counted(std::move(target), memory_), content_) {}

void checkpoint_job::write(writer_ranks& ranks) {
  // A collective job runs on the training threads, whose waits have a deadline.
  auto const meet = [&] {
    if (!is_collective()) ranks.meet();
    memory_->count_progress();
  };
  save_.create_folder();
  meet();
  ranks.access([&](communicator& world) { save_.begin(world); });
  save_.write_rank_file();
  meet();
  ranks.access([&](communicator& world) { save_.exchange(world); });
  try {
    if (is_collective())
      ranks.access([&](communicator& world) { save_.finish(&world); });
    else
      save_.finish(nullptr);
  } catch (std::exception const& failure) {
    save_.refuse_rank_0(failure.what());
  }
}

void checkpoint_job::run(writer_ranks& ranks) noexcept {
  std::string trouble;
  try {
    write(ranks);
  } catch (std::exception const& failure) {
    trouble = failure.what();
    if (trouble.empty()) trouble = "no reason given";
    if (dynamic_cast<file_error const*>(&failure)) save_.roll_back();
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
  std::uint64_t seen = memory_->progress();
  if (has_ended_ || stalled_at_ == seen) return has_ended_;
  while (!changed_.wait_for(lock, limit, [&] { return has_ended_; }))
    if (std::uint64_t const before = std::exchange(seen, memory_->progress()); before == seen) {
      stalled_at_ = seen;
      return false;
    }
  return true;
}

checkpoint_writer::~checkpoint_writer() {
  bool const is_stalled = job_ && !job_->wait(limit_);
  if (!is_stalled) join();
  ranks_->close();  // ends a thread that waits for other ranks
  if (thread_.joinable()) thread_.detach();
}

/// What the ranks know about their writing threads.
struct checkpoint_writer::ranks_progress {
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  std::uint64_t writing = 0;         // number of threads that write
  std::uint64_t operations = 0;      // of all threads
  std::uint64_t stalled_at = never;  // number of operations at which wait_for_ranks has failed
};

checkpoint_writer::ranks_progress checkpoint_writer::progress_of_ranks(communicator& world,
                                                                       std::string_view call,
                                                                       std::chrono::milliseconds limit) {
  ranks_progress const own{.writing = ends_within(limit) ? 0U : 1U,
                           .operations = memory_ ? memory_->progress() : 0,
                           .stalled_at = stalled_at_.value_or(ranks_progress::never)};
  shared_outcome const outcome = outcome_of_all(
      world, call, [&] { return std::string(reinterpret_cast<char const*>(&own), sizeof own); });
  ranks_progress all;
  for (std::string const& received : outcome.texts) {
    ranks_progress of_rank;
    std::memcpy(&of_rank, received.data(), std::min(sizeof of_rank, received.size()));
    all.writing += of_rank.writing;
    all.operations += of_rank.operations;
    all.stalled_at = std::min(all.stalled_at, of_rank.stalled_at);
  }
  return all;
}

bool checkpoint_writer::wait_for_ranks(communicator& world, std::string_view call) {
  constexpr int rounds = 6;  // without progress; each is well below the deadline
  ranks_progress all = progress_of_ranks(world, call, {});
  int idle = all.stalled_at == all.operations ? rounds : 0;
  while (all.writing > 0 && idle < rounds) {
    std::uint64_t const before = all.operations;
    all = progress_of_ranks(world, call, writing_limit(world) / rounds);
    idle = all.operations == before ? idle + 1 : 0;
  }
  stalled_at_ = all.writing > 0 ? std::optional(all.operations) : std::nullopt;
  return all.writing == 0;
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
  job_ = std::make_shared<checkpoint_job>(world, target, std::move(content), memory_);
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
