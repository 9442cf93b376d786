// SPDX-License-Identifier: Apache-2.0
#include <cohort/backend/host_call.hpp>

namespace cohort {

host_call::host_call(host_function const& function, std::span<void* const> arguments)
    : function_(function), arguments_(arguments.begin(), arguments.end()) {}

}  // namespace cohort
