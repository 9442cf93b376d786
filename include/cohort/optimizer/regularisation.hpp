// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace cohort {

/// What is added to the gradient before the updater: l1·sign(w) + l2·w (penalties l1·Σ|w| and ½·l2·Σw²).
///
/// Errors    check: setting_error if one is negative or not finite; `owner` says whose.
struct penalties {
  double l1 = 0;
  double l2 = 0;

  constexpr bool operator==(penalties const&) const = default;

  void check(std::string_view owner = "penalties") const;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/optimizer/impl/regularisation.ipp>
#endif
