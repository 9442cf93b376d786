// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/gpu.hpp>
#include <cohort/cudnn/detail/kernels.hpp>
#include <cohort/io/data_folders.hpp>
#include <memory>
#include <string>

namespace cohort::detail {

/// The compiled kernels, loaded on a GPU.
///
/// Before    launch requires that the GPU's context is current on the calling thread.
/// Errors    backend_error with the driver's or the compiler's message.
class kernel_module {
 public:
  explicit kernel_module(std::shared_ptr<gpu const> on,
                         std::string const& cache = io::cache_folder("kernels"));
  kernel_module(kernel_module const&) = delete;
  kernel_module& operator=(kernel_module const&) = delete;
  ~kernel_module();

  /// Enqueues a kernel of n calls, with calls_per_block<Kernel> calls per block.
  template <class Kernel>
  void launch(Kernel kernel, unsigned long long n, CUstream stream) const {
    if (n == 0) return;
    unsigned long long const share = calls_per_block<Kernel>;
    void* arguments[]{&kernel, &n};
    driver_functions const& driver = on_->driver();
    driver.check(
        driver.launch(functions_[kernel_index<Kernel>], static_cast<unsigned>((n + share - 1) / share), 1, 1,
                      block_threads, 1, 1, 0, stream, arguments, nullptr),
        "launching a kernel");
  }

 private:
  std::shared_ptr<gpu const> on_;
  CUmodule module_ = nullptr;
  CUfunction functions_[kernel_count] = {};
};

}  // namespace cohort::detail
