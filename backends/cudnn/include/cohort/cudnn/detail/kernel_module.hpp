// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/gpu.hpp>
#include <cohort/cudnn/detail/kernel_cache.hpp>
#include <cohort/cudnn/detail/kernels.hpp>
#include <memory>
#include <string>
#include <utility>

namespace cohort::detail {

/// The kernels on a GPU, ready to be launched.
///
/// Before    launch: the GPU's context is current on the calling thread.
/// Errors    backend_error with what the driver or the compiler says.
class kernel_module {
 public:
  explicit kernel_module(std::shared_ptr<gpu const> on, std::string const& cache = cache_folder("kernels"))
      : on_(std::move(on)) {
    std::string const code = cached_kernels(on_->compiler(), kernel_program(), on_->capability(), cache);
    driver_functions const& driver = on_->driver();
    on_->use();
    driver.check(driver.load_module(&module_, code.data()), "loading the kernels");
    int at = 0;
    each_kernel([&]<class>(char const* type) {
      CUresult const found = driver.module_function(&functions_[at++], module_, kernel_symbol(type).c_str());
      if (found != CUDA_SUCCESS) driver.unload_module(module_);
      driver.check(found, "finding a kernel");
    });
  }
  kernel_module(kernel_module const&) = delete;
  kernel_module& operator=(kernel_module const&) = delete;
  ~kernel_module() {
    on_->make_current();
    on_->driver().unload_module(module_);
  }

  /// Puts a kernel over n elements into the stream; one that sums has a block for each chunk of sum_chunk of them.
  template <class Kernel>
  void launch(Kernel kernel, unsigned long long n, CUstream stream) const {
    if (n == 0) return;
    unsigned long long const share = summing_kernel<Kernel> ? sum_chunk : block_threads;
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
