// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/pad_crop_slice_gpu.hpp>

namespace cohort::detail {

/// Returns the position of `small` images within `large` images, with the given padding.
kernels::image_frame frame_of(shape const& small, shape const& large, padding const& sides) {
  return {static_cast<kernels::size>(small[1]),
          static_cast<kernels::size>(small[2]),
          static_cast<kernels::size>(sides.top),
          static_cast<kernels::size>(sides.left),
          static_cast<kernels::size>(large[1]),
          static_cast<kernels::size>(large[2]),
          1};
}

/// Prepares zero padding (`enlarges`) or cropping of images. Each is the gradient of the other.
gpu_operation prepare_framed(shared_stream const& on, gpu_request const& request,
                             kernels::image_frame const& frame, bool enlarges) {
  using enum operand_role;
  shape const from = batched_input(request), to = batched_output(request);
  auto const into_zeros = [=](std::size_t n) -> host_function {
    return [=](std::span<void* const> a) {
      on->launch(kernels::frame_image{tensor_at(a, 0), tensor_at(a, 1), frame}, n);
    };
  };
  auto const out_of = [=](std::size_t n) -> host_function {
    return [=](std::span<void* const> a) {
      on->launch(kernels::unframe_image{tensor_at(a, 0), tensor_at(a, 1), frame}, n);
    };
  };
  std::size_t const inputs = elements_of(from), outputs = elements_of(to);
  gpu_operation made;
  made.output = to;
  made.forward.push_back(
      {enlarges ? into_zeros(outputs) : out_of(outputs), {{input, 0, from}, {output, 0, to}}, "nvrtc", 0});
  if (request.training && request.wants_diff_input[0])
    made.backward.push_back({enlarges ? out_of(inputs) : into_zeros(inputs),
                             {{diff_output, 0, to}, {diff_input, 0, from}},
                             "nvrtc",
                             0});
  return made;
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, zero_padding const& layer) {
  return prepare_framed(where.stream, request,
                        frame_of(request.input_shapes[0], request.output_shape, layer.sides), true);
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, cropping const& layer) {
  return prepare_framed(where.stream, request,
                        frame_of(request.output_shape, request.input_shapes[0], layer.sides), false);
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, subset const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const from = batched_input(request), to = batched_output(request);
  std::size_t const outputs = elements_of(to), part = elements_of(request.output_shape),
                    whole = elements_of(request.input_shapes[0]);
  std::size_t const begin =
      static_cast<std::size_t>(layer.first) * (whole / static_cast<std::size_t>(request.input_shapes[0][0]));
  gpu_operation made;
  made.output = to;
  made.forward.push_back(
      {[=](std::span<void* const> a) {
         on->launch(kernels::copy_rows{tensor_at(a, 0), tensor_at(a, 1), part, begin, whole, 0, part},
                    outputs);
       },
       {{input, 0, from}, {output, 0, to}},
       "nvrtc",
       0});
  if (request.training && request.wants_diff_input[0])
    made.backward.push_back(
        {[=, bytes = elements_of(from) * sizeof(float)](std::span<void* const> a) {
           on->clear(static_cast<std::byte*>(a[1]), bytes);
           on->launch(kernels::copy_rows{tensor_at(a, 0), tensor_at(a, 1), part, 0, part, begin, whole},
                      outputs);
         },
         {{diff_output, 0, to}, {diff_input, 0, from}},
         "nvrtc",
         0});
  return made;
}

}  // namespace cohort::detail
