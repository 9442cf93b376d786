// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <string_view>

namespace cohort::detail {

/// Returns true if the number is too small for a double, and false if it is too large. std::from_chars
/// returns the same error code in both cases. Before: a decimal number without sign, out of the range of a
/// double.
bool underflows(std::string_view number);

}  // namespace cohort::detail
