// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/build_check.hpp>
#include <cstdint>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Virtual time of a simulation, and its future events.
///
/// Order     next() returns events in the order of their times, and events of equal time in the order of
///           their creation, so that a simulation depends only on its inputs.
template <class Time, class Event>
class virtual_time {
 public:
  Time now() const { return now_; }
  bool has_events() const { return !events_.empty(); }
  /// The time of the first event.
  Time next_time() const { return events_.front().time; }
  /// Adds an event. An event in the past is due at once.
  void add(Time when, Event what) {
    events_.push_back({when, ++created_, std::move(what)});
    std::push_heap(events_.begin(), events_.end());
  }
  /// Removes and returns the first event, and advances the time to the event's time.
  Event next() {
    std::pop_heap(events_.begin(), events_.end());
    entry first = std::move(events_.back());
    events_.pop_back();
    if (now_ < first.time) now_ = first.time;
    return std::move(first.what);
  }

 private:
  struct entry {
    Time time;
    std::uint64_t number;
    Event what;
    bool operator<(entry const& other) const {  // reversed: the front of the heap is the earliest entry
      return time != other.time ? other.time < time : other.number < number;
    }
  };

  Time now_{};
  std::uint64_t created_ = 0;
  std::vector<entry> events_;
};

}  // namespace cohort::detail
