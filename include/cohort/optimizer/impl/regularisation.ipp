// SPDX-License-Identifier: Apache-2.0
#include <cohort/optimizer/named_number.hpp>
#include <cohort/optimizer/regularisation.hpp>

namespace cohort {

void penalties::check(std::string_view owner) const {
  detail::require_setting(l1 >= 0, owner, "l1", "a finite number, at least 0", l1);
  detail::require_setting(l2 >= 0, owner, "l2", "a finite number, at least 0", l2);
}

}  // namespace cohort
