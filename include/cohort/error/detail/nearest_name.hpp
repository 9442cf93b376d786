// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <span>
#include <string>
#include <string_view>

namespace cohort::detail {

/// Returns the name with the smallest edit distance to `wanted`; of several such names, the first one.
/// Ignores names whose distance exceeds (n + 1) / 3, where n is the length of the longer of the two texts.
/// Also ignores names whose distance is at least the length of `wanted`. Returns "" if no name remains, or if
/// `wanted` has more than 100 bytes.
std::string_view nearest_name(std::string_view wanted, std::span<std::string_view const> names);

/// Returns "a, b, c; the nearest name is b"; returns only the list if no name is near.
std::string names_and_nearest(std::string_view wanted, std::span<std::string_view const> names);

}  // namespace cohort::detail
