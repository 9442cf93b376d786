// SPDX-License-Identifier: Apache-2.0
// label: slow
#include <gtest/gtest.h>

#include <algorithm>
#include <cohort/cudnn/detail/compile_kernels.hpp>
#include <cohort/cudnn/detail/kernels.hpp>
#include <cohort/cudnn/detail/shared_library.hpp>
#include <string>
#include <vector>

#include "../../long_tests.hpp"

namespace compile_kernels_test {

using namespace cohort;

/// NVRTC, which needs no GPU. If it is missing, this test fails; cmake/setup.sh --cuda installs it.
detail::nvrtc_functions nvrtc() {
  std::string const names[]{"libnvrtc.so.13", "libnvrtc.so.12"};
  return detail::load_functions<detail::nvrtc_functions>(detail::system_libraries(), "NVRTC", names);
}

class kernels_for : public testing::TestWithParam<int> {};

TEST_P(kernels_for, each_gpu_architecture_are_compiled) {
  std::string const code = detail::compile_kernels(nvrtc(), detail::kernel_program(), GetParam());
  EXPECT_EQ(code.substr(1, 3), "ELF");
  detail::each_kernel([&]<class>(char const* type) {
    EXPECT_NE(code.find(".text." + detail::kernel_symbol(type)), code.npos) << type;
  });
}

INSTANTIATE_TEST_SUITE_P(turing_to_blackwell, kernels_for,
                         testing::ValuesIn(long_tests() ? std::vector{75, 80, 90, 100}
                                                        : std::vector{75, 100}),
                         [](auto const& it) { return "sm_" + std::to_string(it.param); });

/// GPUs that execute f64 at 1/32 of the rate of f32 or less.
TEST(compile_kernels, splits_sums_for_gpus_with_few_f64_units) {
  for (int const capability : {75, 80, 86, 87, 89, 90, 100, 103, 120}) {
    std::vector<std::string> const options = detail::kernel_options(capability);
    EXPECT_EQ(std::ranges::count(options, "--define-macro=COHORT_SPLIT_SUMS"),
              capability == 80 || capability == 90 || capability == 100 ? 0 : 1)
        << capability;
  }
}

TEST(compile_kernels, reports_the_compilers_message) {
  try {
    detail::compile_kernels(nvrtc(), "void one() { return two; }", 90);
    FAIL() << "a program that is wrong was compiled";
  } catch (backend_error const& why) {
    std::string const said = why.what();
    EXPECT_NE(
        said.find("NVRTC cannot compile the kernels (--gpu-architecture=sm_90: NVRTC_ERROR_COMPILATION)"),
        said.npos)
        << said;
    EXPECT_NE(said.find("identifier \"two\" is undefined"), said.npos) << said;
  }
}

TEST(compile_kernels, refuses_an_unknown_architecture) {
  EXPECT_THROW(detail::compile_kernels(nvrtc(), detail::kernel_program(), 17), backend_error);
}

}  // namespace compile_kernels_test
