// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/strategy/outer_step.hpp>

namespace cohort::detail {

std::string described(outer_step const& how) {
  if (how.is_plain()) return {};
  return text_of({", outer rate ", how.rate, how.nesterov ? ", Nesterov momentum " : ", momentum ",
                  how.momentum ? text_of({*how.momentum}) : "1 - 1/ranks"});
}

}  // namespace cohort::detail
