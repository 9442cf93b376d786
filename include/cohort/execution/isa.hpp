// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
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
isa machine_isa();

/// The instruction set to use: the machine's, but none above COHORT_ISA where that is set. Both are looked up
/// at each call: keep the answer.
///
/// Errors    setting_error if COHORT_ISA is set to anything but baseline, avx2 or avx512.
isa best_isa();

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/execution/impl/isa.ipp>
#endif
