// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/host_call.hpp>
#include <cohort/detail/config.hpp>

namespace cohort {

COHORT_CORE_INLINE host_call::host_call(host_function const& function, std::span<void* const> arguments)
    : function_(function), arguments_(arguments.begin(), arguments.end()) {}

}  // namespace cohort
