// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <string_view>

namespace cohort::detail {

/// The names of the values of `rescaling` in documents, in their order.
inline constexpr std::array<std::string_view, 3> rescaling_names{"none", "standardise", "min_max"};

}  // namespace cohort::detail
