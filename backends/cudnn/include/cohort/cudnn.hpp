// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/cudnn/dense_on_gpu.hpp>
#include <cohort/cudnn/elementwise_on_gpu.hpp>
#include <cohort/cudnn/passes_on_gpu.hpp>
#include <cohort/cudnn/softmax_on_gpu.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cohort {

/// The first GPU of NVIDIA's that the driver shows, in f32. It has kernels of few layers yet: `supports` says which, and probe
/// passes every GPU over.
///
/// Order     dense tensors; one stream of work a backend object, which its copies share.
/// Exact     one GPU, driver and libraries give one result, bit by bit.
/// Errors    backend_error where there is no GPU that it can use (probe says why).
class cudnn {
 public:
  using scalar = float;
  using layout = shape;
  using kernel = host_function;
  using call = host_call;

  static constexpr std::string_view name = "cudnn";
  static constexpr bool is_gpu = true;

  cudnn() : cudnn(std::make_shared<detail::compute_stream>(std::make_shared<detail::gpu>())) {}
  explicit cudnn(std::shared_ptr<detail::compute_stream> on)
      : on_(std::move(on)), blas_(std::make_shared<detail::blas_on_gpu>(on_)) {}

  static availability probe() { return probe(detail::system_libraries()); }
  /// Of a machine whose libraries come from elsewhere.
  static availability probe(detail::library_source const& from) try {
    detail::gpu const found(from);
    return {false, "it has no convolutions yet (" + found.name() + " could be used)"};
  } catch (backend_error const& why) {
    return {false, why.what()};
  }
  /// The processor only puts kernels into the stream.
  static int threads(int) { return 1; }
  std::shared_ptr<arena_passes> passes() const { return std::make_shared<detail::passes_on_gpu>(on_); }

  bool supports(kind const& k) const {
    return k
               == kind_of<
                   dense> || k == kind_of<relu> || k == kind_of<leaky_relu> || k == kind_of<add> || k == kind_of<dropout> || k == kind_of<softmax_cross_entropy>;
  }
  bool fuses(kind const&, kind const&, bool) const { return false; }
  layout plain(shape const& s) const { return s; }
  std::size_t bytes(layout const& l) const { return detail::elements_of(l) * sizeof(float); }
  element_type element(layout const&) const { return element_type::f32; }
  std::string describe(layout const&) const { return "dense"; }

  kernel reorder(layout const& from, layout const&) const { return detail::copy_on_gpu(on_, from); }
  kernel accumulate(layout const& l) const {
    return [on = on_, n = detail::elements_of(l)](std::span<void* const> a) {
      on->launch(detail::kernels::add_to{detail::tensor_at(a, 0), detail::tensor_at(a, 1)}, n);
    };
  }
  static call bind(kernel const& k, std::span<void* const> addresses) { return {k, addresses}; }

  basic_operation<kernel, layout> prepare(basic_request<layout> const& request) const {
    kind const& k = *request.kind;
    double const* const fields = request.fields;
    if (k == kind_of<dense>) return detail::prepare(blas_, request, detail::decode<dense>(fields));
    if (k == kind_of<relu>) return detail::prepare_rectifier(on_, request, 0);
    if (k == kind_of<leaky_relu>)
      return detail::prepare_rectifier(on_, request, detail::decode<leaky_relu>(fields).slope);
    if (k == kind_of<add>) return detail::prepare(on_, request, add{});
    if (k == kind_of<dropout>) return detail::prepare(on_, request, detail::decode<dropout>(fields));
    if (k == kind_of<softmax_cross_entropy>)
      return detail::prepare(on_, request, detail::decode<softmax_cross_entropy>(fields));
    throw backend_error(
        {.what = "the GPU has no kernels for this kind of layer", .where = request.name, .got = {k.name}});
  }

 private:
  std::shared_ptr<detail::compute_stream> on_;
  std::shared_ptr<detail::blas_on_gpu const> blas_;
};

static_assert(tensor_backend<cudnn>);

}  // namespace cohort
