// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/isa.hpp>
#include <cstdlib>

namespace cohort {

isa machine_isa() {
#if defined(__x86_64__) || defined(__i386__)
  bool const avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool const avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
                      && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  if (avx2 && avx512) return isa::avx512;
  if (avx2) return isa::avx2;
#endif
  return isa::baseline;
}

isa best_isa() {
  isa const machine = machine_isa();
  char const* const limit = std::getenv("COHORT_ISA");
  if (!limit) return machine;
  for (isa const known : {isa::baseline, isa::avx2, isa::avx512})
    if (limit == name_of(known)) return std::min(machine, known);
  throw setting_error({.what = "unknown instruction set",
                       .where = "environment variable COHORT_ISA",
                       .expected = "baseline, avx2 or avx512",
                       .got = {'"', limit, '"'}});
}

}  // namespace cohort
