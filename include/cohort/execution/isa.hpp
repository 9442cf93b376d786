// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace cohort {

/// Which instruction set a vector pass uses; each one includes those before it. The library is compiled with
/// its consumer's flags, so the choice is made at run time.
/// avx2 means AVX2 with FMA, avx512 means F, VL, BW, DQ.
enum class isa : std::uint8_t { baseline, avx2, avx512 };

constexpr std::string_view name_of(isa which) {
  switch (which) {
    case isa::baseline:
      return "baseline";
    case isa::avx2:
      return "avx2";
    case isa::avx512:
      return "avx512";
  }
  return "?";
}

/// What this machine and its operating system can run.
inline isa machine_isa() {
#if defined(__x86_64__) || defined(__i386__)
  bool const avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool const avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
                      && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  if (avx2 && avx512) return isa::avx512;
  if (avx2) return isa::avx2;
#endif
  return isa::baseline;
}

/// The instruction set to use: the machine's, but none above COHORT_ISA where that is set. Both are looked up
/// at each call: keep the answer.
///
/// Errors    setting_error if COHORT_ISA is set to anything but baseline, avx2 or avx512.
inline isa best_isa() {
  isa const machine = machine_isa();
  char const* const cap = std::getenv("COHORT_ISA");
  if (!cap) return machine;
  for (isa const known : {isa::baseline, isa::avx2, isa::avx512})
    if (cap == name_of(known)) return std::min(machine, known);
  throw setting_error({.what = "unknown instruction set",
                       .where = "environment variable COHORT_ISA",
                       .expected = "baseline, avx2 or avx512",
                       .got = {'"', cap, '"'}});
}

}  // namespace cohort
