// SPDX-License-Identifier: Apache-2.0
#include <cohort/backend/detail/layer_on_host.hpp>
#include <cohort/onednn.hpp>
#include <cohort/onednn/detail/activation.hpp>
#include <cohort/onednn/detail/composed.hpp>
#include <cohort/onednn/detail/convolution.hpp>
#include <cohort/onednn/detail/deconvolution.hpp>
#include <cohort/onednn/detail/elementwise.hpp>
#include <cohort/onednn/detail/inner_product.hpp>
#include <cohort/onednn/detail/joining.hpp>
#include <cohort/onednn/detail/layout_candidates.hpp>
#include <cohort/onednn/detail/matmul.hpp>
#include <cohort/onednn/detail/normalisation.hpp>
#include <cohort/onednn/detail/pooling.hpp>
#include <cohort/onednn/detail/sequence.hpp>
#include <cohort/onednn/detail/winograd.hpp>
#include <string>

namespace cohort {

namespace detail {

/// Runs a small convolution. If the convolution succeeds, the backend is usable.
template <class B>
availability probe_convolution() try {
  B const backend;
  conv2d const smallest{.filters = 1, .kernel = 1};
  auto const fields = encode(smallest);
  shape const image{1, 1, 1};
  parameter_list const specs = smallest.parameters({&image, 1});
  memory_layout const input = backend.plain(image.batched(1));
  std::optional<memory_layout> const fixed_layouts[2]{};
  operation_request<onednn> request;
  request.name = "probe";
  request.kind = &kind_of<conv2d>;
  request.fields = fields.data();
  request.training = false;
  request.input_shapes = {&image, 1};
  request.output_shape = image;
  request.inputs = {&input, 1};
  request.wants_diff_input = {false};
  request.parameter_specs = {specs.specs.data(), 2};
  request.parameters = fixed_layouts;
  backend_operation<onednn> const made = backend.prepare(request);
  alignas(64) float memory[8][4096 / sizeof(float)]{};
  std::vector<void*> addresses;
  for (auto const& o : made.forward[0].operands) {
    if (o.layout.bytes() > sizeof memory[0] || addresses.size() == 8) return {};
    addresses.push_back(memory[addresses.size()]);
  }
  onednn::bind(made.forward[0].kernel, addresses)();
  return {};
} catch (error const& why) {
  return {false, why.what()};
}

/// Returns whether an element-wise layer broadcasts an input.
bool broadcasts(operation_request<onednn> const& request) {
  for (shape const& one : request.input_shapes)
    if (!(one == request.output_shape)) return true;
  return false;
}

}  // namespace detail

onednn::kernel onednn::reorder(layout const& from, layout const& to) const {
  if (detail::is_winograd(from, to)) return detail::winograd_weights(on_.engine, from, to);
  return detail::reorder_kernel(on_.engine, from, to);
}

availability onednn::probe() {
  dnnl_version_t const* const version = dnnl_version();
  if (version->major < 3 || (version->major == 3 && version->minor < 2))
    return {false, "oneDNN " + std::to_string(version->major) + '.' + std::to_string(version->minor)
                       + " is older than 3.2"};
  return detail::probe_convolution<onednn>();
}

availability onednn_bf16::probe() {
  if (availability const f32 = onednn::probe(); !f32.usable) return f32;
  if (dnnl_get_effective_cpu_isa() < dnnl_cpu_isa_avx512_core_bf16)
    return {false, "this processor has no bf16 instructions (avx512_bf16)"};
  return detail::probe_convolution<onednn_bf16>();
}

onednn::kernel onednn::accumulate(layout const& l) const {
  dnnl_primitive_desc_t pd = nullptr;
  detail::check_dnnl(dnnl_binary_primitive_desc_create(&pd, on_.engine.get(), dnnl_binary_add, l.get(),
                                                       l.get(), l.get(), nullptr),
                     "describing a sum");
  detail::dnnl_pd const described(pd);
  dnnl_primitive_t primitive = nullptr;
  detail::check_dnnl(dnnl_primitive_create(&primitive, pd), "making a sum");
  kernel made;
  made.primitive = detail::dnnl_primitive_handle(primitive);
  made.engine = on_.engine;
  made.arguments = {DNNL_ARG_SRC_1, DNNL_ARG_SRC_0};
  made.layouts = {l, l};
  // The sum is computed in place, so the destination is also the second operand.
  made.arguments.push_back(DNNL_ARG_DST);
  made.layouts.push_back(l);
  return made;
}

backend_operation<onednn> onednn::prepare(operation_request<onednn> const& request) const {
  kind const& k = *request.kind;
  if (auto made = detail::prepare_sequence(on_, request)) return std::move(*made);
  if (k == kind_of<conv2d>) {
    conv2d const l = detail::decode<conv2d>(request.fields);
    if (request.candidate.empty())
      if (auto made = detail::prepare_winograd(on_, request, l)) return std::move(*made);
    return detail::prepare(on_, request, l);
  }
  if (k == kind_of<dense>) return detail::prepare(on_, request, detail::decode<dense>(request.fields));
  if (auto made = detail::prepare_own_activation(request)) return std::move(*made);
  if (detail::find_activation(k)) return detail::prepare_activation(on_.engine, request);
  if (k == kind_of<add> && !detail::broadcasts(request)) return detail::prepare(on_.engine, request, add{});
  if (k.name == matmul::kind_name)
    if (auto made = detail::prepare_matmul(on_, request, detail::decode<matmul>(request.fields)))
      return std::move(*made);
  if (k == kind_of<concatenate>) return detail::prepare(on_.engine, request, concatenate{});
  if (k.name == conv2d_transposed::kind_name)
    return detail::prepare(on_, request, detail::decode<conv2d_transposed>(request.fields));
  if (k.compose) return detail::prepare_composed(on_, request);
  if (request.input_shapes[0].rank != 2 || k.name == layer_norm::kind_name) {
    if (auto made = detail::prepare_pool(on_.engine, request)) return std::move(*made);
    if (auto made = detail::prepare_normalisation(on_.engine, request)) return std::move(*made);
  }
  return detail::prepare_on_host(*this, request, k.float_kernel, "host:" + std::string(k.name));
}

}  // namespace cohort
