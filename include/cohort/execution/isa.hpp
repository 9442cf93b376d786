// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstdint>
#include <string_view>

namespace cohort {

/// Instruction set of a SIMD function, chosen at run time, because the library does not control the compiler
/// flags. Each instruction set includes the previous ones. avx2 means AVX2 with FMA; avx512 means AVX-512 F,
/// VL, BW and DQ.
enum class isa : std::uint8_t { baseline, avx2, avx512 };

/// Returns "baseline", "avx2" or "avx512".
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

/// Returns the highest instruction set that this machine and its operating system support.
isa machine_isa();

/// Returns the instruction set to use: machine_isa(), limited by the environment variable COHORT_ISA if set.
/// Each call queries the machine and the variable again, so callers should store the result.
///
/// Errors    setting_error if COHORT_ISA is set to a value other than baseline, avx2 or avx512.
isa best_isa();

}  // namespace cohort
