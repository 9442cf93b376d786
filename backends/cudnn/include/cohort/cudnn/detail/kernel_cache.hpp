// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/nvrtc_functions.hpp>
#include <cohort/detail/build_check.hpp>
#include <string>

namespace cohort::detail {

/// Returns a program's machine code for a compute capability. Reads the code from a file in the folder, or
/// compiles the program and stores the code there. An empty `folder` disables the cache.
///
/// Errors    backend_error as compile_kernels. An invalid file or an unusable folder is not an error: the
///           program is compiled.
std::string cached_kernels(nvrtc_functions const& compiler, std::string const& program, int capability,
                           std::string const& folder);

}  // namespace cohort::detail
