// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/message_codec.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cstddef>
#include <vector>

namespace cohort::detail {

/// What one rank's messages have come to. Threshold and density are the last one's; entropy_bytes is the least that they could
/// have taken, all of the bytes where elements go themselves.
class message_totals {
 public:
  void add(message_report const& last);
  /// Instead of a message, the elements themselves.
  void add_dense(std::size_t elements);
  std::vector<measurement> report() const;

 private:
  double threshold_ = 0, density_ = 0;
  double sent_ = 0, bytes_ = 0, dense_bytes_ = 0, entropy_bytes_ = 0, clipped_mass_ = 0;
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/message_totals.ipp>
#endif
