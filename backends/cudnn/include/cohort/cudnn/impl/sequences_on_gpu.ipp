// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/channel_sums_on_gpu.hpp>
#include <cohort/cudnn/detail/elementwise_on_gpu.hpp>
#include <cohort/cudnn/detail/sequences_on_gpu.hpp>
#include <memory>
#include <utility>

namespace cohort::detail {

steps_as_examples::steps_as_examples(gpu_request const& of) : of_(of), steps_(of) {
  int const steps = of.output_shape[0];
  steps_.batch = of.batch * steps;
  steps_.output_shape = shape{of.output_shape[1]};
  for (std::size_t i = 0; i < of.input_shapes.size(); ++i) {
    shape const& one = shapes_.emplace_back(shape{of.input_shapes[i][1]});
    layouts_.push_back(of.inputs[i].with_dims(one.batched(steps_.batch)));
  }
  steps_.input_shapes = shapes_;
  steps_.inputs = layouts_;
}

gpu_operation steps_as_examples::on_sequences(gpu_operation made) const {
  made.output.dims = batched_output(of_);
  for (auto* const pass : {&made.forward, &made.backward})
    for (gpu_invocation& call : *pass)
      for (auto& one : call.operands) {
        if (one.role == operand_role::output || one.role == operand_role::diff_output)
          one.layout.dims = batched_output(of_);
        if (one.role == operand_role::input || one.role == operand_role::diff_input)
          one.layout.dims = batched_input(of_, static_cast<std::size_t>(one.index));
      }
  return made;
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, zero_masked const&) {
  using enum operand_role;
  shared_stream const on = where.stream;
  gpu_operation made = prepare_copy(on, request, batched_output(request));
  if (!request.masked) return made;
  std::size_t const n = elements_of(batched_output(request));
  kernels::divisor const columns(elements_of(request.output_shape)
                                 / static_cast<std::size_t>(request.output_shape[0]));
  for (auto* const pass : {&made.forward, &made.backward})
    for (gpu_invocation& call : *pass) {
      call.kernel = [=](std::span<void* const> a) {
        on->launch(kernels::zero_masked_steps{tensor_at(a, 0), tensor_at(a, 1), mask_at(a, 2), columns}, n);
      };
      call.operands.push_back({mask});
      call.implementation = "nvrtc";
    }
  return made;
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, learned_positions const&) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const layout = batched_output(request), each = request.output_shape;
  std::size_t const n = elements_of(layout), width = elements_of(each);
  gpu_operation made = prepare_copy(on, request, layout);
  made.overwrites = false;
  made.parameters.push_back(each);
  made.forward[0] = {
      [=](std::span<void* const> a) {
        on->launch(kernels::add_to_each{tensor_at(a, 0), tensor_at(a, 1), tensor_at(a, 2), width}, n);
      },
      {{input, 0, layout}, {output, 0, layout}, {parameter, 0, each}},
      "nvrtc",
      static_cast<double>(n)};
  if (!request.training || request.frozen) return made;
  channel_sums_on_gpu const sums(on, shape{request.batch, static_cast<int>(width)}, 8);
  made.backward.push_back(
      {[=](std::span<void* const> a) { sums.sum(tensor_at(a, 0), a[2], tensor_at(a, 1)); },
       {{diff_output, 0, layout},
        {diff_parameter, 0, each},
        {scratch, 0, shape_for_bytes(sums.scratch_bytes())}},
       "nvrtc",
       static_cast<double>(n)});
  return made;
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request,
                      sinusoidal_positions const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const layout = batched_output(request);
  std::size_t const n = elements_of(layout), width = elements_of(request.output_shape),
                    columns = static_cast<std::size_t>(request.output_shape[1]);
  std::vector<float> waves(width);
  for (std::size_t i = 0; i < width; ++i)
    waves[i] = static_cast<float>(layer.wave(i / columns, i % columns, columns));
  auto const table =
      std::make_shared<buffer>(width * sizeof(float), std::const_pointer_cast<compute_stream>(on));
  on->upload(waves.data(), table->data(), width * sizeof(float));
  gpu_operation made = prepare_copy(on, request, layout);
  made.overwrites = false;
  made.forward[0] = {
      [=](std::span<void* const> a) {
        on->launch(kernels::add_to_each{tensor_at(a, 0), tensor_at(a, 1), table->as<float>(), width}, n);
      },
      {{input, 0, layout}, {output, 0, layout}},
      "nvrtc",
      static_cast<double>(n)};
  return made;
}

