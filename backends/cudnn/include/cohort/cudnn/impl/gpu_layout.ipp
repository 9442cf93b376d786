// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/gpu_layout.hpp>
#include <cstdint>

namespace cohort::detail {

gpu_layout::gpu_layout(shape const& of, bool last, element_type as)
    : dims(of),
      channels_last(last && of.rank > 2 && of[1] > 1 && of.elements() != std::int64_t{of[0]} * of[1]),
      type(as) {}

std::size_t gpu_layout::places() const {
  return dims.rank > 0 ? elements() / static_cast<std::size_t>(dims[0]) / channels() : 1;
}

std::string gpu_layout::text() const {
  return std::string(channels_last ? "channels last" : "channels first") + (is_narrow() ? " bf16" : "");
}

}  // namespace cohort::detail
