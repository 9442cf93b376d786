// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "guarded_memory.hpp"

namespace cohort {

/// Work that a stream has recorded instead of executing it.
using fake_graph = std::vector<std::function<void()>>;

/// A queue of work, which runs when the stream is queried. NCCL's work runs at once.
struct fake_stream {
  explicit fake_stream(guarded_memory& gpu) : gpu_(gpu) {}

  std::atomic<int> work = 0;                                // work enqueued by any thread
  std::map<fake_stream const*, int> waits_for{};            // work of other streams
  std::shared_ptr<std::atomic<bool> const> last = nullptr;  // whether NCCL's last operation is done

  guarded_memory& gpu() const { return gpu_; }
  void put(std::function<void()> what) {
    std::lock_guard const in_turn(mutex_);
    ++work;
    if (!records_) return waiting_.push_back(std::move(what));
    whole_ = whole_ && std::this_thread::get_id() == recorder_;
    graph_.push_back(std::move(what));
  }
  void record() {
    std::lock_guard const in_turn(mutex_);
    records_ = whole_ = true;
    recorder_ = std::this_thread::get_id();
  }
  /// Whether this thread is recording. The query invalidates the recording.
  bool is_recorded_here() {
    std::lock_guard const in_turn(mutex_);
    bool const here = records_ && std::this_thread::get_id() == recorder_;
    whole_ = whole_ && !here;
    return here;
  }
  /// Returns nothing if another thread enqueued work or waited during the recording.
  std::optional<fake_graph> recorded() {
    std::lock_guard const in_turn(mutex_);
    records_ = false;
    fake_graph made = std::exchange(graph_, {});
    return whole_ ? std::optional(std::move(made)) : std::nullopt;
  }
  /// Runs the pending work. Returns whether a waiting thread would have blocked; nothing during a recording.
  std::optional<bool> finish() {
    std::lock_guard const in_turn(mutex_);
    if (records_) {
      whole_ = false;
      return std::nullopt;
    }
    if (waiting_.empty()) return false;
    guarded_memory::access const of_gpu(gpu_);
    for (auto const& one : waiting_) one();
    waiting_.clear();
    return true;
  }

 private:
  guarded_memory& gpu_;
  std::mutex mutex_;
  std::vector<std::function<void()>> waiting_{};
  fake_graph graph_{};
  bool records_ = false, whole_ = true;
  std::thread::id recorder_{};
};
/// A position in a stream.
struct fake_event {
  fake_stream* of = nullptr;
  int work = 0;
  std::shared_ptr<std::atomic<bool> const> last = nullptr;
};

}  // namespace cohort
