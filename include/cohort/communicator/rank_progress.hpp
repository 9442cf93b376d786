// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstdint>

namespace cohort {

/// How far a rank is, as others are told who wait for it.
///
/// Units     `step` counts updates from 0, −1 before the first; `bucket` is the last one of that step that it announced,
///           −1 before the first.
struct rank_progress {
  std::int64_t step = -1;
  int bucket = -1;
  constexpr auto operator<=>(rank_progress const&) const = default;
};

}  // namespace cohort
