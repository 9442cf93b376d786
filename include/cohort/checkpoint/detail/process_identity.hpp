// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <string>
#include <string_view>

namespace cohort::detail {

/// Returns host, ID and start time of this process, for example "node7, process 4711, started 1234567". The
/// start time is in clock ticks since the host's boot.
std::string process_identity();

/// Returns whether a process that returned this identity still runs on this host. False for other hosts.
bool is_running_here(std::string_view identity);

}  // namespace cohort::detail
