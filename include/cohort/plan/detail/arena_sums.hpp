// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/plan/parameter_set.hpp>
#include <cstddef>
#include <span>
#include <vector>

namespace cohort::detail {

/// One sum over the elements of each trained parameter in an arena, computed by several workers.
///
/// Order     every worker calls measure. After all workers have returned, every worker may read the sums.
/// Exact     each sum adds the sums of fixed-size chunks in their order, so it does not depend on the number
///           of workers.
class arena_sums {
 public:
  /// Number of elements of a chunk; the last chunk of a parameter may be shorter.
  static constexpr std::size_t chunk = arena_passes::chunk;

  explicit arena_sums(parameter_set& parameters);

  /// Performs a worker's share. sum(p, begin, n, to) processes n elements of parameter p, from `begin` in the
  /// arena. The call writes the sums of the chunks to consecutive elements of `to`, which is in a buffer of
  /// arena_passes::results.
  template <class Sum>
  void measure(int worker, int workers, Sum sum) {
    auto const bound = [&](int w) {
      return chunks_ * static_cast<std::size_t>(w) / static_cast<std::size_t>(workers);
    };
    std::size_t const last = bound(worker + 1);
    std::size_t p = 0;
    for (std::size_t c = bound(worker); c < last; c = std::min(last, ranges_[p].end)) {
      while (c >= ranges_[p].end) ++p;
      std::size_t const from = (c - ranges_[p].first) * chunk;
      std::size_t const to = std::min((last - ranges_[p].first) * chunk, table_[p].room);
      sum(p, table_[p].offset + from, to - from, memory_.as<double>() + c);
    }
    passes_.wait();
  }

  /// Sum over parameter p.
  double of_parameter(std::size_t p) const { return total(ranges_[p].first, ranges_[p].end); }
  /// Sum over all parameters of p's layer.
  double of_layer(std::size_t p) const;
  /// Sum over all trained parameters.
  double of_all() const { return total(0, chunks_); }

 private:
  struct range {
    std::size_t first, end;  // indices of a parameter's chunks
  };
  double total(std::size_t first, std::size_t end) const;

  arena_passes& passes_;
  std::span<parameter const> table_;
  std::vector<range> ranges_;
  std::size_t chunks_ = 0;
  buffer memory_;  // one sum per chunk
};

}  // namespace cohort::detail
