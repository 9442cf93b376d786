// SPDX-License-Identifier: Apache-2.0
#pragma once
#ifdef __linux__
#include <sched.h>
#endif

namespace cohort {

/// The processors that the calling thread may run on, at least 1: a launcher or a container may leave it fewer than there are.
int usable_processors();

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/execution/impl/usable_processors.ipp>
#endif
