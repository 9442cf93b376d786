// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/elementwise_on_gpu.hpp>

namespace cohort::detail {

/// Prepares relu (slope 0) or leaky relu. The gradient needs only the output.
gpu_operation prepare_rectifier(shared_stream const& on, gpu_request const& request, double slope) {
  using enum operand_role;
  gpu_layout const layout = request.inputs[0];
  std::size_t const n = layout.elements();
  kernels::rectifier_slopes const slopes{static_cast<float>(slope), nullptr, 1, 1};
  gpu_operation made;
  made.output = layout;
  made.overwrites = true;
  made.forward.push_back(
      {[=](std::span<void* const> a) {
         on->launch(kernels::rectify{values_at(a, 0, layout), values_at(a, 1, layout), slopes}, n);
       },
       {{input, 0, layout}, {output, 0, layout}},
       "nvrtc",
       static_cast<double>(n)});
  if (request.training && request.wants_diff_input[0])
    made.backward.push_back({[=](std::span<void* const> a) {
                               on->launch(
                                   kernels::rectify_gradient{values_at(a, 0, layout), values_at(a, 1, layout),
                                                             values_at(a, 2, layout), slopes},
                                   n);
                             },
                             {{output, 0, layout}, {diff_output, 0, layout}, {diff_input, 0, layout}},
                             "nvrtc",
                             static_cast<double>(n)});
  return made;
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, relu const&) {
  return prepare_rectifier(where.stream, request, 0);
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, leaky_relu const& layer) {
  return prepare_rectifier(where.stream, request, layer.slope);
}

host_function copy_on_gpu(shared_stream const& on, gpu_layout const& layout) {
  return [on, bytes = layout.bytes()](std::span<void* const> a) {
    if (a[0] != a[1]) on->copy(static_cast<std::byte const*>(a[0]), static_cast<std::byte*>(a[1]), bytes);
  };
}

host_function reorder_on_gpu(shared_stream const& on, gpu_layout const& from, gpu_layout const& to) {
  if (from == to) return copy_on_gpu(on, from);
  return [=](std::span<void* const> a) {
    kernels::values const source = values_at(a, 0, from), target = values_at(a, 1, to);
    if (from.channels_last == to.channels_last) {
      on->launch(kernels::convert{source, target}, to.elements());
    } else {
      auto const launch = [&]<int form>() {
        using kernel = kernels::reorder<form>;
        on->launch(kernel(source, target, to.channels(), to.places()),
                   kernel::calls_of(to.elements() / to.channels() / to.places(), to.channels(), to.places()));
      };
      bool const by_eights = to.channels() % 8 == 0;
      if (to.channels_last)
        by_eights ? launch.template operator()<1>() : launch.template operator()<3>();
      else
        by_eights ? launch.template operator()<0>() : launch.template operator()<2>();
    }
  };
}

gpu_operation prepare_copy(shared_stream const& on, gpu_request const& request, gpu_layout const& from) {
  using enum operand_role;
  gpu_layout const to = from.with_dims(batched_output(request));
  gpu_operation made;
  made.output = to;
  made.overwrites = request.kind->in_place;
  made.forward.push_back({copy_on_gpu(on, to), {{input, 0, from}, {output, 0, to}}, "copy", 0});
  if (request.training && request.wants_diff_input[0])
    made.backward.push_back({copy_on_gpu(on, to), {{diff_output, 0, to}, {diff_input, 0, from}}, "copy", 0});
  return made;
}

gpu_operation prepare_copy(shared_stream const& on, gpu_request const& request) {
  gpu_layout const is = request.inputs[0];
  return prepare_copy(on, request,
                      {is.dims, is.channels_last && is.dims == batched_output(request), is.type});
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, reshape const&) {
  return prepare_copy(where.stream, request);
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, flatten const&) {
  return prepare_copy(where.stream, request);
}

}  // namespace cohort::detail
