// SPDX-License-Identifier: Apache-2.0
#include <cohort/plan/roofline.hpp>

namespace cohort {

machine_peaks machine_peaks::of_one(int workers) const {
  return {flops / workers, bytes_per_second / workers, bf16_flops / workers};
}

}  // namespace cohort
