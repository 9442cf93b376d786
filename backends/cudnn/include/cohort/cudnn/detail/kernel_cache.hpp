// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/nvrtc_functions.hpp>
#include <string>

namespace cohort::detail {

/// A program's machine code for a compute capability: from its file in the folder, else compiled and put there. An empty folder
/// is none.
///
/// Errors    backend_error as compile_kernels. What is wrong with a file or the folder costs a compilation, no more.
std::string cached_kernels(nvrtc_functions const& compiler, std::string const& program, int capability,
                           std::string const& folder);

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/kernel_cache.ipp>
#endif
