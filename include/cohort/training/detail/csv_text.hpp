// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// Formats columns of numbers as CSV: a header, then one line per row. Numbers have the fewest digits from
/// which the same bits can be read back. A number that is not finite is an empty field. Names with a comma, a
/// quote or a newline are quoted.
std::string csv_text(std::span<std::string const> names, std::span<std::vector<double> const> columns);

}  // namespace cohort::detail
