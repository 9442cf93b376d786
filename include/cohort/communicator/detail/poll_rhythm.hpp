// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>

namespace cohort::detail {

/// How long a thread that polls a transport leaves it alone between two looks. Who waits wants it to look often; where nobody does,
/// the processor is for who computes: naps grow by a half while nothing moves and are a fifth after a message, so that a few
/// of them fit between two messages, however long these take.
///
/// Source    measured: longer naps leave the link idle beside a step that computes, shorter ones the step without its processor.
class poll_rhythm {
 public:
  /// Nothing is under way.
  void idle() { quiet_ = 0; }
  /// After each look.
  void looked(bool moved, bool awaited);
  /// 0: none.
  std::chrono::microseconds nap(bool awaited) const;

 private:
  static constexpr int eager = 50;            // looks without a nap
  static constexpr int growths = 11;          // up to 346 µs
  static constexpr int longest_awaited = 50;  // µs
  int quiet_ = 0;
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/poll_rhythm.ipp>
#endif
