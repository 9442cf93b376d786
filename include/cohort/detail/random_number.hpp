// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstdint>

namespace cohort::detail {

/// Returns a number of the system's random generator, not 0.
std::uint64_t random_number();

}  // namespace cohort::detail
