// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/channel_sums_on_gpu.hpp>
#include <cohort/cudnn/detail/layer_norm_on_gpu.hpp>

namespace cohort::detail {

gpu_operation prepare(gpu_target const& where, gpu_request const& request, layer_norm const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const layout = batched_output(request), each = layer.last_axes(request.output_shape);
  std::size_t const n = elements_of(layout);
  int const places = static_cast<int>(each.elements()), rows = static_cast<int>(n / elements_of(each));
  channel_sums_on_gpu const by_rows(on, shape{1, rows, places}, 1), by_places(on, shape{rows, places}, 1);
  shape const statistics{2 * rows}, room = shape_for_bytes(by_rows.scratch_bytes(2));
  double const flops = layer.flops(request.input_shapes) * request.batch;
  auto const norm = [=, epsilon = static_cast<float>(layer.epsilon)](float const* found, float const* scale,
                                                                     float const* shift = nullptr) {
    return kernels::norm_of_groups{found, found + rows, scale, shift, epsilon};
  };
  gpu_operation made;
  made.output = layout;
  made.parameters.assign(2, each);
  made.forward.push_back(
      {[=](std::span<void* const> a) {
         float *const x = tensor_at(a, 0), *const means = tensor_at(a, 4), *const variances = means + rows;
         by_rows.find_statistics(x, a[5], means, variances);
         by_rows.launch(kernels::normalise_groups<0>{
             by_rows.walked(), norm(means, tensor_at(a, 2), tensor_at(a, 3)), x, nullptr, tensor_at(a, 1)});
       },
       {{input, 0, layout},
        {output, 0, layout},
        {parameter, 0, each},
        {parameter, 1, each},
        {request.training ? workspace : scratch, 0, statistics},
        {scratch, 1, room}},
       "nvrtc",
       flops});
  if (!request.training) return made;
  made.backward.push_back(
      {[=](std::span<void* const> a) {
         float *const x = tensor_at(a, 0), *const dy = tensor_at(a, 2);
         by_places.launch(kernels::place_gradient_sums{
             by_places.walked(), norm(tensor_at(a, 1), nullptr), x, dy, {static_cast<double*>(a[5])}});
         by_places.finish(a[5], 1, tensor_at(a, 4), tensor_at(a, 3));
       },
       {{input, 0, layout},
        {workspace, 0, statistics},
        {diff_output, 0, layout},
        {diff_parameter, 0, each},
        {diff_parameter, 1, each},
        {scratch, 0, shape_for_bytes(by_places.scratch_bytes(2))}},
       "nvrtc",
       flops});
  if (request.wants_diff_input[0])
    made.backward.push_back(
        {[=](std::span<void* const> a) {
           float *const x = tensor_at(a, 0), *const dy = tensor_at(a, 3), *const along = tensor_at(a, 5),
                        *const sum = along + rows;
           kernels::norm_of_groups const by = norm(tensor_at(a, 2), tensor_at(a, 1));
           by_rows.launch(
               kernels::norm_gradient_sums<0>{by_rows.walked(), by, x, {dy}, {static_cast<double*>(a[6])}});
           by_rows.finish(a[6], 1, sum, along);
           by_rows.launch(kernels::normalise_groups_gradient<0>{
               by_rows.walked(), by, x, {dy}, along, sum, tensor_at(a, 4), static_cast<float>(places)});
         },
         {{input, 0, layout},
          {parameter, 0, each},
          {workspace, 0, statistics},
          {diff_output, 0, layout},
          {diff_input, 0, layout},
          {scratch, 0, statistics},
          {scratch, 1, room}},
         "nvrtc",
         flops});
  return made;
}

}  // namespace cohort::detail
