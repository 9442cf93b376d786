// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <omp.h>
#include <algorithm>
#include <cohort/detail/build_check.hpp>
#include <string>

extern "C" {
void GOMP_parallel(void (*run)(void*), void* with, unsigned threads, unsigned flags);
void GOMP_barrier(void);
}

namespace cohort::detail {

/// Returns a note for the user if OMP_PROC_BIND makes OpenMP bind threads; otherwise "".
std::string affinity_note();

/// Sets OpenMP's number of threads for the calling thread and undoes an inherited binding to one processor.
/// Returns the previous number.
int set_openmp_threads(int count);

/// Runs f(thread, threads) on at most `most` OpenMP threads. Inside f, openmp_barrier waits for all these
/// threads.
///
/// Before    f does not throw.
/// Source    compilers implement `#pragma omp parallel` by calls of GOMP_parallel; every OpenMP runtime has
///           this function. The pragma itself would require -fopenmp for the consumer's whole source file.
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
