// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cmath>
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cohort::detail {

/// Finds two different integers of a column that become the same f32, such as 100000001 and 100000002.
///
/// Cost      64 KiB from the first large integer on. Only the first 2^20 large integers are compared, each
///           with the previous one in its slot, so a pair may be missed in a column with few pairs.
class merged_integers {
 public:
  /// Integers up to 2^24 differ as f32.
  static bool is_large(double value) { return std::abs(value) > 16777216.0; }

  /// Adds a number. Returns the place of a different integer that is the same f32; nullopt if none is known,
  /// or if a pair was found before.
  ///
  /// Before    is_large(value).
  std::optional<std::uint64_t> add(double value, std::uint64_t place) {
    constexpr std::size_t slots = 4096;
    if (has_ended() || value != std::floor(value)) return {};
    ++count_;
    if (slots_.empty()) slots_.resize(slots);
    auto const rounded = static_cast<float>(value);
    entry& slot = slots_[std::bit_cast<std::uint32_t>(rounded) * 0x9e3779b1U >> 20];
    if (slot.value == value || static_cast<float>(slot.value) != rounded) {
      slot = {value, place};
      return {};
    }
    std::uint64_t const other = slot.place;
    count_ = most;
    slots_ = {};
    return other;
  }

  /// Returns whether `add` returns nullopt for all further numbers.
  bool has_ended() const { return count_ == most; }

 private:
  static constexpr std::int64_t most = std::int64_t{1} << 20;

  struct entry {
    double value = 0;
    std::uint64_t place = 0;
  };

  std::int64_t count_ = 0;
  std::vector<entry> slots_{};
};

}  // namespace cohort::detail
