// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/cublaslt_functions.hpp>
#include <cohort/cudnn/detail/cudnn_functions.hpp>
#include <cohort/cudnn/detail/driver_functions.hpp>
#include <cohort/cudnn/detail/nvrtc_functions.hpp>
#include <cohort/cudnn/detail/shared_library.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// One of the GPUs that the driver reports (the driver applies CUDA_VISIBLE_DEVICES), its context, and the
/// CUDA libraries. The libraries are loaded at run time, not linked.
///
/// Order     the constructor checks in this order: driver, driver version, device, compute capability, free
///           memory, NVRTC, cuBLASLt, cuDNN. A machine without a GPU fails one of the first checks.
/// Errors    backend_error for the first check that fails; its message is meant for users.
class gpu {
 public:
  static constexpr int oldest_cuda = 12000;
  static constexpr int newest_library = 13;    ///< major CUDA version; newer versions change the API
  static constexpr int least_capability = 75;  ///< Turing
  static constexpr int least_capability_of_tf32_and_bf16 = 80;  ///< Ampere
  static constexpr std::size_t oldest_cudnn = 90000;
  static constexpr std::size_t least_free_bytes = std::size_t{512} << 20;

  explicit gpu(library_source const& from = system_libraries());
  gpu(gpu const&) = delete;
  gpu& operator=(gpu const&) = delete;
  ~gpu() { driver_.release_context(device_); }

  /// Makes this GPU's context current on the calling thread. Driver functions that use the GPU require a
  /// current context.
  CUresult make_current() const noexcept { return driver_.set_context(context_); }
  void use() const { driver_.check(make_current(), "using the GPU's context"); }
  driver_functions const& driver() const { return driver_; }
  nvrtc_functions const& compiler() const { return nvrtc_; }
  cublaslt_functions const& blas() const { return blas_; }
  cudnn_functions const& networks() const { return dnn_; }
  std::string const& name() const { return name_; }
  /// Returns the UUID of this GPU (16 bytes).
  std::span<std::byte const> identity() const { return std::as_bytes(std::span(identity_.bytes)); }
  /// Returns the compute capability; 90 is 9.0.
  int capability() const { return capability_; }
  struct memory_bytes {
    std::size_t free, total;
  };
  memory_bytes memory() const;
  /// Allocates page-locked host memory, which the GPU can read and write asynchronously. Call
  /// free_page_locked only when the GPU no longer accesses the memory.
  std::byte* allocate_page_locked(std::size_t bytes) const;
  void free_page_locked(std::byte* memory) const noexcept;
  /// Throws backend_error with the precision `of` if the compute capability is below 8.0.
  void require_tensor_cores(char const* of) const;

 private:
  void open_driver(library_source const& from);

  /// Returns this process's local rank from Open MPI, MPICH, MVAPICH, PALS, torchrun or Slurm; 0 without
  /// these launchers.
  static int rank_on_machine();
  /// Selects the GPU by the local rank, modulo the number of GPUs.
  void choose_device();
  void require(int capability, clause const& what) const;

  void check_memory() const;

  void open_libraries(library_source const& from);

  /// Returns file names of a library: one for each major CUDA version that the driver supports, newest first.
  std::vector<std::string> names_of(std::string const& stem) const;

  void check_architecture() const;

  int attribute(CUdevice_attribute which) const;
  static std::string capability_text(int capability);

  driver_functions driver_;
  nvrtc_functions nvrtc_;
  cublaslt_functions blas_;
  cudnn_functions dnn_;
  int cuda_ = 0;  // version that the driver supports
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  std::string name_;
  CUuuid identity_{};
  int capability_ = 0;
};

}  // namespace cohort::detail
