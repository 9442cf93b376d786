// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/detail/batch_source.hpp>
#include <cohort/detail/chrono.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace cohort::detail {

/// Queue of prepared batches between a loader and its background thread, jointly owned by both. If a data set
/// hangs and the loader stops waiting, the detached thread still has valid memory.
class batch_queue {
 public:
  batch_queue(dataset data, loader_settings settings);

  void start(std::int64_t epoch, std::int64_t position);

  /// Waits for the next batch; returns false at the deadline. `out` is null at the end of the epoch.
  bool pop(std::chrono::milliseconds deadline, batch const*& out);

  /// Requests that the thread stop; returns false if it is still running at the deadline.
  bool stop(std::chrono::milliseconds deadline);

  /// The background thread's function.
  void run();

 private:
  batch_source source_;  // used by the thread only
  std::vector<batch> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t generation_ = 0;  // number of calls of start
  std::int64_t epoch_ = 0;
  std::int64_t position_ = 0;
  std::size_t next_ = 0;   // the slot to pop next; the caller still uses the previous one
  std::size_t ready_ = 0;  // number of filled slots from next_ on
  bool ended_ = false;
  std::exception_ptr failure_;
  bool stopping_ = false;
  bool stopped_ = false;
};

/// A queue and the thread that fills it.
class prefetcher {
 public:
  prefetcher(dataset data, loader_settings const& settings);
  /// Stops the thread. Detaches it if it is still running at the deadline.
  ~prefetcher();
  prefetcher(prefetcher const&) = delete;
  prefetcher& operator=(prefetcher const&) = delete;

  batch_queue& queue() { return *queue_; }

 private:
  std::chrono::milliseconds deadline_;
  std::shared_ptr<batch_queue> queue_;
  std::thread thread_;
};

}  // namespace cohort::detail
