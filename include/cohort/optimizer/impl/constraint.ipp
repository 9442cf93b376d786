// SPDX-License-Identifier: Apache-2.0
#include <cohort/optimizer/constraint.hpp>
#include <cohort/optimizer/named_number.hpp>
#include <string>

namespace cohort {

parameter_constraint parameter_constraint::from(std::string_view name, double at) {
  parameter_constraint result;
  std::string expected;
  for (std::size_t k = 0; k < names.size(); ++k) {
    expected += (k == 0 ? "" : ", ") + std::string(names[k]);
    if (names[k] != name) continue;
    result.which = static_cast<kind>(k);
    if (result.has_parameter()) result.at = at;
    return result;
  }
  throw setting_error({.what = "unknown constraint", .expected = {"one of ", expected}, .got = {name}});
}

void parameter_constraint::check() const {
  if (has_parameter()) detail::require_setting(at > 0, name(), "at", "a finite number above 0", at);
}

}  // namespace cohort
