// SPDX-License-Identifier: Apache-2.0
// needs: cudnn
// Compiles the kernels for one GPU architecture: kernel_instructions CAPABILITY CUBIN. Exits with 77 if NVRTC
// is missing or does not support the architecture.
#include <algorithm>
#include <cohort/cudnn/detail/compile_kernels.hpp>
#include <cohort/cudnn/detail/kernels.hpp>
#include <cohort/cudnn/detail/shared_library.hpp>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

int main(int count, char** arguments) {
  using namespace cohort;
  if (count != 3) {
    std::cerr << "kernel_instructions: expected a compute capability such as 90, and a file to write\n";
    return 2;
  }
  int const capability = std::atoi(arguments[1]);
  std::string const names[]{"libnvrtc.so.13", "libnvrtc.so.12"};
  detail::nvrtc_functions compiler;
  try {
    compiler = detail::load_functions<detail::nvrtc_functions>(detail::system_libraries(), "NVRTC", names);
  } catch (backend_error const& why) {
    std::cerr << why.what() << '\n';
    return 77;
  }
  int architectures = 0;
  compiler.architectures(&architectures);
  std::vector<int> known(static_cast<std::size_t>(architectures));
  compiler.get_architectures(known.data());
  if (std::find(known.begin(), known.end(), capability) == known.end()) {
    std::cerr << "this NVRTC does not support sm_" << capability << '\n';
    return 77;
  }
  std::ofstream(arguments[2], std::ios::binary)
      << detail::compile_kernels(compiler, detail::kernel_program(), capability);
}
