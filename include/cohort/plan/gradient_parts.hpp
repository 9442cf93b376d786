// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/partition.hpp>
#include <cohort/plan/batch_statistics.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace cohort {

/// Gradients of one step before the update: one part per worker, all in the master's layouts. statistics()
/// holds the batch statistics separately; the elements of running statistics in the gradients are undefined,
/// but finite.
///
/// Order     parts are summed in the workers' order: deterministic for a given number of workers.
/// Exact     neither pack alone, nor pack followed by unpack of the same gradient, changes the bits of the
///           update.
class gradient_parts {
 public:
  static constexpr std::size_t max_parts = arena_passes::max_parts;

  gradient_parts(parameter_set const& parameters, std::vector<std::byte*> parts)
      : parameters_(parameters), parts_(std::move(parts)), statistics_(parameters, parts_.size()) {}

  parameter_set const& parameters() const { return parameters_; }
  /// The parts that the optimizer sums.
  std::span<std::byte* const> all() const;

  /// Statistics of the batch, with a part per worker.
  batch_statistics& statistics() { return statistics_; }

  /// Sums the bucket's parts.
  /// After     the first part holds the sum, the others hold zeros.
  /// Cost      reads and writes each part once.
  void sum(bucket const& b);
  /// Frees the memory of the first part outside the slices `kept` of the bucket's arena range; nothing if
  /// `kept` is empty. The values of these elements are unspecified until the next backward.
  ///
  /// Before    there is one part.
  void free_others(bucket const& b, std::span<index_slice const> kept);
  /// The first part: an arena.
  std::byte* first() const { return parts_[0]; }

  /// Sums the bucket's parts and writes the rank's gradient to `dense`: canonical order, `bucket.elements`
  /// elements of the parameter set's type.
  /// After     as for sum.
  void pack(bucket const& b, std::byte* dense);

  /// Replaces the bucket's sum with an exchanged gradient.  Before: pack() or sum() was called.
  void unpack(bucket const& b, std::byte const* dense);

 private:
  parameter const& entry(int p) const { return parameters_.table()[static_cast<std::size_t>(p)]; }
  std::size_t offset(bucket const& b, int p) const;
  parameter_set const& parameters_;
  std::vector<std::byte*> parts_;
  batch_statistics statistics_;
};

}  // namespace cohort
