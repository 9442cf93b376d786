// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/embedding_on_gpu.hpp>
#include <cstddef>
#include <vector>

namespace cohort::detail {

gpu_operation prepare(gpu_target const& where, gpu_request const& request, embedding const& layer) {
  using enum operand_role;
  shared_stream const on = where.stream;
  shape const from = batched_input(request), to = batched_output(request),
              vectors{layer.vocabulary.value, layer.width.value};
  std::size_t const count = elements_of(from), made_elements = elements_of(to),
                    indices_per_example = elements_of(request.input_shapes[0]),
                    // In a sequence, an embedding is a row; in an image, it is the channels of a position.
      places = request.output_shape.rank == 2 ? 1 : indices_per_example;
  auto const width = static_cast<kernels::size>(layer.width.value);
  gpu_operation made;
  made.output = to;
  made.parameters.push_back(vectors);
  made.forward.push_back(
      {[=](std::span<void* const> a) {
         auto* const unknown = static_cast<std::byte*>(a[3]);
         unsigned found = 0;
         on->clear(unknown, sizeof found);
         on->launch(kernels::look_up{tensor_at(a, 0), tensor_at(a, 2), tensor_at(a, 1),
                                     reinterpret_cast<unsigned*>(unknown),
                                     static_cast<kernels::size>(layer.vocabulary.value), width, places},
                    made_elements);
         on->download(unknown, &found, sizeof found);
         if (found == 0) return;
         std::vector<float> indices(count);
         on->download(static_cast<std::byte const*>(a[0]), indices.data(), count * sizeof(float));
         for (std::size_t i = 0; i < count; ++i)
           layer.row_of(indices[i], i / indices_per_example, i % indices_per_example);
       },
       {{input, 0, from},
        {output, 0, to},
        {parameter, 0, vectors},
        {scratch, 0, shape_for_bytes(sizeof(unsigned))}},
       "nvrtc",
       0});
  if (!request.training) return made;
  made.backward.push_back(
      {[=](std::span<void* const> a) {
         auto *const next = static_cast<unsigned*>(a[3]), *const has_former = next + count;
         on->clear(reinterpret_cast<std::byte*>(has_former), count * sizeof *has_former);
         on->launch(kernels::link_equals{tensor_at(a, 0), next, has_former, count}, count);
         on->clear(static_cast<std::byte*>(a[2]), elements_of(vectors) * sizeof(float));
         on->launch(kernels::add_vectors{tensor_at(a, 0), next, has_former, tensor_at(a, 1), tensor_at(a, 2),
                                         count, width, places},
                    count * width);
       },
       {{input, 0, from},
        {diff_output, 0, to},
        {diff_parameter, 0, vectors},
        {scratch, 0, shape_for_bytes(2 * count * sizeof(unsigned))}},
       "nvrtc",
       static_cast<double>(made_elements)});
  if (request.wants_diff_input[0])
    made.backward.push_back(
        {[=](std::span<void* const> a) { on->clear(static_cast<std::byte*>(a[0]), count * sizeof(float)); },
         {{diff_input, 0, from}},
         "clear",
         0});
  return made;
}

}  // namespace cohort::detail
