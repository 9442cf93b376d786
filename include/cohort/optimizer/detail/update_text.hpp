// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohort::detail {

/// The text of optimizer/detail/update_formulas.inc, for a compiler at run time.
inline constexpr char update_text[] =
#define COHORT_FORMULA(...) #__VA_ARGS__
#include <cohort/optimizer/detail/update_formulas.inc>
#undef COHORT_FORMULA
    ;

}  // namespace cohort::detail
