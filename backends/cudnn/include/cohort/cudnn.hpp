// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/availability.hpp>
#include <cohort/cudnn/gpu.hpp>
#include <string_view>

namespace cohort {

/// GPUs of NVIDIA, by cuDNN 9. It has no kernels of layers yet: a plan cannot be made on it, and probe says so where a GPU is.
class cudnn {
 public:
  static constexpr std::string_view name = "cudnn";
  static constexpr bool is_gpu = true;

  /// Why the first GPU that the driver shows is passed over.
  static availability probe() { return probe(detail::system_libraries()); }
  static availability probe(detail::library_source const& from) try {
    detail::gpu const found(from);
    return {false, "it has no kernels of layers yet (" + found.name() + " could be used)"};
  } catch (backend_error const& why) {
    return {false, why.what()};
  }
};

}  // namespace cohort
