// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/cudnn/detail/autotuned_choice.hpp>
#include <cohort/execution/detail/least_seconds.hpp>

namespace cohort::detail {

buffer timing_buffer(std::shared_ptr<compute_stream const> const& on, std::size_t bytes) {
  constexpr unsigned pattern = 0x3c3c3c3cU;  // 0.0115 in f32 and in bf16
  buffer made(bytes, std::const_pointer_cast<compute_stream>(on));
  on->launch(kernels::fill{made.as<float>(), std::bit_cast<float>(pattern)}, bytes / sizeof(float));
  return made;
}

}  // namespace cohort::detail
