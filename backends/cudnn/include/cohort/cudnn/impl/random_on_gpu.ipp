// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/elementwise_on_gpu.hpp>
#include <cohort/cudnn/detail/random_on_gpu.hpp>

namespace cohort::detail {

kernels::random_examples random_on_gpu::draw(void const* scalars) const {
  auto const& now = *static_cast<step_scalars const*>(scalars);
  return {reinterpret_cast<long long const*>(now.indices), constants_of(now), purpose_};
}

/// Prepares dropout of elements or of whole channels. Backward recomputes the mask.
gpu_operation prepare_dropout(shared_stream const& on, gpu_request const& request, double rate,
                              bool whole_channels) {
  using enum operand_role;
  if (!request.training || request.frozen) return prepare_copy(on, request);
  gpu_layout const is = request.inputs[0], layout(is.dims, is.channels_last && whole_channels, is.type);
  bool const of_sequence = whole_channels && request.output_shape.rank == 2;  // steps × channels
  std::size_t const whole = elements_of(request.output_shape),
                    area = of_sequence      ? static_cast<std::size_t>(request.output_shape[0])
                           : whole_channels ? whole / static_cast<std::size_t>(request.output_shape[0])
                                            : 1;
  random_on_gpu const random(request);
  auto const dropped_below = static_cast<unsigned>(rate * 0x1p32);
  auto const factor = static_cast<float>(1 / (1 - rate));
  std::size_t const channels = whole / area,
                    calls = static_cast<std::size_t>(request.batch) * ((channels + 3) / 4) * area;
  auto const drop = [=](std::span<void* const> a) {
    on->launch(kernels::dropout{values_at(a, 0, layout), values_at(a, 1, layout), random.draw(a[2]), channels,
                                area, of_sequence || layout.channels_last, dropped_below, factor},
               calls);
  };
  auto const n = static_cast<double>(layout.elements());
  gpu_operation made;
  made.output = layout;
  made.overwrites = true;
  made.forward.push_back({drop, {{input, 0, layout}, {output, 0, layout}, {scalars}}, "nvrtc", n});
  if (request.wants_diff_input[0])
    made.backward.push_back(
        {drop, {{diff_output, 0, layout}, {diff_input, 0, layout}, {scalars}}, "nvrtc", n});
  return made;
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, dropout const& layer) {
  return prepare_dropout(where.stream, request, layer.rate, false);
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, spatial_dropout const& layer) {
  return prepare_dropout(where.stream, request, layer.rate, true);
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, gaussian_noise const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const layout = batched_output(request);
  gpu_operation made = prepare_copy(on, request, layout);
  if (!request.training || request.frozen) return made;
  random_on_gpu const random(request);
  std::size_t const elements = elements_of(request.output_shape);
  made.forward[0] = {[=, batch = static_cast<std::size_t>(request.batch),
                      deviation = layer.deviation](std::span<void* const> a) {
                       on->launch(kernels::add_noise{tensor_at(a, 0), tensor_at(a, 1), random.draw(a[2]),
                                                     elements, deviation},
                                  batch * ((elements + 1) / 2));
                     },
                     {{input, 0, layout}, {output, 0, layout}, {scalars}},
                     "nvrtc",
                     static_cast<double>(layout.elements())};
  return made;
}

}  // namespace cohort::detail
