// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/optimizer/gradient_normalisation.hpp>
#include <cohort/optimizer/named_number.hpp>
#include <string>

namespace cohort {

gradient_normalisation gradient_normalisation::from(std::string_view name, double at) {
  gradient_normalisation result;
  std::string expected;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    expected += (k == 0 ? "" : ", ") + std::string(rows[k].name);
    if (rows[k].name != name) continue;
    result.which = static_cast<kind>(k);
    if (result.has_threshold()) result.at = at;
    return result;
  }
  throw setting_error(
      {.what = "unknown gradient normalisation", .expected = {"one of ", expected}, .got = {name}});
}

void gradient_normalisation::check() const {
  if (has_threshold()) detail::require_setting(at > 0, name(), "at", "a finite number above 0", at);
}

}  // namespace cohort
