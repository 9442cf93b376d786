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

/// One of the GPUs that the driver shows (CUDA_VISIBLE_DEVICES is the driver's to obey), its context, and the libraries to use
/// it by. Nothing of CUDA's is linked: all is found while the program runs.
///
/// Order     first what a machine without a GPU lacks, then what may be missing or wrong beside one: driver, its version,
///           device, what the device can do, its free memory, NVRTC, cuBLASLt, cuDNN.
/// Errors    backend_error, a sentence for a user: the first of these that is not as it must be.
class gpu {
 public:
  static constexpr int oldest_cuda = 12000;
  static constexpr int newest_library = 13;                     ///< of CUDA: newer ones have other interfaces
  static constexpr int least_capability = 75;                   ///< Turing
  static constexpr int least_capability_of_tf32_and_bf16 = 80;  ///< Ampere
  static constexpr std::size_t oldest_cudnn = 90000;
  static constexpr std::size_t least_free_bytes = std::size_t{512} << 20;

  explicit gpu(library_source const& from = system_libraries());
  gpu(gpu const&) = delete;
  gpu& operator=(gpu const&) = delete;
  ~gpu() { driver_.release_context(device_); }

  /// Makes its context the calling thread's; the driver's functions need that, but for those about contexts.
  CUresult make_current() const noexcept { return driver_.set_context(context_); }
  void use() const { driver_.check(make_current(), "using the GPU's context"); }
  driver_functions const& driver() const { return driver_; }
  nvrtc_functions const& compiler() const { return nvrtc_; }
  cublaslt_functions const& blas() const { return blas_; }
  cudnn_functions const& networks() const { return dnn_; }
  std::string const& name() const { return name_; }
  /// Which no other GPU has.
  std::span<std::byte const> identity() const { return std::as_bytes(std::span(identity_.bytes)); }
  /// 90 is compute capability 9.0.
  int capability() const { return capability_; }
  struct memory_bytes {
    std::size_t free, total;
  };
  memory_bytes memory() const;
  /// Memory of the processor that this GPU reads and writes while threads go on.  Before free: it is done with it.
  std::byte* take_page_locked(std::size_t bytes) const;
  void free_page_locked(std::byte* memory) const noexcept;
  void require_tensor_cores(char const* of) const;

 private:
  void open_driver(library_source const& from);

  /// Of this process, as whoever starts ranks says: Open MPI, MPICH or Slurm. Else 0.
  static int rank_on_machine();
  /// Ranks of one machine take its GPUs in turn.
  void choose_device();
  void require(int capability, clause const& what) const;

  void check_memory() const;

  void open_libraries(library_source const& from);

  /// The library of each major version of CUDA that the driver runs, newest first.
  std::vector<std::string> names_of(std::string const& stem) const;

  void check_architecture() const;

  int attribute(CUdevice_attribute which) const;
  static std::string capability_text(int capability);

  driver_functions driver_;
  nvrtc_functions nvrtc_;
  cublaslt_functions blas_;
  cudnn_functions dnn_;
  int cuda_ = 0;  // that the driver supports
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  std::string name_;
  CUuuid identity_{};
  int capability_ = 0;
};

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/gpu.ipp>
#endif
