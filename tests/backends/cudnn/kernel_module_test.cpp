// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/cudnn/detail/kernel_module.hpp>
#include <memory>
#include <vector>

#include "fake_machine.hpp"

namespace cudnn_kernel_module_test {

using namespace cohort;
using blocks = std::vector<unsigned>;

TEST(kernel_module, launches_a_thread_for_each_element) {
  fake_machine machine;
  detail::kernel_module const kernels(std::make_shared<detail::gpu>(machine.source()), "");
  std::vector<float> x(700, 1.F);
  kernels.launch(detail::kernels::scale{x.data(), 3.F}, x.size(), nullptr);
  EXPECT_EQ(x, std::vector<float>(700, 3.F));
  kernels.launch(detail::kernels::scale{x.data(), 2.F}, 512, nullptr);
  EXPECT_EQ(x[511], 6.F);
  EXPECT_EQ(x[512], 3.F);
  EXPECT_EQ(machine.blocks, (blocks{3, 2}));
}

TEST(kernel_module, launches_a_block_for_each_chunk_of_a_sum) {
  fake_machine machine;
  detail::kernel_module const kernels(std::make_shared<detail::gpu>(machine.source()), "");
  std::vector<float> const x(detail::sum_chunk + 3, 2.F);
  std::vector<double> sums(2);
  kernels.launch(detail::kernels::square_sums{x.data(), sums.data()}, x.size(), nullptr);
  EXPECT_EQ(sums, (std::vector<double>{4.0 * detail::sum_chunk, 12}));
  EXPECT_EQ(machine.blocks, blocks{2});
}

TEST(kernel_module, does_not_launch_for_zero_elements) {
  fake_machine machine;
  detail::kernel_module const kernels(std::make_shared<detail::gpu>(machine.source()), "");
  kernels.launch(detail::kernels::fill{nullptr, 1.F}, 0, nullptr);
  EXPECT_TRUE(machine.blocks.empty());
}

TEST(kernel_module, compiles_for_the_installed_gpu) {
  fake_machine machine;
  machine.major = 8;
  machine.minor = 6;
  detail::kernel_module const kernels(std::make_shared<detail::gpu>(machine.source()), "");
  ASSERT_EQ(machine.compiled.size(), 1U);
  EXPECT_EQ(machine.compiled[0].substr(0, 25), "--gpu-architecture=sm_86 ");
}

TEST(kernel_module, unloads_the_module_even_if_a_kernel_is_missing) {
  fake_machine machine;
  {
    detail::kernel_module const kernels(std::make_shared<detail::gpu>(machine.source()), "");
    EXPECT_EQ(machine.modules, 1);
  }
  EXPECT_EQ(machine.modules, 0);
  machine.driver.module_function = [](CUfunction*, CUmodule, char const*) { return CUDA_ERROR_NOT_FOUND; };
  try {
    detail::kernel_module const kernels(std::make_shared<detail::gpu>(machine.source()), "");
    FAIL() << "kernels that are not there were found";
  } catch (backend_error const& why) {
    EXPECT_STREQ(why.what(), "finding a kernel failed (CUDA_ERROR_OTHER: so it is)");
  }
  EXPECT_EQ(machine.modules, 0);
  EXPECT_EQ(machine.contexts, 0);
}

}  // namespace cudnn_kernel_module_test
