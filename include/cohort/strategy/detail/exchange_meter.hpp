// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cohort/strategy/strategy.hpp>
#include <utility>
#include <vector>

namespace cohort::detail {

/// How long exchanges of a rank were under way, and how much of that it spent waiting.
///
/// Units     seconds since the beginning. `transfer_seconds`: from an exchange's first start until its last part was complete on
///           this rank, so also what other ranks take until they start theirs. `hideable_seconds`: from that start until the
///           rank begins to wait, for the last time if it goes on in between, whether something is under way so long or not. `waited_seconds`: in waits. `hidden`:
///           1 − waited / transfer, the share of the transfers in which the rank did something else; never below 0.
///           `message_bytes`, given into the exchange, stand for `dense_bytes`. `exchanges` counts those that were finished.
/// Order     start as often as parts begin, during_wait for each of them, finish. One thread at a time.
class exchange_meter {
 public:
  using clock = std::chrono::steady_clock;

  /// A part of an exchange leaves, of so many bytes; `dense`: what it stands for.
  void start(std::size_t bytes, std::size_t dense);
  /// `until()` waits, and returns when that was complete for which it has waited.
  template <class Until>
  void during_wait(Until until) {
    auto const begin = clock::now();
    if (!std::exchange(waits_, true)) waits_since_ = begin;
    span_.end = std::max(span_.end, until());
    waited_ += clock::now() - begin;
  }
  /// Of what is left under way the rank does something else again before it waits.
  void go_on() { waits_ = false; }
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

  /// One that was measured elsewhere, as a whole: other exchanges may have been under way meanwhile.
  void add(exchange_times const& whole, clock::duration hideable, clock::duration waited);

  /// The times of other exchanges beside these: what their meter reports.
  void add_times(std::vector<measurement> const& others);

  exchange_times const& last() const { return last_; }

  std::vector<measurement> report() const;
  /// All but the bytes.
  void tell_times(std::vector<measurement>& to) const;

 private:
  static double seconds(clock::duration time) { return std::chrono::duration<double>(time).count(); }

  bool under_way_ = false, waits_ = false;
  clock::time_point waits_since_{};
  exchange_times::span span_{};
  exchange_times last_{};
  clock::duration encode_{}, transfer_{}, hideable_{}, waited_{}, apply_{};
  double exchanges_ = 0, sent_ = 0, dense_ = 0;
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/exchange_meter.ipp>
#endif
