// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>

namespace cohort {

/// Returns the number of processors that the calling thread may run on, at least 1. A launcher or a container
/// may restrict the thread to fewer processors than the machine has.
int usable_processors();

}  // namespace cohort
