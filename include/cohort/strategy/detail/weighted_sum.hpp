// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cohort/communicator/communicator.hpp>
#include <cohort/plan/arena_passes.hpp>
#include <cohort/strategy/detail/split_allreduce.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cohort::detail {

/// Elements that become their mean over the ranks, weighted, and the votes that travel with them.
///
/// Shapes    `elements` of f32 or f64 and, with votes, `vote_words` more behind them. Without votes they may lie anywhere.
/// Order     fill data(), or point to where they lie; start, wait, voted, settle; again and again.
/// Exact     with weights of 1 (one rank) no bit changes; equal weights of 2ᵏ ranks are exact. Counts of examples are exact
///           in f32 up to 2²⁴.
class weighted_sum {
 public:
  static constexpr std::size_t vote_words = 5;

  weighted_sum(element_type type, std::size_t count, bool with_votes);
  /// Of elements in an arena that these passes are for, without votes.
  weighted_sum(arena_passes& where, element_type type, std::size_t count);

  element_type type() const { return type_; }
  std::byte* data() { return data_; }
  std::size_t bytes() const { return count_ * bytes_of(type_); }
  bool is_in_place() const { return passes_ != nullptr; }
  void set_data(std::byte* data) { data_ = data; }
  /// The same, and the votes behind them.
  std::span<std::byte> with_votes() { return {memory_.data(), memory_.bytes()}; }

  /// What a rank has: examples, and what its elements weigh among all ranks'.
  struct contribution {
    std::int64_t examples = 0;
    double weight = 0;
  };

  /// Weighs with own weight / expected and starts the sum.
  void start(communicator& world, contribution const& mine, std::int64_t expected, votes const& own);

  /// Returns when it was complete, however often it is asked.
  std::chrono::steady_clock::time_point wait() { return ended_ = std::max(ended_, pending_.wait()); }
  /// What was voted.  Before: wait, and this one carries votes.
  agreement read_agreement(std::int64_t meetings);
  /// Takes what was voted of stopping and saving out.
  void clear_requests();
  /// Makes the sum the mean where all weigh otherwise than expected.  Before: wait; weight > 0.
  void make_mean(double weight, std::int64_t expected) { weigh(static_cast<double>(expected), weight); }

  /// By a / b; nothing is touched where that is 1, and 0 leaves zeros whatever was there.
  static void scale(element_type type, std::byte* data, std::size_t count, double a, double b);
  /// dst += factor · src
  static void add(element_type type, std::byte* dst, std::byte const* src, std::size_t count, double factor);

 private:
  void weigh(double a, double b);

  template <class F>
  static void by_type(element_type type, std::byte* data, F f) {
    with_real(type, [&]<class T>(T*) { f(reinterpret_cast<T*>(data)); });
  }

  element_type type_;
  std::size_t count_;
  std::size_t words_ = 0;
  buffer memory_;
  std::byte* data_ = nullptr;
  arena_passes* passes_ = nullptr;
  std::shared_ptr<memory_space> space_;
  split_allreduce pending_;
  std::chrono::steady_clock::time_point ended_{};
};

/// A dense array of each rank becomes the mean of all; returns what they vote, where they do.
///
/// Order     collective: all with votes, or all without.
/// Moves     an allreduce.
votes mean_over_ranks(communicator& world, element_type type, std::byte* dense, std::size_t count,
                      votes const* own = nullptr);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/weighted_sum.ipp>
#endif
