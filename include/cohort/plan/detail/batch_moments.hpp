// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohort::detail {

#define COHORT_FORMULA(...) __VA_ARGS__
#include <cohort/plan/detail/statistics_formulas.inc>
#undef COHORT_FORMULA

}  // namespace cohort::detail
