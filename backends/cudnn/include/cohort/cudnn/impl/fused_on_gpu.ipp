// SPDX-License-Identifier: Apache-2.0
#include <cohort/backend/detail/reference_elementwise.hpp>
#include <cohort/cudnn/detail/elementwise_on_gpu.hpp>
#include <cohort/cudnn/detail/fused_on_gpu.hpp>
#include <cohort/layer/batch_norm.hpp>
#include <cohort/layer/conv2d.hpp>
#include <cohort/layer/conv2d_transposed.hpp>
#include <cohort/layer/join.hpp>
#include <cohort/layer/rectifying_activations.hpp>
#include <cohort/layer/synchronised_batch_norm.hpp>

namespace cohort::detail {

fused_epilogue::fused_epilogue(gpu_request const& request) : sums(request.sums) {
  if (!request.activation) return;
  bool const leaks = *request.activation == kind_of<leaky_relu>;
  slope = leaks ? static_cast<float>(decode<leaky_relu>(request.activation_fields).slope) : 0;
}

bool fuses_on_gpu(kind const& layer, kind const& behind, bool training) {
  bool const norm = layer == kind_of<batch_norm> || layer == kind_of<synchronised_batch_norm>,
             convolution = layer == kind_of<conv2d> || layer == kind_of<conv2d_transposed>;
  if (behind == kind_of<add>) return training ? norm : convolution;
  bool const rectifier = behind == kind_of<relu> || behind == kind_of<leaky_relu>;
  return rectifier && (norm || convolution);
}

void add_epilogue_backward(gpu_operation& made, shared_stream const& on, gpu_request const& request,
                           fused_epilogue const& behind) {
  using enum operand_role;
  gpu_layout const layout = made.output;
  auto const n = layout.elements();
  if (behind.rectifies())
    made.backward.push_back(
        {[=](std::span<void* const> a) {
           kernels::values const diff = values_at(a, 1, layout);
           on->launch(
               kernels::rectify_gradient{values_at(a, 0, layout), diff, diff, {behind.slope, nullptr, 1, 1}},
               n);
         },
         {{output, 0, layout}, {diff_output, 0, layout}},
         "nvrtc",
         static_cast<double>(n)});
  int const summand = static_cast<int>(request.inputs.size()) - 1;
  if (behind.sums && request.wants_diff_input[static_cast<std::size_t>(summand)])
    made.backward.push_back(
        {copy_on_gpu(on, layout), {{diff_output, 0, layout}, {diff_input, summand, layout}}, "copy", 0});
}

}  // namespace cohort::detail
