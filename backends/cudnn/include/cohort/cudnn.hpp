// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/host_call.hpp>
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/cudnn/detail/compute_stream.hpp>
#include <cohort/cudnn/detail/gpu_layout.hpp>
#include <cohort/cudnn/detail/product_precision.hpp>
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/plan/arena_passes.hpp>
#include <cohort/plan/tuning.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cohort {

/// Backend for one NVIDIA GPU, in f32 without TF32. It uses the first GPU that the driver reports. A process
/// that Open MPI, MPICH or Slurm started uses the GPU with the index (local rank mod number of GPUs). The
/// backend has kernels for all built-in layers except `matmul`, `conv1d` and batch norms on sequences, and no
/// kernels for users' layers: see `supports`.
///
/// Shapes    tensors are channels first; images are channels last if a convolution has no engine for channels
///           first.
/// Order     each backend object has one CUDA stream, which its copies share.
/// Exact     the same GPU, driver and libraries give bitwise equal results.
/// Errors    backend_error if there is no usable GPU (probe returns the reason), if cuDNN has no engine for a
///           convolution, if `add` or `multiply` broadcasts an input, or if the input of a batch norm is a
///           sequence T×C.
class cudnn {
 public:
  using scalar = float;
  using layout = detail::gpu_layout;
  using kernel = host_function;
  using call = host_call;

  static constexpr std::string_view name = "cudnn";
  static constexpr bool is_gpu = true;

  cudnn() : cudnn(std::make_shared<detail::compute_stream>(std::make_shared<detail::gpu>())) {}
  explicit cudnn(std::shared_ptr<detail::compute_stream> on)
      : cudnn(std::move(on), detail::product_precision::f32) {}

  /// Returns whether this machine can run the backend and, if not, the reason.
  static availability probe();
  /// Probes the machine with the CUDA libraries that `from` opens. Loads the kernels from the cache folder or
  /// compiles them, then runs a small convolution and checks its result.
  static availability probe(detail::library_source const& from, std::string const& cache);
  /// Always 1: the processor only enqueues kernels.
  static int threads(int) { return 1; }

  /// Returns the operations on arenas in the GPU's memory.
  std::shared_ptr<arena_passes> passes() const;

  /// Returns whether the backend has kernels for this kind of layer.
  static bool supports(kind const& k) { return kernels_of(k) != nullptr; }
  /// Returns whether the backend has kernels for a layer of kind `k` with these shapes. False if `add` or
  /// `multiply` broadcasts an input, or if the input of a batch norm (also synchronised) is a sequence.
  static bool supports(kind const& k, std::span<shape const> inputs, shape const& output);

  /// Returns whether `follower` (a rectifier, or the sum `add`) can run inside the kernels of `layer`.
  bool fuses(kind const& layer, kind const& follower, bool training) const;
  layout plain(shape const& s) const { return s; }
  layout plain(layout const& l) const { return l.dims; }
  std::size_t bytes(layout const& l) const { return l.bytes(); }
  element_type element(layout const& l) const { return l.type; }
  std::string describe(layout const& l) const { return l.text(); }

  kernel reorder(layout const& from, layout const& to) const;
  kernel accumulate(layout const& l) const;
  static call bind(kernel const& k, std::span<void* const> addresses) { return {k, addresses}; }

  /// Prepares the kernels of one step of a plan.
  ///
  /// Before    supports(kind).
  basic_operation<kernel, layout> prepare(basic_request<layout> const& request) const;
  /// Like prepare(request), but `by` selects cuDNN engines and cuBLASLt algorithms by their measured times.
  basic_operation<kernel, layout> prepare(basic_request<layout> const& request, tuning& by) const;

 protected:
  cudnn(std::shared_ptr<detail::compute_stream> on, detail::product_precision products);
  static availability probe(detail::library_source const& from, std::string const& cache,
                            detail::product_precision products);

 private:
  using prepare_function = detail::gpu_operation (*)(detail::gpu_target const&, detail::gpu_request const&);

  /// Returns the function that prepares layers of kind `k`; null if there are no kernels for that kind.
  static prepare_function kernels_of(kind const& k);

  std::shared_ptr<detail::compute_stream> stream_;
  detail::gpu_target on_;
};

namespace detail {

/// The cudnn backend with another precision of the operands of matrix products and convolutions.
template <product_precision products>
class cudnn_multiplying_in : public cudnn {
 public:
  cudnn_multiplying_in() : cudnn_multiplying_in(std::make_shared<compute_stream>(std::make_shared<gpu>())) {}
  explicit cudnn_multiplying_in(std::shared_ptr<compute_stream> on) : cudnn(std::move(on), products) {}

  static availability probe() { return probe(system_libraries(), io::cache_folder("kernels")); }
  static availability probe(library_source const& from, std::string const& cache) {
    return cudnn::probe(from, cache, products);
  }
};

}  // namespace detail

/// Like cudnn, but matrix products and convolutions run on tensor cores, which round the operands to TF32 (11
/// significant bits). Everything else is f32. Images are channels last.
///
/// Errors    as cudnn; also backend_error below compute capability 8.0 (Ampere).
class cudnn_tf32 : public detail::cudnn_multiplying_in<detail::product_precision::tf32> {
 public:
  static constexpr std::string_view name = "cudnn_tf32";
  using cudnn_multiplying_in::cudnn_multiplying_in;
};

/// Like cudnn, in mixed precision: activations, their gradients and working copies of weights are bf16,
/// images are channels last.
///
/// Exact     parameters, their gradients, statistics, losses and optimizer state stay f32. Convolutions and
///           dense layers accumulate in f32 and round their output to bf16. A convolution adds its bias to
///           the rounded output; a dense layer reads its bias in bf16. Pools, activations, channel norms,
///           sums, concatenations, dropout and upsampling read and write bf16 and compute in f32. All other
///           layers read and write f32.
/// Errors    as cudnn; also backend_error below compute capability 8.0 (Ampere).
/// Source    Micikevicius et al., Mixed Precision Training, ICLR 2018; Kalamkar et al., A Study of BFLOAT16
///           for Deep Learning Training, 2019.
class cudnn_bf16 : public detail::cudnn_multiplying_in<detail::product_precision::bf16> {
 public:
  static constexpr std::string_view name = "cudnn_bf16";
  using cudnn_multiplying_in::cudnn_multiplying_in;
};

static_assert(tensor_backend<cudnn> && tensor_backend<cudnn_tf32> && tensor_backend<cudnn_bf16>);

}  // namespace cohort

#include <cohort/training/detail/backend_handle.hpp>

template <>
inline constexpr bool cohort::detail::has_compiled_plans<cohort::cudnn> = true;
template <>
inline constexpr bool cohort::detail::has_compiled_plans<cohort::cudnn_tf32> = true;
template <>
inline constexpr bool cohort::detail::has_compiled_plans<cohort::cudnn_bf16> = true;

namespace cohort {

COHORT_PLANS(extern, cudnn);
COHORT_PLANS(extern, cudnn_tf32);
COHORT_PLANS(extern, cudnn_bf16);

}  // namespace cohort
