// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// Columns of numbers as CSV: a header, then one line per row. Numbers have the fewest digits that read back
/// to the same bits; one that is not finite is an empty field. Names with a comma or a quote are quoted.
std::string csv_text(std::span<std::string const> names, std::span<std::vector<double> const> columns);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/csv_text.ipp>
#endif
