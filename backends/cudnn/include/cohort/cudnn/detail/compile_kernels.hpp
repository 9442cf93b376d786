// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/nvrtc_functions.hpp>
#include <cohort/detail/build_check.hpp>
#include <string>
#include <vector>

namespace cohort::detail {

/// Returns whether GPUs of a compute capability (90 is 9.0) execute at most 1/32 as many f64 additions as f32
/// additions per clock. Source: CUDA C++ programming guide, table of arithmetic throughput, for 7.5 to 12.0.
/// Returns true for unknown capabilities.
constexpr bool has_few_f64_units(int capability) {
  return capability != 80 && capability != 90 && capability != 100;
}

/// Returns NVRTC's options for a compute capability. With these options, functions without an
/// execution space specifier are device code.
std::vector<std::string> kernel_options(int capability);

/// Compiles a program to machine code. No GPU is needed.
///
/// Errors    backend_error with the compiler's log.
/// Exact     divisions and square roots are rounded as IEEE 754 requires; NVRTC may fuse a product and a sum.
std::string compile_kernels(nvrtc_functions const& compiler, std::string const& program, int capability);

}  // namespace cohort::detail
