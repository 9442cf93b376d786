// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace cohort {

/// A queue of work, done when somebody asks whether it is; other libraries' at once.
struct fake_stream {
  std::mutex mutex{};
  std::vector<std::function<void()>> waiting{};
  std::atomic<int> work = 0;                                // that was put in, by any thread
  std::map<fake_stream const*, int> waits_for{};            // of others' work
  std::shared_ptr<std::atomic<bool> const> last = nullptr;  // whether that of others is done

  void put(std::function<void()> what) {
    std::lock_guard const in_turn(mutex);
    waiting.push_back(std::move(what));
    busy = true;
    ++work;
  }
  /// Before other libraries' work.
  void catch_up() {
    std::lock_guard const in_turn(mutex);
    run();
    busy = true;
  }
  /// Whether somebody who waits for it would have waited.
  bool finish() {
    std::lock_guard const in_turn(mutex);
    run();
    return std::exchange(busy, false);
  }

 private:
  void run() {
    for (auto const& one : waiting) one();
    waiting.clear();
  }
  bool busy = false;  // since it was waited for
};
/// How far a stream was.
struct fake_event {
  fake_stream const* of = nullptr;
  int work = 0;
  std::shared_ptr<std::atomic<bool> const> last = nullptr;
};

}  // namespace cohort