gpu_operation prepare(gpu_target const& where, gpu_request const& request, rms_norm const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const layout = batched_output(request), each{request.output_shape[request.output_shape.rank - 1]};
  std::size_t const n = elements_of(layout), columns = elements_of(each), rows = n / columns;
  shape const inverse{static_cast<int>(rows)};
  double const flops = layer.flops(request.input_shapes) * request.batch;
  gpu_operation made;
  made.output = layout;
  made.parameters.push_back(each);
  gpu_operands forward{{input, 0, layout}, {output, 0, layout}, {parameter, 0, each}};
  if (request.training) forward.push_back({workspace, 0, inverse});
  made.forward.push_back(
      {[=, epsilon = layer.epsilon](std::span<void* const> a) {
         on->launch(kernels::rms_norm_rows{tensor_at(a, 0), tensor_at(a, 1), tensor_at(a, 2),
                                           a.size() > 3 ? tensor_at(a, 3) : nullptr, columns, epsilon},
                    rows);
       },
       std::move(forward), "nvrtc", flops});
  if (!request.training) return made;
  channel_sums_on_gpu const sums(on, shape{static_cast<int>(rows), static_cast<int>(columns)}, 8);
  bool const wants_diff = request.wants_diff_input[0] != 0, learns = !request.frozen;
  if (!wants_diff && !learns) return made;
  gpu_operands backward{
      {input, 0, layout}, {parameter, 0, each}, {workspace, 0, inverse}, {diff_output, 0, layout}};
  if (wants_diff) backward.push_back({diff_input, 0, layout});
  if (learns)
    backward.insert(backward.end(), {{diff_parameter, 0, each},
                                     {scratch, 0, layout},
                                     {scratch, 1, shape_for_bytes(sums.scratch_bytes())}});
  made.backward.push_back({[=](std::span<void* const> a) {
                             std::size_t const next = wants_diff ? 5 : 4;
                             float* const terms = learns ? tensor_at(a, next + 1) : nullptr;
                             on->launch(
                                 kernels::rms_norm_rows_gradient{
                                     tensor_at(a, 0), tensor_at(a, 1), tensor_at(a, 2), tensor_at(a, 3),
                                     wants_diff ? tensor_at(a, 4) : nullptr, terms, columns},
                                 rows);
                             if (learns) sums.sum(terms, a[next + 2], tensor_at(a, next));
                           },
                           std::move(backward), "nvrtc", 2 * flops});
  return made;
}

gpu_operation prepare_pool_of_steps(gpu_target const& where, gpu_request const& request, bool largest) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const from = batched_input(request), to = batched_output(request);
  std::size_t const n = elements_of(from), made_elements = elements_of(to);
  auto const steps = static_cast<kernels::size>(request.input_shapes[0][0]),
             columns = static_cast<kernels::size>(request.input_shapes[0][1]);
  bool const keeps = request.training && (largest || request.masked);
  shape const kept = shape_for_bytes(made_elements * sizeof(int));
  gpu_operation made;
  made.output = to;
  gpu_operands forward{{input, 0, from}, {output, 0, to}};
  if (keeps) forward.push_back({workspace, 0, kept});
  if (request.masked) forward.push_back({mask});
  made.forward.push_back({[=](std::span<void* const> a) {
                            on->launch(
                                kernels::pool_steps{tensor_at(a, 0), tensor_at(a, 1),
                                                    keeps ? static_cast<int*>(a[2]) : nullptr,
                                                    mask_at(a, keeps ? 3 : 2), steps, columns, largest},
                                made_elements);
                          },
                          std::move(forward), "nvrtc", static_cast<double>(n)});
  if (!request.training || !request.wants_diff_input[0]) return made;
  gpu_operands backward{{diff_output, 0, to}, {diff_input, 0, from}};
  if (keeps) backward.push_back({workspace, 0, kept});
  if (request.masked) backward.push_back({mask});
  made.backward.push_back(
      {[=](std::span<void* const> a) {
         on->launch(kernels::pool_steps_gradient{tensor_at(a, 0), tensor_at(a, 1),
                                                 keeps ? static_cast<int const*>(a[2]) : nullptr,
                                                 mask_at(a, keeps ? 3 : 2), steps, columns, largest},
                    n);
       },
       std::move(backward), "nvrtc", static_cast<double>(n)});
  return made;
}

}  // namespace cohort::detail
