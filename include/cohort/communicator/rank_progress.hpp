// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstdint>

namespace cohort {

/// Progress of a rank, as shown in the stall reports of ranks that wait for it.
///
/// Units     `step` counts updates from 0; before the first update, it is −1. `bucket` is the last bucket of
///           that step that the rank has reported, or −1. If the rank evaluates, saves or loads, `step` is
///           the last complete update.
struct rank_progress {
  enum class activity : std::uint8_t { training, evaluating, saving, loading };

  std::int64_t step = -1;
  int bucket = -1;
  activity doing = activity::training;
  constexpr auto operator<=>(rank_progress const&) const = default;
};

}  // namespace cohort
