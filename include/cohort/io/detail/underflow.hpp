// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <string_view>

namespace cohort::detail {

/// Returns whether a number out of the range of a double is too small (true) or too large (false), which
/// std::from_chars does not distinguish.  Before: `number` is decimal, without sign, and out of this range.
bool underflows(std::string_view number);

}  // namespace cohort::detail
