// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/compile_kernels.hpp>
#include <cohort/cudnn/detail/kernel_cache.hpp>
#include <cohort/io/detail/cached_file.hpp>

namespace cohort::detail {

std::string cached_kernels(nvrtc_functions const& compiler, std::string const& program, int capability,
                           std::string const& folder) {
  if (folder.empty()) return compile_kernels(compiler, program, capability);
  int major = 0, minor = 0;
  compiler.version(&major, &minor);
  std::string description = "NVRTC " + std::to_string(major) + '.' + std::to_string(minor);
  for (std::string const& option : kernel_options(capability)) description += ' ' + option;
  cached_file const file(folder, "cohort kernels 1", ".cubin", description + '\n' + program);
  std::string code = file.read();
  if (!code.empty()) return code;
  code = compile_kernels(compiler, program, capability);
  file.write(code);
  return code;
}

}  // namespace cohort::detail
