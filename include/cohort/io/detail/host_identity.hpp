// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <string>

namespace cohort::detail {

/// Returns the name of this host.
std::string host_name();

/// Returns a text that differs between hosts, and between boots of a host: the host's name and, if the system
/// has one, an identity of the boot.
std::string host_identity();

}  // namespace cohort::detail
