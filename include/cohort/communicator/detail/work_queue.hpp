// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/communicator/communicator.hpp>
#include <cohort/detail/chrono.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Items 0 … items − 1 that the ranks of a communicator share. A rank that is ready gets the next free item.
///
///     work_queue queue(world, items);
///     while (auto const item = queue.next()) …       // calls make_progress() while it works
///     bool const all_well = queue.join(failed);      // the others wait for release()
///     if (world.rank() == 0) …                       // calls make_progress()
///     queue.release();
///
/// Rank 0 distributes the items, and also processes items. Waiting ranks receive a message each second, or
/// each quarter of the deadline if this is shorter. Therefore no wait exceeds the deadline if the working
/// ranks call make_progress() at least once per deadline.
///
/// Order     the constructor is collective. Then next and make_progress in any order, join and release once.
/// Moves     one request and one answer of 16 bytes for each item of a rank other than 0; one message of 16
///           bytes per second and rank.
/// Errors    communicator_error if a rank is lost, or does not call make_progress within the deadline.
class work_queue {
 public:
  work_queue(communicator& world, std::int64_t items);
  ~work_queue();
  work_queue(work_queue const&) = delete;
  work_queue& operator=(work_queue const&) = delete;

  /// Returns the next item of this rank; nullopt if no item remains, or if a rank has failed.
  std::optional<std::int64_t> next();

  /// Answers requests, and reports that this rank is alive. Returns false if a rank has failed: this rank
  /// should then stop its work.
  bool make_progress();

  /// Ends this rank's work; `failed`: the work ended with an error, so the other ranks stop. Rank 0 blocks
  /// until all ranks have joined, the others until rank 0 calls release. Returns whether no rank has failed.
  bool join(bool failed);

  /// On rank 0, ends the other ranks' wait in join. Does nothing on the other ranks.
  void release();

 private:
  using clock = std::chrono::steady_clock;
  enum class word : std::int64_t { request, alive, failed, done, item, none, stop, over };
  struct message {
    std::array<std::int64_t, 2> words;
    pending_operation sending{};
  };

  bool is_root() const { return world_ == nullptr || world_->rank() == 0; }
  void send(int to, word what, std::int64_t item = 0);
  /// Receives a message that has arrived, and handles it on rank 0.
  std::pair<word, std::int64_t> receive(arrival const& from);
  void handle(int from, word what);
  void fail();
  void keep_alive();
  void finish_sends(bool all);

  std::deque<message> sent_;             // destroyed after the communicator, which may still read them
  std::unique_ptr<communicator> world_;  // null: one rank
  std::int64_t items_;
  clock::duration interval_;  // time between two `alive` messages to a rank
  std::int64_t next_item_ = 0;
  std::vector<bool> joined_;  // on rank 0: the ranks that wait for release
  int joined_ranks_ = 0;
  bool failed_ = false;
  clock::time_point last_sign_ = clock::now();
};

}  // namespace cohort::detail
