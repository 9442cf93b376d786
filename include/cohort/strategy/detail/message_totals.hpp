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
  void add(message_report const& last) {
    threshold_ = last.largest_threshold;
    density_ = last.density();
    sent_ += static_cast<double>(last.sent);
    bytes_ += static_cast<double>(last.bytes);
    dense_bytes_ += static_cast<double>(sizeof(float) * last.elements);
    entropy_bytes_ += last.entropy_bytes();
    clipped_mass_ += last.clipped_mass;
  }
  /// Instead of a message, the elements themselves.
  void add_dense(std::size_t elements) {
    auto const bytes = static_cast<double>(sizeof(float) * elements);
    density_ = 1;
    sent_ += static_cast<double>(elements);
    bytes_ += bytes;
    dense_bytes_ += bytes;
    entropy_bytes_ += bytes;
  }
  std::vector<measurement> report() const {
    return {{"threshold", threshold_},
            {"density", density_},
            {"sent_elements", sent_, true},
            {"message_bytes", bytes_, true},
            {"dense_bytes", dense_bytes_, true},
            {"entropy_bytes", entropy_bytes_, true},
            {"clipped_mass", clipped_mass_, true}};
  }

 private:
  double threshold_ = 0, density_ = 0;
  double sent_ = 0, bytes_ = 0, dense_bytes_ = 0, entropy_bytes_ = 0, clipped_mass_ = 0;
};

}  // namespace cohort::detail
