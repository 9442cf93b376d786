// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/kernel_cache.hpp>
#include <cohort/cudnn/detail/kernel_module.hpp>
#include <utility>

namespace cohort::detail {

kernel_module::kernel_module(std::shared_ptr<gpu const> on, std::string const& cache) : on_(std::move(on)) {
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

kernel_module::~kernel_module() {
  on_->make_current();
  on_->driver().unload_module(module_);
}

}  // namespace cohort::detail
