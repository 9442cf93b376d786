// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/parameter_set.hpp>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace cohort {

/// The gradients of one step before the update: a part of each worker, all in the master's layouts.
///
/// Order     parts are summed in the workers' order: one result for one number of workers.
/// Exact     packing a bucket, or packing it and putting the same back, changes no bit of the update.
class gradient_parts {
 public:
  static constexpr std::size_t max_parts = arena_passes::max_parts;

  gradient_parts(parameter_set const& parameters, std::vector<std::byte*> parts)
      : parameters_(parameters), parts_(std::move(parts)) {}

  parameter_set const& parameters() const { return parameters_; }
  /// What the updater sums.
  std::span<std::byte* const> all() const { return parts_; }

  /// The sum of the bucket's parts.
  /// After     the first part has the sum, the others zeros.
  /// Moves     each part once in and once out.
  void sum(bucket const& b);
  std::byte* first() const { return parts_[0]; }

  /// The bucket's gradient of the whole rank: dense, canonical, `bucket.elements` of the set's type.
  /// After     as sum.
  void pack(bucket const& b, std::byte* dense);

  /// Puts an exchanged gradient in the place of the bucket's sum.  Before: pack, or sum.
  void unpack(bucket const& b, std::byte const* dense);

 private:
  parameter const& entry(int p) const { return parameters_.table()[static_cast<std::size_t>(p)]; }
  std::size_t offset(bucket const& b, int p) const;
  parameter_set const& parameters_;
  std::vector<std::byte*> parts_;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/plan/impl/gradient_parts.ipp>
#endif
