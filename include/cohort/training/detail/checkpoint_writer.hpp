// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/checkpoint_directory.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/training/detail/snapshot_memory.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace cohort::detail {

/// A duplicate of a run's communicator, which writing threads use until the ranks change.
class writer_ranks {
 public:
  /// Calls use(communicator).  Errors: communicator_error if the ranks have changed.
  template <class Use>
  void access(Use use) {
    std::lock_guard const lock(mutex_);
    use(opened());
  }
  /// Collective. Duplicates `world`, unless there is a duplicate.
  void open(communicator& world);
  /// Blocks until all ranks' threads have called this function. A thread that waits has no pending operation,
  /// so that it may wait longer than the deadline: the thread of another rank may wait for a disk.
  ///
  /// Errors    communicator_error if the ranks have changed, or if a rank was lost.
  void meet();
  /// Destroys the duplicate. If a thread is in `access`, waits for the end of this operation.
  void close();

 private:
  communicator& opened() const;

  std::mutex mutex_;
  std::condition_variable closed_;
  std::unique_ptr<communicator> ranks_{};
};

/// A checkpoint that a thread writes.
class checkpoint_job {
 public:
  checkpoint_job(communicator const& world, checkpoint_target target, checkpoint_content content,
                 std::shared_ptr<snapshot_memory> memory);

  std::int64_t step() const { return content_.position.step; }
  std::string const& path() const { return save_.path(); }

  /// Returns whether the ranks write the shared file together, from the live state.
  bool is_collective() const { return content_.shared && content_.shared->is_collective(); }

  /// Writes the checkpoint.
  void run(writer_ranks& ranks) noexcept;

  bool has_ended() const { return ends_within({}); }
  /// Blocks until the thread has ended its work, at most for `limit`.
  bool ends_within(std::chrono::milliseconds limit) const;
  /// Blocks until the thread has ended its work. Returns false if the thread has made no progress for
  /// `limit`; later calls then return false at once until the thread makes progress.
  bool wait(std::chrono::milliseconds limit);
  /// Returns why the checkpoint could not be written; empty: it is complete, which only rank 0 knows.
  ///
  /// Before    has_ended().
  std::string const& trouble() const { return trouble_; }
  /// Returns why old checkpoints could not be removed.  Before: has_ended().
  std::string const& removal_error() const { return save_.removal_error(); }

 private:
  void write(writer_ranks& ranks);

  checkpoint_content content_;
  std::shared_ptr<snapshot_memory> memory_;
  checkpoint_save save_;
  mutable std::mutex mutex_;  // guards the members below
  mutable std::condition_variable changed_;
  bool has_ended_ = false;
  std::string trouble_{};
  std::optional<std::uint64_t> stalled_at_{};  // progress at which a wait has failed
};

/// Writes checkpoints of a run on another thread, one at a time.
///
///     if (!writer.wait_for_ranks(world, call)) …               // a thread is stalled
///     snapshot_memory& copies = writer.next_snapshot();        // copy the state
///     auto const job = writer.start(world, target, content);   // the thread writes the copies
///
/// Order     one thread calls. start is collective.
/// After     the destructor waits for the thread. A thread that makes no progress is detached.
class checkpoint_writer {
 public:
  checkpoint_writer() = default;
  checkpoint_writer(checkpoint_writer const&) = delete;
  checkpoint_writer& operator=(checkpoint_writer const&) = delete;
  ~checkpoint_writer();

  /// Blocks until no rank writes a checkpoint. Returns false on all ranks if no thread has made progress for
  /// writing_limit(world); later calls then return false at once until a thread makes progress. `call`
  /// names the user's collective call.
  ///
  /// Order     collective.
  bool wait_for_ranks(communicator& world, std::string_view call);
  /// Blocks until no checkpoint is being written, at most for `limit`.
  bool ends_within(std::chrono::milliseconds limit) const { return !job_ || job_->ends_within(limit); }
  bool is_writing() const { return job_ && !job_->has_ended(); }

  /// Another thread allocates blocks of these sizes for the first snapshot.  Before: !memory().
  void reserve(std::vector<std::size_t> const& blocks);
  /// Memory for the state that the next checkpoint contains.  Before: !is_writing().
  std::shared_ptr<snapshot_memory> const& next_snapshot();
  /// Memory of the snapshots; null before reserve and next_snapshot, and after free_memory.
  snapshot_memory const* memory() const { return memory_.get(); }
  /// Starts to write a checkpoint. If the job is collective, or if no thread can be started, writes it before
  /// it returns.  Before: !is_writing().
  std::shared_ptr<checkpoint_job> start(communicator& world, checkpoint_target const& target,
                                        checkpoint_content content);

  /// The ranks change: a checkpoint that needs the other ranks ends with an error.
  void leave_ranks() { ranks_->close(); }
  /// Frees the memory, unless a checkpoint is being written.
  void free_memory();

 private:
  struct ranks_progress;
  /// Collective. Waits for this rank's thread, at most for `limit`.
  ranks_progress progress_of_ranks(communicator& world, std::string_view call,
                                   std::chrono::milliseconds limit);
  void join();

  std::shared_ptr<writer_ranks> ranks_ = std::make_shared<writer_ranks>();
  std::shared_ptr<snapshot_memory> memory_{};
  std::shared_ptr<checkpoint_job> job_{};
  std::chrono::milliseconds limit_{0};
  std::optional<std::uint64_t> stalled_at_{};  // operations of all ranks at which wait_for_ranks has failed
  std::thread thread_{};
};

/// Limit of a wait for writing threads without progress. It is shorter than the deadline, so that the other
/// ranks, which wait for this rank, get the error in time.
std::chrono::milliseconds writing_limit(communicator const& world);

}  // namespace cohort::detail
