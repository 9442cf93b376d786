// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/cudnn/detail/gpu.hpp>
#include <string>
#include <vector>

#include "../../execution/with_variable.hpp"
#include "fake_machine.hpp"

namespace cudnn_gpu_test {

using namespace cohort;

/// Why the machine's GPU cannot be used; "" if it can.
std::string refusal_of(fake_machine& machine) {
  std::string why;
  try {
    detail::gpu const found(machine.source());
    EXPECT_EQ(machine.contexts, 1);
  } catch (backend_error const& error) {
    why = error.what();
  }
  EXPECT_EQ(machine.contexts, 0) << "a context is left";
  return why;
}

class gpu : public testing::Test {
 protected:
  cohort_test::with_variable const all{"CUDA_VISIBLE_DEVICES", nullptr},
      alone{"OMPI_COMM_WORLD_LOCAL_RANK", nullptr}, by_itself{"MPI_LOCALRANKID", nullptr},
      without_slurm{"SLURM_LOCALID", nullptr}, without_torchrun{"LOCAL_RANK", nullptr},
      without_mpich{"PMI_LOCAL_RANK", nullptr}, without_mvapich{"MV2_COMM_WORLD_LOCAL_RANK", nullptr},
      without_pals{"PALS_LOCAL_RANKID", nullptr};
  fake_machine machine;
};

TEST_F(gpu, is_used_if_nothing_is_missing) {
  detail::gpu const found(machine.source());
  EXPECT_EQ(found.name(), "Pretended GPU");
  EXPECT_EQ(found.capability(), 90);
  EXPECT_EQ(machine.opened, (std::vector<std::string>{"libcuda.so.1", "libnvrtc.so.13", "libcublasLt.so.13",
                                                      "libcudnn.so.9"}));
}

TEST_F(gpu, is_selected_by_the_local_rank) {
  auto const taken = [&](char const* variable, char const* rank) {
    cohort_test::with_variable const started_as(variable, rank);
    return detail::gpu(machine.source()).name();
  };
  EXPECT_EQ(taken("OMPI_COMM_WORLD_LOCAL_RANK", "1"), "Pretended GPU") << "there is one";
  machine.gpus = 3;
  EXPECT_EQ(taken("OMPI_COMM_WORLD_LOCAL_RANK", "1"), "Pretended GPU, number 1 of 3");
  EXPECT_EQ(taken("MPI_LOCALRANKID", "2"), "Pretended GPU, number 2 of 3");
  for (char const* const variable :
       {"SLURM_LOCALID", "LOCAL_RANK", "PMI_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "PALS_LOCAL_RANKID"})
    EXPECT_EQ(taken(variable, "4"), "Pretended GPU, number 1 of 3") << variable;
  EXPECT_EQ(detail::gpu(machine.source()).name(), "Pretended GPU, number 0 of 3");
  EXPECT_EQ(taken("SLURM_LOCALID", "-7"), "Pretended GPU, number 0 of 3");
}

TEST_F(gpu, of_a_rank_is_the_only_visible_device) {
  machine.gpus = 3;
  auto const selected = [&](char const* rank, char const* device) {  // as cohort run --devices starts it
    cohort_test::with_variable const local_rank("COHORT_LOCAL_RANK", rank);
    cohort_test::with_variable const visible("CUDA_VISIBLE_DEVICES", device);
    detail::gpu const found(machine.source());
    EXPECT_EQ(found.name(), "Pretended GPU");
    return machine.selected;
  };
  EXPECT_EQ(selected("0", "0"), 0);
  EXPECT_EQ(selected("1", "2"), 2);
  cohort_test::with_variable const unknown("CUDA_VISIBLE_DEVICES", "3");
  EXPECT_EQ(refusal_of(machine), "the NVIDIA driver reports no GPU; CUDA_VISIBLE_DEVICES is 3");
}

TEST_F(gpu, reports_a_driver_that_cannot_be_loaded) {
  machine.libraries.erase("libcuda.so.1");
  EXPECT_EQ(refusal_of(machine), "the NVIDIA driver cannot be loaded (libcuda.so.1: no such file)");
}

TEST_F(gpu, reports_a_driver_that_is_too_old) {
  machine.driver_version = 11040;
  EXPECT_EQ(refusal_of(machine),
            "the NVIDIA driver is too old: expected one for CUDA 12.0 or newer, got one for CUDA 11.4");
}

TEST_F(gpu, reports_a_driver_that_does_not_start) {
  machine.init = CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
  EXPECT_EQ(refusal_of(machine), "starting the NVIDIA driver failed (CUDA_ERROR_OTHER: so it is)");
}

TEST_F(gpu, reports_that_the_driver_finds_no_gpu) {
  machine.gpus = 0;
  EXPECT_EQ(refusal_of(machine), "the NVIDIA driver reports no GPU");
  machine.init = CUDA_ERROR_NO_DEVICE;
  EXPECT_EQ(refusal_of(machine), "the NVIDIA driver reports no GPU");
}

TEST_F(gpu, reports_cuda_visible_devices_if_no_gpu_is_found) {
  machine.init = CUDA_ERROR_NO_DEVICE;
  cohort_test::with_variable const none("CUDA_VISIBLE_DEVICES", "-1");
  EXPECT_EQ(refusal_of(machine), "the NVIDIA driver reports no GPU; CUDA_VISIBLE_DEVICES is -1");
  cohort_test::with_variable const empty("CUDA_VISIBLE_DEVICES", "");
  EXPECT_EQ(refusal_of(machine), "the NVIDIA driver reports no GPU; CUDA_VISIBLE_DEVICES is empty");
}

TEST_F(gpu, is_refused_if_it_is_too_old) {
  machine.major = 6;
  machine.minor = 1;
  EXPECT_EQ(refusal_of(machine),
            "the GPU is too old (Pretended GPU): expected compute capability 7.5, got 6.1");
}

TEST_F(gpu, is_refused_if_too_little_memory_is_free) {
  machine.free_bytes = std::size_t{100} << 20;
  machine.total_bytes = std::size_t{8} << 30;
  EXPECT_EQ(refusal_of(machine),
            "the GPU has too little free memory (Pretended GPU): expected 512 MiB, got 100 of 8192 MiB");
  machine.retain = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_EQ(refusal_of(machine), "creating a context on the GPU failed (CUDA_ERROR_OUT_OF_MEMORY: so it is)");
}

TEST_F(gpu, reports_the_library_that_cannot_be_loaded) {
  machine.libraries.erase("libcudnn.so.9");
  EXPECT_EQ(refusal_of(machine), "cuDNN 9 cannot be loaded (libcudnn.so.9: no such file)");
  machine.libraries.erase("libcublasLt.so.13");
  EXPECT_EQ(refusal_of(machine), "cuBLASLt cannot be loaded (libcublasLt.so.13: no such file)");
  machine.libraries.erase("libnvrtc.so.13");
  EXPECT_EQ(refusal_of(machine), "NVRTC cannot be loaded (libnvrtc.so.13: no such file)");
}

TEST_F(gpu, reports_the_function_that_a_library_lacks) {
  machine.missing_functions = {"cudnnBackendExecute"};
  EXPECT_EQ(refusal_of(machine), "cuDNN 9 lacks a function (libcudnn.so.9): expected cudnnBackendExecute");
  machine.missing_functions = {"cuMemGetInfo_v2"};
  EXPECT_EQ(refusal_of(machine),
            "the NVIDIA driver lacks a function (libcuda.so.1): expected cuMemGetInfo_v2");
}

TEST_F(gpu, uses_the_libraries_that_its_driver_supports) {
  machine.libraries.insert({"libnvrtc.so.12", "libcublasLt.so.12"});
  machine.driver_version = 12040;
  machine.cudnn_cuda_version = 12080;
  EXPECT_EQ(refusal_of(machine), "");
  EXPECT_EQ(machine.opened, (std::vector<std::string>{"libcuda.so.1", "libnvrtc.so.12", "libcublasLt.so.12",
                                                      "libcudnn.so.9"}));
  machine.libraries.erase("libnvrtc.so.12");
  EXPECT_EQ(refusal_of(machine), "NVRTC cannot be loaded (libnvrtc.so.12: no such file)");
}

TEST_F(gpu, uses_older_libraries_if_newer_ones_are_missing) {
  machine.libraries = {"libcuda.so.1", "libnvrtc.so.12", "libcublasLt.so.12", "libcudnn.so.9"};
  machine.driver_version = 14010;
  EXPECT_EQ(refusal_of(machine), "");
}

TEST_F(gpu, reports_a_cudnn_that_is_too_old_or_too_new_for_the_driver) {
  machine.cudnn_version = 8907;
  EXPECT_EQ(refusal_of(machine), "cuDNN is too old: expected 9.0.0 or newer, got 8.9.7");
  machine.cudnn_version = 91002;
  machine.cudnn_cuda_version = 13000;
  machine.driver_version = 12080;
  machine.libraries.insert({"libnvrtc.so.12", "libcublasLt.so.12"});
  EXPECT_EQ(
      refusal_of(machine),
      "the NVIDIA driver is too old for cuDNN (cuDNN 9.10.2): expected a driver for CUDA 13 or newer, got "
      "one for CUDA 12");
}

TEST_F(gpu, is_refused_if_nvrtc_does_not_support_it) {
  machine.major = 10;
  machine.minor = 3;
  EXPECT_EQ(refusal_of(machine),
            "NVRTC does not support this GPU (Pretended GPU): expected compute capability 10.3, got "
            "NVRTC 13.0");
}

}  // namespace cudnn_gpu_test
