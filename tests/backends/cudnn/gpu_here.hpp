// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/gpu.hpp>
#include <string>
#include <string_view>

/// Tests with the label gpu are skipped if the driver is missing or reports no GPU. If anything else is
/// missing, they fail.
namespace gpu_here {

/// Why there is no GPU; empty if there is one.
inline std::string missing() {
  try {
    cohort::detail::gpu const found;
  } catch (cohort::backend_error const& why) {
    std::string_view const text = why.what();
    if (text.starts_with("the NVIDIA driver cannot be loaded")
        || text.starts_with("the NVIDIA driver reports no GPU"))
      return why.what();
  } catch (cohort::error const&) {
  }
  return {};
}

}  // namespace gpu_here
