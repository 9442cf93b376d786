// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>

namespace cohort {

/// What kernels can reach at most, on all threads that run them at a time: measured by `measure_peaks`, or known otherwise.
///
/// Units     bf16_flops: of kernels whose output is bf16; 0: twice those of f32, as AVX512_BF16 has. Matrix units (AMX) have more.
struct machine_peaks {
  double flops = 0;
  double bytes_per_second = 0;
  double bf16_flops = 0;

  /// Of one of `workers` that are at work together, and share processors and memory.
  machine_peaks of_one(int workers) const;
};

/// How near a kernel comes to what bounds it: the least time for its arithmetic or its memory, whichever is longer, over the
/// time that it took.
///
/// Shapes    `share` 0: not known; above 1: its tensors lay in caches (by_memory), or the peak is too low.
/// Source    Williams, Waterman and Patterson, Roofline: an insightful visual performance model, CACM 2009.
struct roofline {
  double share = 0;
  bool by_memory = false;
};

constexpr roofline roofline_of(machine_peaks const& peaks, double flops, double bytes, bool bf16,
                               double seconds) {
  if (!(peaks.flops > 0) || !(peaks.bytes_per_second > 0) || !(seconds > 0)) return {};
  double const most = !bf16 ? peaks.flops : peaks.bf16_flops > 0 ? peaks.bf16_flops : 2 * peaks.flops;
  double const computing = flops / most, moving = bytes / peaks.bytes_per_second;
  return {std::max(computing, moving) / seconds, moving > computing};
}

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/plan/impl/roofline.ipp>
#endif
