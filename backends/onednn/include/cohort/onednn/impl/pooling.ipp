// SPDX-License-Identifier: Apache-2.0
#include <cohort/layer/avg_pool.hpp>
#include <cohort/layer/global_pool.hpp>
#include <cohort/layer/max_pool.hpp>
#include <cohort/onednn/detail/pooling.hpp>
#include <cohort/onednn/detail/primitive.hpp>
#include <string_view>

namespace cohort::detail {

std::optional<backend_operation<onednn>> prepare_pool(dnnl_engine_handle const& engine,
                                                      operation_request<onednn> const& request,
                                                      dnnl_alg_kind_t algorithm, dnnl_window const& w,
                                                      std::vector<dnnl_dim_t> const& dst, double flops) {
  dnnl_attributes const none;
  auto const type = request.inputs[0].type();
  auto const plain = memory_layout::dense(batched_dims(request.output_shape, request.batch), type);
  bool const reshaped = plain.dims() != dst;
  auto const forward_from = [&](memory_layout const& src) {
    dnnl_primitive_desc_t pd = nullptr;
    dnnl_pooling_forward_primitive_desc_create(
        &pd, engine.get(), request.training ? dnnl_forward_training : dnnl_forward_inference, algorithm,
        src.get(), memory_layout::tagged(dst, type).get(), w.strides, w.size, w.dilates, w.before, w.after,
        none.get());
    dnnl_pd made(pd);
    bool const padded = made && reshaped && layout_of(made, DNNL_ARG_DST).bytes() != plain.bytes();
    return padded ? dnnl_pd() : std::move(made);
  };
  auto const dims = request.inputs[0].dims();
  dnnl_pd const forward = first_optimised(
      [&] { return forward_from(request.inputs[0]); },
      [&] {
        return forward_from(memory_layout::tagged(dims, type, dims.size() == 4 ? dnnl_acdb : dnnl_acb));
      });
  if (!forward) return {};
  auto const src = layout_of(forward, DNNL_ARG_SRC), made_dst = layout_of(forward, DNNL_ARG_DST);
  backend_operation<onednn> made;
  made.output = reshaped ? plain : made_dst;
  made.forward.push_back(
      invoke(engine, forward,
             {{operand_role::input, 0, DNNL_ARG_SRC}, {operand_role::output, 0, DNNL_ARG_DST, made.output}},
             flops * request.batch));
  if (!request.training || !request.wants_diff_input[0]) return made;

  dnnl_primitive_desc_t pd = nullptr;
  dnnl_pooling_backward_primitive_desc_create(&pd, engine.get(), algorithm, src.get(), made_dst.get(),
                                              w.strides, w.size, w.dilates, w.before, w.after, forward.get(),
                                              none.get());
  dnnl_pd const backward(pd);
  if (!is_optimised(backward)) return {};
  made.backward.push_back(invoke(engine, backward,
                                 {{operand_role::diff_output, 0, DNNL_ARG_DIFF_DST, made.output},
                                  {operand_role::diff_input, 0, DNNL_ARG_DIFF_SRC}}));
  return made;
}

/// Prepares max_pool or avg_pool.
template <class L>
std::optional<backend_operation<onednn>> prepare_moving_pool(dnnl_engine_handle const& engine,
                                                             operation_request<onednn> const& request,
                                                             L const& l, dnnl_alg_kind_t algorithm) {
  return prepare_pool(engine, request, algorithm, {l.moving(), request.input_shapes[0]},
                      batched_dims(request.output_shape, request.batch), l.flops(request.input_shapes));
}

/// Prepares pooling with one window over all positions of a channel: C×H×W → C×1×1, stored as C.
std::optional<backend_operation<onednn>> prepare_global_pool(dnnl_engine_handle const& engine,
                                                             operation_request<onednn> const& request,
                                                             dnnl_alg_kind_t algorithm) {
  shape const input = request.input_shapes[0];
  bool const image = input.rank == 3;
  if (!image && input.rank != 2) return {};
  shape const as_image = image ? input : shape{input[0], 1, input[1]};
  extent2 const all(as_image[1], as_image[2]);
  dnnl_window const w({all, all}, as_image, image ? 2 : 1);
  std::vector<dnnl_dim_t> dst(std::size_t(input.rank) + 1, 1);
  dst[0] = request.batch, dst[1] = input[0];
  return prepare_pool(engine, request, algorithm, w, dst, static_cast<double>(input.elements()));
}

std::optional<backend_operation<onednn>> prepare_pool(dnnl_engine_handle const& engine,
                                                      operation_request<onednn> const& request) {
  std::string_view const name = request.kind->name;
  if (name == avg_pool::kind_name)
    return prepare_moving_pool(engine, request, decode<avg_pool>(request.fields),
                               dnnl_pooling_avg_exclude_padding);
  if (name == global_avg_pool::kind_name)
    return prepare_global_pool(engine, request, dnnl_pooling_avg_exclude_padding);
  if (name == global_max_pool::kind_name) return prepare_global_pool(engine, request, dnnl_pooling_max);
  if (name != max_pool::kind_name) return {};
  auto made = prepare_moving_pool(engine, request, decode<max_pool>(request.fields), dnnl_pooling_max);
  if (!made) refuse_step(request, "forward or backward");
  return made;
}

}  // namespace cohort::detail
