// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/activation.hpp>
#include <cohort/layer/dropout.hpp>
#include <cohort/layer/reshape.hpp>
#include <cohort/random/hash.hpp>

namespace cohort::detail {

/// relu (slope 0) and leaky relu: the gradient needs the output alone.
inline gpu_operation prepare_rectifier(shared_stream const& on, gpu_request const& request, double slope) {
  using enum operand_role;
  shape const lies = batched_output(request);
  std::size_t const n = elements_of(lies);
  auto const s = static_cast<float>(slope);
  gpu_operation made;
  made.output = lies;
  made.overwrites = true;
  made.forward.push_back({[=](std::span<void* const> a) {
                            on->launch(kernels::rectify{tensor_at(a, 0), tensor_at(a, 1), s}, n);
                          },
                          {{input, 0, lies}, {output, 0, lies}},
                          "nvrtc",
                          static_cast<double>(n)});
  if (request.training && request.wants_diff_input[0])
    made.backward.push_back(
        {[=](std::span<void* const> a) {
           on->launch(kernels::rectify_gradient{tensor_at(a, 0), tensor_at(a, 1), tensor_at(a, 2), s}, n);
         },
         {{output, 0, lies}, {diff_output, 0, lies}, {diff_input, 0, lies}},
         "nvrtc",
         static_cast<double>(n)});
  return made;
}

inline gpu_operation prepare(gpu_target const& where, gpu_request const& request, relu const&) {
  return prepare_rectifier(where.stream, request, 0);
}
inline gpu_operation prepare(gpu_target const& where, gpu_request const& request, leaky_relu const& layer) {
  return prepare_rectifier(where.stream, request, layer.slope);
}

inline host_function copy_on_gpu(shared_stream const& on, shape const& lies) {
  return [on, bytes = elements_of(lies) * sizeof(float)](std::span<void* const> a) {
    on->copy(static_cast<std::byte const*>(a[0]), static_cast<std::byte*>(a[1]), bytes);
  };
}

/// The same elements in the same order.
inline gpu_operation prepare_copy(shared_stream const& on, gpu_request const& request) {
  using enum operand_role;
  shape const from = batched_input(request), to = batched_output(request);
  gpu_operation made;
  made.output = to;
  made.forward.push_back({copy_on_gpu(on, to), {{input, 0, from}, {output, 0, to}}, "copy", 0});
  if (request.training && request.wants_diff_input[0])
    made.backward.push_back({copy_on_gpu(on, to), {{diff_output, 0, to}, {diff_input, 0, from}}, "copy", 0});
  return made;
}

inline gpu_operation prepare(gpu_target const& where, gpu_request const& request, reshape const&) {
  return prepare_copy(where.stream, request);
}
inline gpu_operation prepare(gpu_target const& where, gpu_request const& request, flatten const&) {
  return prepare_copy(where.stream, request);
}

/// Masks are made anew in backward, from the examples' numbers, which forward leaves in the workspace.
inline gpu_operation prepare(gpu_target const& where, gpu_request const& request, dropout const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  if (!request.training || request.frozen) return prepare_copy(on, request);
  shape const lies = batched_output(request);
  gpu_operation made;
  made.output = lies;
  made.overwrites = true;
  auto const batch = static_cast<std::size_t>(request.batch);
  std::size_t const elements = elements_of(request.output_shape);
  auto const mask = [=, purpose = purpose_of("layer", request.name), rate = layer.rate](
                        std::span<void* const> a, bool forward) {
    auto const& now = *static_cast<step_scalars const*>(a[3]);
    auto* const numbers = static_cast<long long*>(a[2]);
    if (forward && now.indices)
      on->bring(now.indices, reinterpret_cast<std::byte*>(numbers), batch * sizeof *numbers);
    random_stream const stream(now.seed, purpose, static_cast<std::uint64_t>(now.step));
    on->launch(kernels::dropout{tensor_at(a, 0), tensor_at(a, 1), now.indices ? numbers : nullptr, elements,
                                stream.key(), static_cast<unsigned>(rate * 0x1p32),
                                static_cast<float>(1 / (1 - rate))},
               batch * ((elements + 3) / 4));
  };
  shape const room = room_for(batch * sizeof(long long));
  auto const n = static_cast<double>(lies.elements());
  made.forward.push_back({[mask](std::span<void* const> a) { mask(a, true); },
                          {{input, 0, lies}, {output, 0, lies}, {workspace, 0, room}, {scalars}},
                          "nvrtc",
                          n});
  if (request.wants_diff_input[0])
    made.backward.push_back({[mask](std::span<void* const> a) { mask(a, false); },
                             {{diff_output, 0, lies}, {diff_input, 0, lies}, {workspace, 0, room}, {scalars}},
                             "nvrtc",
                             n});
  return made;
}

}  // namespace cohort::detail
