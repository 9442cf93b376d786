// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/communicator.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/plan/arena_passes.hpp>
#include <cohort/strategy/detail/split_allreduce.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Weighted mean of an array over the ranks, with the ranks' votes in the same allreduce.
///
/// Shapes    `count` elements of f32 or f64; with votes, followed by `vote_words` elements. Without votes,
///           the array may be in an arena and is then reduced in place.
/// Order     fill data(), or set_data; start, wait, read_agreement, make_mean; repeatedly.
/// Exact     with one rank of weight `expected` no bit changes; for 2ᵏ ranks of equal weight, the scaling is
///           exact. Counts of examples are exact in f32 up to 2²⁴.
class weighted_sum {
 public:
  static constexpr std::size_t vote_words = 5;

  weighted_sum(element_type type, std::size_t count, bool with_votes);
  /// Sums elements of an arena in place, with the arena's passes and without votes.
  weighted_sum(arena_passes& where, element_type type, std::size_t count);

  element_type type() const { return type_; }
  std::byte* data() { return data_; }
  std::size_t bytes() const { return count_ * bytes_of(type_); }
  bool is_in_place() const { return passes_ != nullptr; }
  void set_data(std::byte* data) { data_ = data; }
  /// Sums only these slices, the parts of this rank, which are in place. Other elements are unspecified
  /// afterwards.
  void set_parts(std::vector<index_slice> parts) { parts_ = std::move(parts); }
  std::span<index_slice const> parts() const { return parts_; }
  /// The elements and the votes after them.
  std::span<std::byte> with_votes() { return {memory_.data(), memory_.bytes()}; }

  /// A rank's examples, and the weight of its elements in the sum.
  struct contribution {
    std::int64_t examples = 0;
    double weight = 0;
  };

  /// Scales the elements by the rank's weight / expected and starts the allreduce.
  void start(communicator& world, contribution const& mine, std::int64_t expected, votes const& own);

  /// Waits for the allreduce. Returns the time of its completion; a repeated call returns the same time.
  std::chrono::steady_clock::time_point wait() { return ended_ = std::max(ended_, pending_.wait()); }
  /// Returns the examples, weight and votes of all ranks.  Before: wait; the object has votes.
  agreement read_agreement(std::int64_t meetings);
  /// Clears the votes to stop and to save.
  void clear_requests();
  /// Turns the sum into the mean if the ranks' weight differs from `expected`.  Before: wait; weight > 0.
  void make_mean(double weight, std::int64_t expected);

  /// Scales by a / b. A factor of 1 changes nothing; a factor of 0 gives zeros for any elements.
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
  std::vector<index_slice> parts_{};  // empty: all elements
  split_allreduce pending_;
  std::chrono::steady_clock::time_point ended_{};
};

/// Replaces a dense array with the mean of all ranks' arrays. Returns all ranks' votes if `own` is given.
///
/// Order     collective: `own` is given on all ranks or on none.
/// Moves     an allreduce.
votes mean_over_ranks(communicator& world, element_type type, std::byte* dense, std::size_t count,
                      votes const* own = nullptr);

}  // namespace cohort::detail
