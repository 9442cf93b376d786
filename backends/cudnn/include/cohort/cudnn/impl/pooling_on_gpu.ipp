// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/pooling_on_gpu.hpp>
#include <cohort/layer/detail/sliding_window.hpp>

namespace cohort::detail {

kernels::divided_window window_of(sliding_window const& moving, gpu_request const& request) {
  shape const in = request.input_shapes[0], out = request.output_shape;
  return kernels::moving_window{moving.size.height,
                                moving.size.width,
                                moving.stride.height,
                                moving.stride.width,
                                vertical_border(moving, in[1]).before,
                                horizontal_border(moving, in[2]).before,
                                in[1],
                                in[2],
                                out[1],
                                out[2],
                                request.inputs[0].depth()};
}

/// Returns a window over the whole plane, which is treated as a single row.
kernels::divided_window whole_plane(gpu_request const& request) {
  auto const area = static_cast<int>(request.input_shapes[0].elements() / request.output_shape.elements());
  return kernels::moving_window{1, area, 1, 1, 0, 0, 1, area, 1, 1, request.inputs[0].depth()};
}

/// Enqueues the pool kernel make.operator()<width>() for n elements, where width is the window's call_width.
template <class Make>
void launch_pool(shared_stream const& on, kernels::divided_window const& w, std::size_t n, Make const& make) {
  if (w.call_width == 8)
    on->launch(make.template operator()<8>(), n / 8);
  else
    on->launch(make.template operator()<1>(), n);
}

template <class Layer>
double flops_of(gpu_request const& request, Layer const& layer) {
  return layer.flops(request.input_shapes) * request.batch;
}

/// Prepares max pooling. Forward stores the position of each window's largest element in the workspace.
gpu_operation prepare_max_pool(gpu_target const& where, gpu_request const& request,
                               kernels::divided_window const& w, double flops) {
  using enum operand_role;
  shared_stream const on = where.stream;
  gpu_layout const from = request.inputs[0], to = from.with_dims(batched_output(request));
  std::size_t const inputs = from.elements(), outputs = to.elements();
  gpu_operation made;
  made.output = to;
  gpu_operands operands{{input, 0, from}, {output, 0, to}};
  shape const places = shape_for_bytes(outputs * sizeof(int));
  if (request.training) operands.push_back({workspace, 0, places});
  made.forward.push_back({[=](std::span<void* const> a) {
                            launch_pool(on, w, outputs, [&]<int width>() {
                              return kernels::max_pool<width>{
                                  values_at(a, 0, from), values_at(a, 1, to),
                                  a.size() > 2 ? static_cast<int*>(a[2]) : nullptr, w};
                            });
                          },
                          std::move(operands), "nvrtc", flops});
  if (request.training && request.wants_diff_input[0])
    made.backward.push_back({[=](std::span<void* const> a) {
                               launch_pool(on, w, inputs, [&]<int width>() {
                                 return kernels::max_pool_gradient<width>{values_at(a, 0, to),
                                                                          static_cast<int const*>(a[1]),
                                                                          values_at(a, 2, from), w};
                               });
                             },
                             {{diff_output, 0, to}, {workspace, 0, places}, {diff_input, 0, from}},
                             "nvrtc",
                             flops});
  return made;
}

gpu_operation prepare_average_pool(gpu_target const& where, gpu_request const& request,
                                   kernels::divided_window const& w, double flops) {
  using enum operand_role;
  shared_stream const on = where.stream;
  gpu_layout const from = request.inputs[0], to = from.with_dims(batched_output(request));
  std::size_t const inputs = from.elements(), outputs = to.elements();
  gpu_operation made;
  made.output = to;
  made.forward.push_back(
      {[=](std::span<void* const> a) {
         launch_pool(on, w, outputs, [&]<int width>() {
           return kernels::average_pool<width>{values_at(a, 0, from), values_at(a, 1, to), w, true};
         });
       },
       {{input, 0, from}, {output, 0, to}},
       "nvrtc",
       flops});
  if (request.training && request.wants_diff_input[0])
    made.backward.push_back({[=](std::span<void* const> a) {
                               launch_pool(on, w, inputs, [&]<int width>() {
                                 return kernels::average_pool_gradient<width>{values_at(a, 0, to),
                                                                              values_at(a, 1, from), w, true};
                               });
                             },
                             {{diff_output, 0, to}, {diff_input, 0, from}},
                             "nvrtc",
                             flops});
  return made;
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, max_pool const& layer) {
  return prepare_max_pool(where, request, window_of(layer.moving(), request), flops_of(request, layer));
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, avg_pool const& layer) {
  return prepare_average_pool(where, request, window_of(layer.moving(), request), flops_of(request, layer));
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, global_max_pool const& layer) {
  return prepare_max_pool(where, request, whole_plane(request), flops_of(request, layer));
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, global_avg_pool const& layer) {
  return prepare_average_pool(where, request, whole_plane(request), flops_of(request, layer));
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, upsampling const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  extent2 const by = layer.factor;
  shape const small = request.input_shapes[0], large = request.output_shape;
  gpu_layout const from = request.inputs[0], to = from.with_dims(large.batched(request.batch));
  kernels::divided_window const w(kernels::moving_window{
      by.height, by.width, by.height, by.width, 0, 0, large[1], large[2], small[1], small[2], from.depth()});
  std::size_t const inputs = from.elements(), outputs = to.elements();
  gpu_operation made;
  made.output = to;
  made.forward.push_back(
      {[=](std::span<void* const> a) {
         launch_pool(on, w, outputs, [&]<int width>() {
           return kernels::average_pool_gradient<width>{values_at(a, 0, from), values_at(a, 1, to), w, false};
         });
       },
       {{input, 0, from}, {output, 0, to}},
       "nvrtc",
       0});
  if (request.training && request.wants_diff_input[0])
    made.backward.push_back(
        {[=](std::span<void* const> a) {
           launch_pool(on, w, inputs, [&]<int width>() {
             return kernels::average_pool<width>{values_at(a, 0, to), values_at(a, 1, from), w, false};
           });
         },
         {{diff_output, 0, to}, {diff_input, 0, from}},
         "nvrtc",
         static_cast<double>(outputs)});
  return made;
}

}  // namespace cohort::detail
