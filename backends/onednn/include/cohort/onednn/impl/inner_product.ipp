// SPDX-License-Identifier: Apache-2.0
#include <cohort/onednn/detail/inner_product.hpp>
#include <cohort/onednn/detail/layout_candidates.hpp>
#include <cohort/onednn/detail/primitive.hpp>
#include <cohort/onednn/detail/weighted.hpp>

namespace cohort::detail {

/// The primitives of one dense layer.
struct inner_product_primitives final : weighted_primitives {
  dnnl_engine_t engine;
  dnnl_prop_kind_t propagation;

  inner_product_primitives(dnnl_engine_handle const& on, operation_request<onednn> const& request)
      : engine(on.get()), propagation(request.training ? dnnl_forward_training : dnnl_forward_inference) {}

  dnnl_pd forward(described src, described weights, described bias, described dst,
                  dnnl_attributes const& attributes) const override {
    dnnl_primitive_desc_t pd = nullptr;
    dnnl_inner_product_forward_primitive_desc_create(&pd, engine, propagation, src.get(), weights.get(),
                                                     bias.get(), dst.get(), attributes.get());
    return dnnl_pd(pd);
  }
  dnnl_pd backward_data(described diff_src, described weights, described diff_dst, dnnl_pd const& forward,
                        dnnl_attributes const& attributes) const override {
    dnnl_primitive_desc_t pd = nullptr;
    dnnl_inner_product_backward_data_primitive_desc_create(&pd, engine, diff_src.get(), weights.get(),
                                                           diff_dst.get(), forward.get(), attributes.get());
    return dnnl_pd(pd);
  }
  dnnl_pd backward_weights(described src, described diff_weights, described diff_bias, described diff_dst,
                           dnnl_pd const& forward, dnnl_attributes const& attributes) const override {
    dnnl_primitive_desc_t pd = nullptr;
    dnnl_inner_product_backward_weights_primitive_desc_create(&pd, engine, src.get(), diff_weights.get(),
                                                              diff_bias.get(), diff_dst.get(), forward.get(),
                                                              attributes.get());
    return dnnl_pd(pd);
  }
};

/// Returns whether the fixed rule keeps a dense layer's weights row-major. The rule does so only in training:
/// in bf16 for at least 2^22 weights, in f32 for steps of sequences. oneDNN then packs tiles during each
/// product. A blocked layout would require a transposed copy for backward-data; renewing this copy in each
/// step costs more time than the faster products save (DECISIONS 11). In f32, the weights' gradient over the
/// many rows of sequences takes up to twice as long in a blocked layout.
bool keeps_weights_plain(dnnl_target const& on, operation_request<onednn> const& request, bool of_steps) {
  constexpr std::int64_t large = std::int64_t{1} << 22;
  if (on.type == dnnl_f32) return request.training && of_steps;
  return request.training && request.parameter_specs[0].dims.elements() >= large;
}

[[gnu::noinline]] backend_operation<onednn> prepare(dnnl_target const& on,
                                                    operation_request<onednn> const& request, dense const& l,
                                                    bool of_steps) {
  inner_product_primitives const make(on.engine, request);
  auto const src_any = memory_layout::tagged(batched_dims(request.input_shapes[0], request.batch), on.type);
  auto const dst_any = memory_layout::tagged(batched_dims(request.output_shape, request.batch), on.type);
  std::vector<activation_layouts> as{{src_any, dst_any}};
  layout_candidate const candidate = requested_candidate(request);
  if (request.inputs[0].type() == on.type && candidate.forward == layout_candidate::order::rule)
    as.insert(as.begin(), {request.inputs[0], dst_any});
  std::vector<activation_layouts> data;
  if (candidate.data == layout_candidate::order::any) data.push_back({src_any, dst_any});
  auto const dims = batched_dims(request.input_shapes[0], l.units);
  bool const plain =
      candidate.plain || (candidate.name == "rule" && keeps_weights_plain(on, request, of_steps));
  return prepare_weighted(on, request, make, as, data,
                          plain ? memory_layout::dense(dims, on.type) : memory_layout::tagged(dims, on.type),
                          l.flops(request.input_shapes) * request.batch,
                          of_steps ? memory_layout::dense(dims) : memory_layout());
}

}  // namespace cohort::detail
