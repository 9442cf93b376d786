// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cohort/communicator/communicator.hpp>
#include <cohort/plan/arena_passes.hpp>
#include <cohort/strategy/detail/halved_sum.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

  weighted_sum(element_type type, std::size_t count, bool with_votes)
      : type_(type),
        count_(count),
        words_(with_votes ? vote_words : 0),
        memory_((count + words_) * bytes_of(type)),
        data_(memory_.data()) {}
  /// Of elements in an arena that these passes are for, without votes.
  weighted_sum(arena_passes& where, element_type type, std::size_t count)
      : type_(type), count_(count), where_(&where), space_(where.space()) {}

  element_type type() const { return type_; }
  std::byte* data() { return data_; }
  std::size_t bytes() const { return count_ * bytes_of(type_); }
  bool borrows() const { return where_ != nullptr; }
  void point(std::byte* data) { data_ = data; }
  /// The same, and the votes behind them.
  std::span<std::byte> with_votes() { return {memory_.data(), memory_.bytes()}; }

  /// What a rank has: examples, and what its elements weigh among all ranks'.
  struct share {
    std::int64_t examples = 0;
    double weight = 0;
  };

  /// Weighs with own weight / expected and starts the sum.
  void start(communicator& world, share const& mine, std::int64_t expected, votes const& own) {
    weigh(mine.weight, static_cast<double>(expected));
    if (words_ > 0) {
      double const words[vote_words]{static_cast<double>(mine.examples), mine.weight, own.stop ? 1.0 : 0.0,
                                     own.save ? 1.0 : 0.0, own.not_finite ? 1.0 : 0.0};
      by_type(type_, data(), [&]<class T>(T* values) {
        for (std::size_t i = 0; i < vote_words; ++i) values[count_ + i] = static_cast<T>(words[i]);
      });
    }
    ended_ = {};
    under_way_.start(world, {data_, type_, count_ + words_, space_.get()});
  }

  /// Returns when it was complete, however often it is asked.
  std::chrono::steady_clock::time_point wait() { return ended_ = std::max(ended_, under_way_.wait()); }
  /// What was voted.  Before: wait, and this one carries votes.
  agreement voted(std::int64_t meetings) {
    agreement result{.meetings = meetings};
    by_type(type_, data(), [&]<class T>(T const* values) {
      result.examples = static_cast<std::int64_t>(values[count_]);
      result.weight = static_cast<double>(values[count_ + 1]);
      result.all = {values[count_ + 2] > 0, values[count_ + 3] > 0, values[count_ + 4] > 0};
    });
    return result;
  }
  /// Takes what was voted of stopping and saving out.
  void forget_wishes() {
    by_type(type_, data(), [&](auto* values) { values[count_ + 2] = values[count_ + 3] = 0; });
  }
  /// Makes the sum the mean where all weigh otherwise than expected.  Before: wait; weight > 0.
  void settle(double weight, std::int64_t expected) { weigh(static_cast<double>(expected), weight); }

  /// By a / b; nothing is touched where that is 1, and 0 leaves zeros whatever was there.
  static void scale(element_type type, std::byte* data, std::size_t count, double a, double b) {
    if (a == b) return;
    by_type(type, data, [&]<class T>(T*) { passes_on_processor<T>()->scale(data, count, a / b); });
  }
  /// dst += factor · src
  static void add(element_type type, std::byte* dst, std::byte const* src, std::size_t count, double factor) {
    by_type(type, dst, [&]<class T>(T* values) {
      for (std::size_t i = 0; i < count; ++i)
        values[i] += static_cast<T>(factor) * reinterpret_cast<T const*>(src)[i];
    });
  }

 private:
  void weigh(double a, double b) {
    if (!where_) return scale(type_, data_, count_, a, b);
    if (a != b) where_->scale(data_, count_, a / b);
  }

  template <class F>
  static void by_type(element_type type, std::byte* data, F f) {
    with_real(type, [&]<class T>(T*) { f(reinterpret_cast<T*>(data)); });
  }

  element_type type_;
  std::size_t count_;
  std::size_t words_ = 0;
  buffer memory_;
  std::byte* data_ = nullptr;
  arena_passes* where_ = nullptr;
  std::shared_ptr<memory_space> space_;
  halved_sum under_way_;
  std::chrono::steady_clock::time_point ended_{};
};

/// A dense array of each rank becomes the mean of all; returns what they vote, where they do.
///
/// Order     collective: all with votes, or all without.
/// Moves     an allreduce.
inline votes mean_over_ranks(communicator& world, element_type type, std::byte* dense, std::size_t count,
                             votes const* own = nullptr) {
  weighted_sum sum(type, count, own != nullptr);
  std::memcpy(sum.data(), dense, sum.bytes());
  sum.start(world, {1, 1}, world.size(), own ? *own : votes());
  sum.wait();
  std::memcpy(dense, sum.data(), sum.bytes());
  return own ? sum.voted(0).all : votes();
}

}  // namespace cohort::detail
