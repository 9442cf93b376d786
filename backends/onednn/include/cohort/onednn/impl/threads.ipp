// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include <sched.h>
#include <unistd.h>
#endif

#include <cohort/onednn/detail/threads.hpp>
#include <cstdlib>
#include <string_view>

namespace cohort::detail {

/// Returns whether OMP_PROC_BIND makes OpenMP bind threads to processors.
bool openmp_binds() {
  char const* const value = std::getenv("OMP_PROC_BIND");
  return value && std::string_view(value) != "false" && std::string_view(value) != "FALSE";
}

/// Lets a thread that inherited a single processor from OpenMP's binding run on all processors. Otherwise all
/// workers would share that processor.
void undo_inherited_affinity() {
#ifdef __linux__
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (!openmp_binds() || sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) != 1)
    return;
  long const processors = sysconf(_SC_NPROCESSORS_ONLN);
  for (long cpu = 0; cpu < processors && cpu < CPU_SETSIZE; ++cpu) CPU_SET(static_cast<int>(cpu), &allowed);
  sched_setaffinity(0, sizeof allowed, &allowed);
#endif
}

std::string affinity_note() {
  return openmp_binds()
             ? "OMP_PROC_BIND is set and would bind all workers to one processor: the binding of their "
               "threads is undone"
             : "";
}

int set_openmp_threads(int count) {
  int const former = omp_get_max_threads();
  if (count != former) omp_set_num_threads(count);
  undo_inherited_affinity();
  return former;
}

}  // namespace cohort::detail
