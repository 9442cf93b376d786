// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <omp.h>
#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#ifdef __linux__
#include <sched.h>
#include <unistd.h>
#endif

extern "C" {
void GOMP_parallel(void (*run)(void*), void* with, unsigned threads, unsigned flags);
void GOMP_barrier(void);
}

namespace cohort::detail {

/// Whether OpenMP was told to bind threads to processors when the program was loaded.
inline bool openmp_binds() {
  char const* const value = std::getenv("OMP_PROC_BIND");
  return value && std::string_view(value) != "false" && std::string_view(value) != "FALSE";
}

/// Lets a thread that inherited one processor from OpenMP's binding run on all: else every worker shares that one.
inline void undo_inherited_affinity() {
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

inline std::string affinity_note() {
  return openmp_binds()
             ? "OMP_PROC_BIND is set: it would put all workers on one processor, so their threads are "
               "released from it"
             : "";
}

inline int set_openmp_threads(int count) {
  int const former = omp_get_max_threads();
  if (count != former) omp_set_num_threads(count);
  undo_inherited_affinity();
  return former;
}

/// Runs f(thread, threads) on each of OpenMP's threads, at most `most`; any f waits for all others by openmp_barrier.
///
/// Before    f throws nothing.
/// Source    the functions that compilers call for `#pragma omp parallel`, in every runtime: a pragma would want -fopenmp of
///           the consumer, for all that stands in the same source.
template <class F>
void on_openmp_threads(int most, F const& f) {
  int const wanted = std::min(most, omp_get_max_threads());
  if (wanted <= 1) return f(0, 1);
  GOMP_parallel(
      [](void* with) { (*static_cast<F const*>(with))(omp_get_thread_num(), omp_get_num_threads()); },
      const_cast<F*>(&f), static_cast<unsigned>(wanted), 0);
}
inline void openmp_barrier() { GOMP_barrier(); }

}  // namespace cohort::detail
