// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/plan/parameter_set.hpp>
#include <cstddef>
#include <span>
#include <vector>

namespace cohort::detail {

/// One sum over the elements of each trained parameter in an arena, computed by several workers, and possibly
/// by several ranks.
///
/// Order     every worker calls measure. After all workers have returned, every worker may read the sums.
/// Exact     each sum adds the sums of fixed blocks in their order, so it does not depend on the numbers of
///           workers and ranks. A block is the common part of a parameter and of `block` elements of its
///           bucket, counted from the bucket's beginning.
class arena_sums {
 public:
  static constexpr std::size_t block = arena_passes::chunk;

  /// Measures all blocks.
  explicit arena_sums(parameter_set& parameters);
  /// `measured`: the elements that this rank measures, without parts of blocks.
  arena_sums(parameter_set& parameters, std::span<parameter_set::arena_range const> measured);

  /// Performs a worker's share. sum(p, begin, n, to) processes n elements of parameter p, from `begin` in the
  /// arena. The call writes the sums of `block` elements each, the last of which may be fewer, to consecutive
  /// elements of `to`, which is in a buffer of arena_passes::results.
  template <class Sum>
  void measure(int worker, int workers, Sum sum) {
    auto const bound = [&](int w) {
      return measured_ * static_cast<std::size_t>(w) / static_cast<std::size_t>(workers);
    };
    std::size_t skipped = bound(worker), rest = bound(worker + 1) - skipped;
    for (run const& here : runs_) {
      std::size_t const before = std::min(skipped, here.end - here.first);
      skipped -= before;
      std::size_t const first = here.first + before, count = std::min(rest, here.end - first);
      rest -= count;
      measure_blocks(here.p, first, first + count, sum);
    }
    passes_.wait();
  }
  /// The sums of all blocks; the sums of blocks that other ranks measure are unspecified.
  std::span<double> blocks() { return {memory_.as<double>(), blocks_}; }
  /// Sets the sums of blocks that other ranks measure to 0.
  void clear_others();

  /// Sum over parameter p.
  double of_parameter(std::size_t p) const { return total(ranges_[p].first, ranges_[p].end); }
  /// Sum over all parameters of p's layer.
  double of_layer(std::size_t p) const;
  /// Sum over all trained parameters.
  double of_all() const { return total(0, blocks_); }

 private:
  /// The blocks of a parameter. The first one has `lead` elements, if the parameter is not shorter.
  struct range {
    std::size_t first, end, lead;
  };
  /// Adjacent blocks of a parameter that this rank measures.
  struct run {
    std::size_t p, first, end;
  };
  /// Elements of parameter p before a block.
  std::size_t before(std::size_t p, std::size_t number) const {
    std::size_t const index = number - ranges_[p].first;
    return index == 0 ? 0 : std::min(table_[p].room, ranges_[p].lead + (index - 1) * block);
  }
  template <class Sum>
  void measure_blocks(std::size_t p, std::size_t first, std::size_t end, Sum sum) {
    while (first < end) {  // a short first block separately
      bool const is_lead = first == ranges_[p].first && ranges_[p].lead < block;
      std::size_t const to = is_lead ? first + 1 : end, begin = before(p, first);
      sum(p, table_[p].offset + begin, before(p, to) - begin, memory_.as<double>() + first);
      first = to;
    }
  }
  double total(std::size_t first, std::size_t end) const;

  arena_passes& passes_;
  std::span<parameter const> table_;
  std::vector<range> ranges_;
  std::vector<run> runs_;
  std::size_t blocks_ = 0, measured_ = 0;
  buffer memory_;  // one sum per block
};

}  // namespace cohort::detail
