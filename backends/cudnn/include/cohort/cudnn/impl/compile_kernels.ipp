// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/compile_kernels.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstddef>

namespace cohort::detail {

std::vector<std::string> kernel_options(int capability) {
  std::vector<std::string> options{"--gpu-architecture=sm_" + std::to_string(capability), "--std=c++17",
                                   "--device-as-default-execution-space"};
  if (has_few_f64_units(capability)) options.emplace_back("--define-macro=COHORT_SPLIT_SUMS");
  return options;
}

std::string compile_kernels(nvrtc_functions const& compiler, std::string const& program, int capability) {
  auto const check = [&](nvrtcResult status, char const* doing) {
    if (status != NVRTC_SUCCESS)
      throw backend_error({.what = {doing, " failed"}, .where = compiler.error_text(status)});
  };
  struct made_program {
    nvrtc_functions const& compiler;
    nvrtcProgram handle = nullptr;
    ~made_program() { compiler.destroy(&handle); }
  } made{compiler};
  check(compiler.create(&made.handle, program.c_str(), "cohort_kernels.cu", 0, nullptr, nullptr),
        "passing the kernels to NVRTC");
  std::vector<std::string> const options = kernel_options(capability);
  std::vector<char const*> arguments;
  for (std::string const& option : options) arguments.push_back(option.c_str());
  nvrtcResult const status =
      compiler.compile(made.handle, static_cast<int>(arguments.size()), arguments.data());
  std::size_t bytes = 0;
  if (status != NVRTC_SUCCESS) {
    check(compiler.log_size(made.handle, &bytes), "reading NVRTC's log");
    std::string said(bytes, '\0');
    check(compiler.get_log(made.handle, said.data()), "reading NVRTC's log");
    throw backend_error({.what = "NVRTC cannot compile the kernels",
                         .where = {options[0], ": ", compiler.error_text(status)},
                         .got = said.c_str()});
  }
  check(compiler.cubin_size(made.handle, &bytes), "reading the size of the compiled kernels");
  std::string code(bytes, '\0');
  check(compiler.get_cubin(made.handle, code.data()), "reading the compiled kernels");
  return code;
}

}  // namespace cohort::detail
