// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/trainer/detail/named_parameters.hpp>
#include <string>

namespace cohort::detail {

COHORT_CORE_INLINE parameter_range parameters_named(parameter_set const& all, std::string_view name,
                                                    char const* where) {
  parameter_range found{.first = 0, .last = 0};
  std::string known;
  for (int p = 0; p < std::ssize(all.table()); ++p) {
    parameter const& one = all.table()[static_cast<std::size_t>(p)];
    known += (known.empty() ? "" : ", ") + one.name;
    if (one.name != name && one.layer() != name) continue;
    if (found.last == 0) found.first = p;
    found.last = p + 1;
  }
  if (found.last == 0)
    throw setting_error({.what = "the network has no parameter and no layer with parameters of this name",
                         .where = where,
                         .expected = {"one of ", known, ", or a layer of these"},
                         .got = std::string(name)});
  return found;
}

}  // namespace cohort::detail
