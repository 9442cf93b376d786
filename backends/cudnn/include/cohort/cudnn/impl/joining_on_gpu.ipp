// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/cudnn/detail/elementwise_on_gpu.hpp>
#include <cohort/cudnn/detail/joining_on_gpu.hpp>
#include <cohort/error/exceptions.hpp>

namespace cohort::detail {

/// Returns the output's layout: channels last if any input is channels last, bf16 if any input is bf16.
gpu_layout layout_of_joined(gpu_request const& request) {
  auto const any = [&](bool (*is)(gpu_layout const&)) {
    return std::any_of(request.inputs.begin(), request.inputs.end(), is);
  };
  return {
      batched_output(request), any([](gpu_layout const& one) { return one.channels_last; }),
      any([](gpu_layout const& one) { return one.is_narrow(); }) ? element_type::bf16 : element_type::f32};
}

/// Returns the operands output, input 0, input 1, …, all with the order of axes and the type of `layout`.
gpu_operands joined_operands(gpu_request const& request, gpu_layout const& layout) {
  gpu_operands made{{operand_role::output, 0, layout.with_dims(batched_output(request))}};
  for (std::size_t i = 0; i < request.input_shapes.size(); ++i)
    made.push_back({operand_role::input, static_cast<int>(i), layout.with_dims(batched_input(request, i))});
  return made;
}

/// Like the overload with `layout`, in f32 and channels first.
gpu_operands joined_operands(gpu_request const& request) {
  return joined_operands(request, batched_output(request));
}

/// Throws backend_error naming the layer if an input is broadcast.
void refuse_broadcasting(gpu_request const& request) {
  for (shape const& one : request.input_shapes)
    if (!(one == request.output_shape))
      throw backend_error({.what = "the GPU backends have no kernels for broadcast inputs",
                           .where = request.name,
                           .expected = {"inputs of shape ", to_string(request.output_shape),
                                        ", or a backend of the processor: priority<cudnn, onednn>"},
                           .got = {to_string(one)}});
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, add const&) {
  using enum operand_role;
  refuse_broadcasting(request);
  shared_stream const on = where.stream;
  gpu_layout const layout = layout_of_joined(request);
  std::size_t const n = layout.elements(), inputs = request.input_shapes.size();
  gpu_operation made;
  made.output = layout;
  made.forward.push_back(
      {[=](std::span<void* const> a) {
         kernels::values const sum = values_at(a, 0, layout);
         for (std::size_t i = 2; i < a.size(); ++i)
           on->launch(
               kernels::sum_of_two{i == 2 ? values_at(a, 1, layout) : sum, values_at(a, i, layout), sum}, n);
       },
       joined_operands(request, layout), "nvrtc", static_cast<double>((inputs - 1) * n)});
  for (std::size_t i = 0; request.training && i < inputs; ++i)
    if (request.wants_diff_input[i])
      made.backward.push_back({copy_on_gpu(on, layout),
                               {{diff_output, 0, layout}, {diff_input, static_cast<int>(i), layout}},
                               "copy",
                               0});
  return made;
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, average const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const layout = batched_output(request);
  std::size_t const n = elements_of(layout), inputs = request.input_shapes.size();
  float const factor = 1 / static_cast<float>(inputs);
  double const flops = layer.flops(request.input_shapes) * request.batch;
  gpu_operation made;
  made.output = layout;
  made.forward.push_back({[=](std::span<void* const> a) {
                            on->copy(static_cast<std::byte const*>(a[1]), static_cast<std::byte*>(a[0]),
                                     n * sizeof(float));
                            for (std::size_t i = 2; i < a.size(); ++i)
                              on->launch(kernels::add_to{tensor_at(a, i), tensor_at(a, 0)}, n);
                            on->launch(kernels::scale{tensor_at(a, 0), factor}, n);
                          },
                          joined_operands(request), "nvrtc", flops});
  for (std::size_t i = 0; request.training && i < inputs; ++i)
    if (request.wants_diff_input[i])
      made.backward.push_back({[=](std::span<void* const> a) {
                                 on->launch(kernels::scaled{tensor_at(a, 0), tensor_at(a, 1), factor}, n);
                               },
                               {{diff_output, 0, layout}, {diff_input, static_cast<int>(i), layout}},
                               "nvrtc",
                               static_cast<double>(n)});
  return made;
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, multiply const& layer) {
  using enum operand_role;
  refuse_broadcasting(request);
  shared_stream const on = where.stream;
  shape const layout = batched_output(request);
  std::size_t const n = elements_of(layout), inputs = request.input_shapes.size();
  double const flops = layer.flops(request.input_shapes) * request.batch;
  gpu_operation made;
  made.output = layout;
  // argument 0 = argument 1 · argument 2 · …
  host_function const product = [=](std::span<void* const> a) {
    on->copy(static_cast<std::byte const*>(a[1]), static_cast<std::byte*>(a[0]), n * sizeof(float));
    for (std::size_t i = 2; i < a.size(); ++i)
      on->launch(kernels::multiply_by{tensor_at(a, i), tensor_at(a, 0)}, n);
  };
  made.forward.push_back({product, joined_operands(request), "nvrtc", flops});
  for (std::size_t i = 0; request.training && i < inputs; ++i) {
    if (!request.wants_diff_input[i]) continue;
    gpu_operands operands{{diff_input, static_cast<int>(i), layout}, {diff_output, 0, layout}};
    for (std::size_t other = 0; other < inputs; ++other)
      if (other != i) operands.push_back({input, static_cast<int>(other), layout});
    made.backward.push_back({product, std::move(operands), "nvrtc", flops});
  }
  return made;
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, maximum const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const layout = batched_output(request), places = shape_for_bytes(elements_of(layout) * sizeof(int));
  std::size_t const n = elements_of(layout), inputs = request.input_shapes.size();
  gpu_operation made;
  made.output = layout;
  gpu_operands operands = joined_operands(request);
  if (request.training) operands.push_back({workspace, 0, places});
  made.forward.push_back(
      {[=](std::span<void* const> a) {
         int* const winners = a.size() > inputs + 1 ? static_cast<int*>(a[inputs + 1]) : nullptr;
         if (winners) on->clear(static_cast<std::byte*>(a[inputs + 1]), n * sizeof(int));
         on->copy(static_cast<std::byte const*>(a[1]), static_cast<std::byte*>(a[0]), n * sizeof(float));
         for (std::size_t i = 1; i < inputs; ++i)
           on->launch(
               kernels::take_larger{tensor_at(a, i + 1), tensor_at(a, 0), winners, static_cast<int>(i)}, n);
       },
       std::move(operands), "nvrtc", layer.flops(request.input_shapes) * request.batch});
  for (std::size_t i = 0; request.training && i < inputs; ++i)
    if (request.wants_diff_input[i])
      made.backward.push_back(
          {[=](std::span<void* const> a) {
             on->launch(kernels::larger_gradient{tensor_at(a, 0), static_cast<int const*>(a[1]),
                                                 tensor_at(a, 2), static_cast<int>(i)},
                        n);
           },
           {{diff_output, 0, layout}, {workspace, 0, places}, {diff_input, static_cast<int>(i), layout}},
           "nvrtc",
           static_cast<double>(n)});
  return made;
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, concatenate const&) {
  using enum operand_role;
  shared_stream const on = where.stream;
  gpu_layout const layout = layout_of_joined(request);
  std::size_t const places = layout.channels_last ? layout.places() : 1,
                    rows = static_cast<std::size_t>(request.batch) * places, whole = layout.elements() / rows,
                    inputs = request.input_shapes.size();
  std::vector<std::size_t> widths, begins;
  for (shape const& one : request.input_shapes) {
    begins.push_back(begins.empty() ? 0 : begins.back() + widths.back());
    widths.push_back(elements_of(one) / places);
  }
  gpu_operation made;
  made.output = layout;
  made.forward.push_back({[=](std::span<void* const> a) {
                            for (std::size_t i = 0; i < inputs; ++i)
                              on->launch(
                                  kernels::copy_rows{values_at(a, i + 1, layout), values_at(a, 0, layout),
                                                     widths[i], 0, widths[i], begins[i], whole},
                                  rows * widths[i]);
                          },
                          joined_operands(request, layout), "nvrtc", 0});
  for (std::size_t i = 0; request.training && i < inputs; ++i)
    if (request.wants_diff_input[i])
      made.backward.push_back(
          {[=, width = widths[i], begin = begins[i]](std::span<void* const> a) {
             on->launch(kernels::copy_rows{values_at(a, 0, layout), values_at(a, 1, layout), width, begin,
                                           whole, 0, width},
                        rows * width);
           },
           {{diff_output, 0, layout},
            {diff_input, static_cast<int>(i), layout.with_dims(batched_input(request, i))}},
           "nvrtc",
           0});
  return made;
}

}  // namespace cohort::detail
