// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/codec/message_codec.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Sums over the messages that one rank has sent. `threshold` and `density` are those of the last message.
/// `entropy_bytes` is the entropy bound on the messages' bytes; all bytes of a dense exchange count.
class message_totals {
 public:
  void add(message_report const& last);
  /// Counts a dense exchange, which sends the elements themselves instead of a message.
  void add_dense(std::size_t elements);
  std::vector<measurement> report() const;

 private:
  double threshold_ = 0, density_ = 0;
  double sent_ = 0, bytes_ = 0, dense_bytes_ = 0, entropy_bytes_ = 0, clipped_mass_ = 0;
};

/// Histogram of the ages of messages when they were applied.
///
/// Units     age: steps of the receiver minus steps of the sender; 0 also if the sender is ahead.
class message_ages {
 public:
  void add(std::int64_t age);
  std::int64_t largest() const { return largest_; }
  /// Number of messages of all ages.
  std::int64_t messages() const;
  void append_to(std::vector<measurement>& to) const;

 private:
  static constexpr std::array<std::string_view, 7> names{
      "staleness_0",      "staleness_1",       "staleness_2",      "staleness_3_to_4",
      "staleness_5_to_8", "staleness_9_to_16", "staleness_from_17"};
  std::array<std::int64_t, names.size()> counts_{};
  std::int64_t largest_ = 0;
};

}  // namespace cohort::detail
