// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/optimizer/named_number.hpp>
#include <cohort/tensor/finite.hpp>

namespace cohort::detail {

void require_setting(bool allowed, std::string_view owner, std::string_view field, char const* expected,
                     double value) {
  if (allowed && is_finite(value)) return;
  throw setting_error({.what = "a setting is out of range",
                       .where = {owner, '.', field},
                       .expected = expected,
                       .got = {value}});
}

}  // namespace cohort::detail
