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
#include <type_traits>
#include <utility>

namespace cohort {

/// A GPU of NVIDIA's, in f32 without TF32: of those that the driver shows the first one, or that of the process's rank on its machine.
/// It has kernels for every kind of layer that the library brings, and none for those of users: see `supports`.
///
/// Order     tensors axis by axis, images channels last where convolutions have no other engine; one stream of work a backend
///           object, which its copies share.
/// Exact     one GPU, driver and libraries give one result, bit by bit.
/// Errors    backend_error where there is no GPU that it can use (probe says why), or cuDNN has no engine for a convolution.
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

  static availability probe();
  /// Of a machine whose libraries come from elsewhere. It compiles the kernels, or finds them in the cache, and runs a small
  /// convolution.
  static availability probe(detail::library_source const& from, std::string const& cache);
  /// The processor only puts kernels into the stream.
  static int threads(int) { return 1; }
  std::shared_ptr<arena_passes> passes() const;

  static bool supports(kind const& k) { return kernels_of(k) != nullptr; }
  bool fuses(kind const& layer, kind const& behind, bool training) const;
  layout plain(shape const& s) const { return s; }
  layout plain(layout const& l) const { return l.dims; }
  std::size_t bytes(layout const& l) const { return l.bytes(); }
  element_type element(layout const& l) const { return l.type; }
  std::string describe(layout const& l) const { return l.text(); }

  kernel reorder(layout const& from, layout const& to) const;
  kernel accumulate(layout const& l) const;
  static call bind(kernel const& k, std::span<void* const> addresses) { return {k, addresses}; }

  /// Before    supports(kind).
  basic_operation<kernel, layout> prepare(basic_request<layout> const& request) const;
  /// The same by the engines of cuDNN's and the algorithms of cuBLASLt's that `by` chooses by their times.
  basic_operation<kernel, layout> prepare(basic_request<layout> const& request, tuning& by) const;

 protected:
  cudnn(std::shared_ptr<detail::compute_stream> on, detail::product_precision products);
  static availability probe(detail::library_source const& from, std::string const& cache,
                            detail::product_precision products);

 private:
  using prepare_function = detail::gpu_operation (*)(detail::gpu_target const&, detail::gpu_request const&);

  /// Null for kinds that it has no kernels for.
  static prepare_function kernels_of(kind const& k);

  std::shared_ptr<detail::compute_stream> stream_;
  detail::gpu_target on_;
};

namespace detail {

/// The same with other products.
template <product_precision products>
class cudnn_multiplying_in : public cudnn {
 public:
  cudnn_multiplying_in() : cudnn_multiplying_in(std::make_shared<compute_stream>(std::make_shared<gpu>())) {}
  explicit cudnn_multiplying_in(std::shared_ptr<compute_stream> on) : cudnn(std::move(on), products) {}

  static availability probe() { return probe(system_libraries(), cache_folder("kernels")); }
  static availability probe(library_source const& from, std::string const& cache) {
    return cudnn::probe(from, cache, products);
  }
};

}  // namespace detail

/// The same with the products of convolutions and dense layers by tensor cores: their factors are rounded to TF32, 11 significant
/// bits. All else is f32. Images lie channels last.
///
/// Errors    also not usable before compute capability 8.0 (Ampere).
class cudnn_tf32 : public detail::cudnn_multiplying_in<detail::product_precision::tf32> {
 public:
  static constexpr std::string_view name = "cudnn_tf32";
  using cudnn_multiplying_in::cudnn_multiplying_in;
};

/// The same in mixed precision: activations, their gradients and working copies of weights in bf16, images channels last.
///
/// Exact     what is learned stays f32: parameters, their gradients, statistics, losses, updaters' state. Convolutions and dense
///           layers sum in f32 and round what they give on; a convolution's bias is added to that, a dense layer's is read in
///           bf16. Pools, activations, norms of channels, sums, concatenations, dropout and upsampling work in f32 on what is bf16, other
///           layers on f32.
/// Errors    also not usable before compute capability 8.0 (Ampere).
/// Source    Micikevicius et al., Mixed Precision Training, ICLR 2018; Kalamkar et al., A Study of BFLOAT16 for Deep Learning
///           Training, 2019.
class cudnn_bf16 : public detail::cudnn_multiplying_in<detail::product_precision::bf16> {
 public:
  static constexpr std::string_view name = "cudnn_bf16";
  using cudnn_multiplying_in::cudnn_multiplying_in;
};

static_assert(tensor_backend<cudnn> && tensor_backend<cudnn_tf32> && tensor_backend<cudnn_bf16>);

}  // namespace cohort

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/cudnn.ipp>
#endif
