// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/cudnn/detail/kernel_cache.hpp>
#include <cohort/io/folder.hpp>
#include <fstream>
#include <iterator>
#include <string>

#include "../../checkpoint/scratch_folder.hpp"
#include "fake_machine.hpp"

namespace cudnn_kernel_cache_test {

using namespace cohort;

class kernel_cache : public testing::Test {
 protected:
  std::string code_for(int capability, std::string const& program = "a program") {
    return detail::cached_kernels(machine.nvrtc, program, capability, folder);
  }
  std::string only_file() {
    auto const names = io::list_folder(folder);
    EXPECT_EQ(names->size(), 1U);
    return folder + '/' + names->at(0);
  }
  static std::string content(std::string const& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void put(std::string const& path, std::string const& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  fake_machine machine;
  scratch_folder scratch;
  std::string folder = scratch / "cache/kernels";
};

TEST_F(kernel_cache, compiles_the_same_kernels_only_once) {
  std::string const code = code_for(90);
  EXPECT_EQ(code, "code for --gpu-architecture=sm_90 --std=c++17 --device-as-default-execution-space");
  EXPECT_EQ(code_for(90), code);
  EXPECT_EQ(machine.compiled.size(), 1U);
}

TEST_F(kernel_cache, distinguishes_architectures_programs_and_compilers) {
  EXPECT_NE(code_for(90), code_for(80));
  code_for(90, "another program");
  EXPECT_EQ(machine.compiled.size(), 3U);
  machine.nvrtc.version = [](int* major, int* minor) {
    *major = 13;
    *minor = 1;
    return NVRTC_SUCCESS;
  };
  code_for(90);
  EXPECT_EQ(machine.compiled.size(), 4U);
  code_for(90);
  code_for(80, "a program");
  EXPECT_EQ(machine.compiled.size(), 5U);
}

TEST_F(kernel_cache, replaces_a_damaged_file) {
  std::string const code = code_for(90);
  std::string const path = only_file(), whole = content(path);
  ASSERT_GT(whole.size(), code.size());
  std::string const damaged[]{"",
                              "no line",
                              whole.substr(0, whole.size() - 1),
                              whole + 'x',
                              whole.substr(0, whole.size() - 1) + '!',
                              'C' + whole.substr(1)};
  std::size_t times = 1;
  for (std::string const& bytes : damaged) {
    put(path, bytes);
    EXPECT_EQ(code_for(90), code);
    EXPECT_EQ(machine.compiled.size(), ++times) << bytes;
    EXPECT_EQ(content(path), whole);
  }
}

TEST_F(kernel_cache, rejects_code_of_another_program) {
  code_for(90, "one program");
  std::string const path = only_file(), whole = content(path);
  std::string other = whole;
  other.replace(other.find("one program"), 11, "two program");
  put(path, other);
  code_for(90, "one program");
  EXPECT_EQ(machine.compiled.size(), 2U);
}

TEST_F(kernel_cache, compiles_every_time_without_a_usable_folder) {
  folder = "/proc/no/such/folder";
  code_for(90);
  folder = "";
  code_for(90);
  EXPECT_EQ(machine.compiled.size(), 2U);
}

TEST_F(kernel_cache, does_not_store_kernels_that_do_not_compile) {
  machine.compile = NVRTC_ERROR_COMPILATION;
  EXPECT_THROW(code_for(90), backend_error);
  EXPECT_FALSE(io::list_folder(folder).has_value());
}

}  // namespace cudnn_kernel_cache_test
