// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/nvrtc_functions.hpp>
#include <string>
#include <vector>

namespace cohort::detail {

/// The options with which NVRTC compiles for a compute capability (90 is 9.0). What a program's text leaves out is device code.
std::vector<std::string> kernel_options(int capability);

/// A program's machine code. No device is needed.
///
/// Errors    backend_error with the compiler's words.
/// Exact     divisions and roots are rounded as IEEE 754 wants; a product and a sum may be fused, as NVRTC chooses.
std::string compile_kernels(nvrtc_functions const& compiler, std::string const& program, int capability);

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/compile_kernels.ipp>
#endif
