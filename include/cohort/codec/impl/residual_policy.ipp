// SPDX-License-Identifier: Apache-2.0
#include <cohort/codec/residual_policy.hpp>
#include <cohort/optimizer/named_number.hpp>

namespace cohort {

void residual_policy::check() const {
  detail::require_setting(every >= 1, name(), "every", "at least 1", every);
  if (which == kind::clip) detail::require_setting(number >= 1, name(), "at", "at least 1 threshold", number);
  if (which == kind::decay)
    detail::require_setting(number > 0 && number < 1, name(), "factor", "between 0 and 1", number);
}

}  // namespace cohort
