// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/chrono.hpp>
#include <cohort/strategy/strategy.hpp>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Measures how long a rank's exchanges were in flight, and how long the rank waited for them.
///
/// Units     seconds, summed since the meter was constructed.
///             `transfer_seconds`  from an exchange's first start until its last part is complete on this
///                                 rank; includes the time until other ranks start theirs
///             `hideable_seconds`  from the first start until the final wait begins
///             `waited_seconds`    spent in waits
///             `hidden`            1 − waited / transfer, at least 0: the fraction of the transfers that
///                                 overlapped with other work
///             `message_bytes`     bytes that the rank passed to its exchanges
///             `dense_bytes`       bytes of the same arrays without compression
///             `exchanges`         number of finished exchanges
/// Order     start for each part, measure_wait for each part, finish. One thread at a time.
class exchange_meter {
 public:
  using clock = std::chrono::steady_clock;

  /// Records the start of a part that sends `bytes` bytes. Without compression it would send `dense` bytes.
  void start(std::size_t bytes, std::size_t dense);
  /// Adds uncompressed bytes to the exchange in flight.
  void count_dense(std::size_t bytes);
  /// Measures wait(), which blocks until its operation is complete and returns the time of completion.
  template <class Wait>
  void measure_wait(Wait wait) {
    auto const begin = clock::now();
    if (!std::exchange(waits_, true)) wait_begin_ = begin;
    span_.end = std::max(span_.end, wait());
    waited_ += clock::now() - begin;
  }
  /// Records that the rank has done other work while parts were still pending: the final wait begins with the
  /// next measure_wait.
  void end_wait() { waits_ = false; }
  void finish();
  template <class F>
  void encode(F f) {
    auto const begin = clock::now();
    f();
    encode_ += clock::now() - begin;
  }
  template <class F>
  void apply(F f) {
    auto const begin = clock::now();
    f();
    apply_ += clock::now() - begin;
  }

  /// Adds an exchange that was measured as a whole; other exchanges may have been in flight at the same time.
  void add(exchange_times const& whole, clock::duration hideable, clock::duration waited);

  /// Adds the times in another meter's report.
  void add_times(std::vector<measurement> const& report);

  exchange_times const& last() const { return last_; }

  std::vector<measurement> report() const;
  /// Appends all measurements except the bytes.
  void append_times(std::vector<measurement>& to) const;

 private:
  static double seconds(clock::duration time) { return std::chrono::duration<double>(time).count(); }

  bool in_flight_ = false, waits_ = false;
  clock::time_point wait_begin_{};
  exchange_times::span span_{};
  exchange_times last_{};
  clock::duration encode_{}, transfer_{}, hideable_{}, waited_{}, apply_{};
  double exchanges_ = 0, sent_ = 0, dense_ = 0;
};

}  // namespace cohort::detail
