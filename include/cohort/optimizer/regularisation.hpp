// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <string_view>

namespace cohort {

/// Penalties l1·Σ|w| and ½·l2·Σw²: their gradient l1·sign(w) + l2·w is added to the gradient of the loss
/// before the optimizer runs.
///
/// Errors    check: setting_error if one is negative or not finite; `owner` is the first part of the field's
///           name in the message.
struct penalties {
  double l1 = 0;
  double l2 = 0;

  constexpr bool operator==(penalties const&) const = default;

  /// Throws if a penalty is out of range.
  void check(std::string_view owner = "penalties") const;
};

}  // namespace cohort
