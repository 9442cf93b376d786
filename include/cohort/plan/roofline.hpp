// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/build_check.hpp>

namespace cohort {

/// Peak rates of all threads that run kernels at the same time: measured by `measure_peaks`, or set by the
/// caller.
///
/// Units     FLOP/s and bytes/s. `bf16_flops`: peak of kernels with a bf16 output; if 0, twice `flops`, as
///           with AVX512_BF16. Matrix units (AMX) reach more.
struct machine_peaks {
  double flops = 0;
  double bytes_per_second = 0;
  double bf16_flops = 0;

  /// Returns one worker's share of the peaks, if `workers` workers run at the same time on these processors.
  machine_peaks of_one(int workers) const;
};

/// Fraction of the roofline that a kernel reaches.
///
/// Units     `share` is 0 if unknown. It is above 1 if the kernel's tensors were in caches (by_memory), or if
///           the peak is too low.
/// Source    Williams, Waterman and Patterson, Roofline: an insightful visual performance model, CACM 2009.
struct roofline {
  double share = 0;
  bool by_memory = false;
};

/// Returns the fraction of the roofline: the minimum time for a kernel's arithmetic or for its memory
/// traffic, whichever is longer, divided by the measured time `seconds`. Returns share 0 if `flops` or
/// `bytes_per_second` of the peaks, or the time, is 0.
constexpr roofline roofline_of(machine_peaks const& peaks, double flops, double bytes, bool bf16,
                               double seconds) {
  if (!(peaks.flops > 0) || !(peaks.bytes_per_second > 0) || !(seconds > 0)) return {};
  double const most = !bf16 ? peaks.flops : peaks.bf16_flops > 0 ? peaks.bf16_flops : 2 * peaks.flops;
  double const computing = flops / most, moving = bytes / peaks.bytes_per_second;
  return {std::max(computing, moving) / seconds, moving > computing};
}

}  // namespace cohort
