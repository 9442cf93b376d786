// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu.hpp>
#include <cstddef>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace cohort {

/// A machine with a GPU that a test describes: a driver and libraries whose functions answer what stands here.
///
/// Order     one at a time: functions of the driver have no argument that would tell machines apart.
struct fake_machine {
  std::set<std::string> libraries{"libcuda.so.1", "libnvrtc.so.13", "libcublasLt.so.13", "libcudnn.so.9"};
  std::set<std::string> missing_functions{};
  int driver_version = 13000;
  CUresult init = CUDA_SUCCESS;
  CUresult retain = CUDA_SUCCESS;
  int gpus = 1;
  int major = 9, minor = 0;
  std::size_t free_bytes = std::size_t{70} << 30, total_bytes = std::size_t{80} << 30;
  std::vector<int> architectures{75, 80, 86, 89, 90, 100, 120};
  std::size_t cudnn_version = 91900;
  std::size_t cudnn_cuda_version = 13000;

  std::vector<std::string> opened{};  // in this order
  int contexts = 0;                   // that are held

  fake_machine() {
    now = this;
    describe_driver();
    describe_libraries();
  }
  fake_machine(fake_machine const&) = delete;
  fake_machine& operator=(fake_machine const&) = delete;
  ~fake_machine() { now = nullptr; }

  detail::library_source source() {
    return {.open = [this](std::string const& name, std::string& why) -> void* {
              auto const found = libraries.find(name);
              if (found == libraries.end()) {
                why = name + ": no such file";
                return nullptr;
              }
              opened.push_back(name);
              return const_cast<std::string*>(&*found);
            },
            .find = [this](void*, char const* symbol) -> void* {
              if (missing_functions.contains(symbol)) return nullptr;
              void* found = nullptr;
              auto const look = [&](char const* name, auto function) {
                if (std::strcmp(name, symbol) == 0) found = reinterpret_cast<void*>(function);
              };
              driver.each(look);
              nvrtc.each(look);
              blas.each(look);
              dnn.each(look);
              return found;
            }};
  }

  detail::driver_functions driver{};
  detail::nvrtc_functions nvrtc{};
  detail::cublaslt_functions blas{};
  detail::cudnn_functions dnn{};

 private:
  static inline fake_machine* now = nullptr;

  /// What no test calls, but every library must have.
  template <class Functions>
  static void fill(Functions& functions) {
    functions.each([](char const*, auto& function) {
      if (!function)
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(+[] { std::abort(); });
    });
  }

  void describe_driver() {
    driver.error_name = [](CUresult status, char const** text) {
      *text = status == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OTHER";
      return CUDA_SUCCESS;
    };
    driver.error_text = [](CUresult, char const** text) {
      *text = "so it is";
      return CUDA_SUCCESS;
    };
    driver.version = [](int* version) {
      *version = now->driver_version;
      return CUDA_SUCCESS;
    };
    driver.init = [](unsigned) { return now->init; };
    driver.device_count = [](int* count) {
      *count = now->gpus;
      return CUDA_SUCCESS;
    };
    driver.device = [](CUdevice* device, int number) {
      *device = number;
      return number < now->gpus ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    };
    driver.device_name = [](char* name, int bytes, CUdevice) {
      std::strncpy(name, "Pretended GPU", static_cast<std::size_t>(bytes));
      return CUDA_SUCCESS;
    };
    driver.device_attribute = [](int* value, CUdevice_attribute which, CUdevice) {
      *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? now->major : now->minor;
      return CUDA_SUCCESS;
    };
    driver.retain_context = [](CUcontext* context, CUdevice) {
      if (now->retain == CUDA_SUCCESS) ++now->contexts;
      *context = reinterpret_cast<CUcontext>(now);
      return now->retain;
    };
    driver.release_context = [](CUdevice) {
      --now->contexts;
      return CUDA_SUCCESS;
    };
    driver.set_context = [](CUcontext) { return CUDA_SUCCESS; };
    driver.memory = [](std::size_t* free, std::size_t* total) {
      *free = now->free_bytes;
      *total = now->total_bytes;
      return CUDA_SUCCESS;
    };
    fill(driver);
  }

  void describe_libraries() {
    nvrtc.version = [](int* major, int* minor) {
      *major = 13;
      *minor = 0;
      return NVRTC_SUCCESS;
    };
    nvrtc.architectures = [](int* count) {
      *count = static_cast<int>(now->architectures.size());
      return NVRTC_SUCCESS;
    };
    nvrtc.get_architectures = [](int* to) {
      for (int one : now->architectures) *to++ = one;
      return NVRTC_SUCCESS;
    };
    dnn.version = [] { return now->cudnn_version; };
    dnn.cuda_version = [] { return now->cudnn_cuda_version; };
    fill(nvrtc);
    fill(blas);
    fill(dnn);
  }
};

}  // namespace cohort
