// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/channel_sums_on_gpu.hpp>
#include <cohort/cudnn/detail/dense_on_gpu.hpp>
#include <cohort/cudnn/detail/matrix_product.hpp>
#include <memory>

namespace cohort::detail {

gpu_operation prepare(gpu_target const& where, gpu_request const& request, dense const& layer) {
  using enum operand_role;
  int const rows = request.batch, inputs = static_cast<int>(request.input_shapes[0].elements()),
            units = layer.units;
  double const flops = layer.flops(request.input_shapes) * rows;
  gpu_layout const from(batched_input(request), false, where.type()),
      to = from.with_dims(batched_output(request)), weights = from.with_dims({units, inputs}),
      bias = from.with_dims({units});
  auto const product = [&](matrix_product::extents const& sizes) {
    return std::make_shared<matrix_product const>(where.blas, sizes, where.products, where.tune);
  };

  gpu_operation made;
  made.output = to;
  made.parameters.push_back(weights.dims);
  gpu_operands operands{{input, 0, from}, {parameter, 0, weights}, {output, 0, to}};
  if (layer.bias) {
    made.parameters.push_back(bias.dims);
    operands.push_back({parameter, 1, bias});
  }
  made.forward.push_back({[run = product({.m = units,
                                          .n = rows,
                                          .k = inputs,
                                          .transposes_a = true,
                                          .has_bias = layer.bias,
                                          .result = to.type})](std::span<void* const> a) {
                            run->run(a[1], a[0], a.size() > 3 ? a[3] : nullptr, a[2]);
                          },
                          std::move(operands), where.implementation("cublaslt"), flops});
  if (!request.training) return made;
  made.backward.push_back({[run = product({.m = inputs, .n = units, .k = rows, .transposes_b = true})](
                               std::span<void* const> a) { run->run(a[0], a[1], nullptr, a[2]); },
                           {{input, 0, from}, {diff_output, 0, to}, {diff_parameter, 0, weights.dims}},
                           where.implementation("cublaslt"),
                           flops});
  if (layer.bias) {
    channel_sums_on_gpu const columns(where.stream, shape{rows, units});
    made.backward.push_back(
        {[=](std::span<void* const> a) { columns.sum(values_at(a, 0, to), a[2], tensor_at(a, 1)); },
         {{diff_output, 0, to},
          {diff_parameter, 1, bias.dims},
          {scratch, 0, shape_for_bytes(columns.scratch_bytes())}},
         "nvrtc",
         static_cast<double>(to.elements())});
  }
  if (request.wants_diff_input[0])
    made.backward.push_back({[run = product({.m = inputs, .n = rows, .k = units, .result = from.type})](
                                 std::span<void* const> a) { run->run(a[0], a[1], nullptr, a[2]); },
                             {{parameter, 0, weights}, {diff_output, 0, to}, {diff_input, 0, from}},
                             where.implementation("cublaslt"),
                             flops});
  return made;
}

}  // namespace cohort::detail
