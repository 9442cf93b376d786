// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <cohort/execution/usable_processors.hpp>
#include <thread>

namespace cohort {

int usable_processors() {
#ifdef __linux__
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace cohort
