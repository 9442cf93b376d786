// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <thread>
#ifdef __linux__
#include <sched.h>
#endif

namespace cohort {

/// The processors that the calling thread may run on, at least 1: a launcher or a container may leave it fewer than there are.
inline int usable_processors() {
#ifdef __linux__
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace cohort
