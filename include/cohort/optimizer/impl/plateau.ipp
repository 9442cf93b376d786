// SPDX-License-Identifier: Apache-2.0
#include <cohort/optimizer/named_number.hpp>
#include <cohort/optimizer/plateau.hpp>

namespace cohort {

void reduce_on_plateau::check() const {
  auto const require = [](bool allowed, char const* field, char const* expected, double value) {
    detail::require_setting(allowed, "reduce_on_plateau", field, expected, value);
  };
  require(factor > 0 && factor < 1, "factor", "above 0 and below 1", factor);
  require(patience >= 0, "patience", "at least 0", patience);
  require(threshold >= 0 && threshold < 1, "threshold", "at least 0 and below 1", threshold);
  require(cooldown >= 0, "cooldown", "at least 0", cooldown);
  require(least >= 0 && least <= 1, "least", "at least 0 and at most 1", least);
}

}  // namespace cohort
