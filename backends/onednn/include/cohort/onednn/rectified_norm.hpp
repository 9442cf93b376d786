// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <omp.h>
#include <cohort/onednn/activation.hpp>
#include <cohort/onednn/norm_on_panels.hpp>
#include <cohort/onednn/norm_statistics.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

inline memory_layout channels_last(memory_layout const& of) {
  constexpr dnnl_format_tag_t tags[]{dnnl_ab, dnnl_acb, dnnl_acdb};
  auto const dims = of.dims();
  return memory_layout::tagged(dims, of.type(), tags[dims.size() - 2]);
}
/// Channels last for what has nothing but channels.
inline memory_layout blocks_of_16(memory_layout const& of) {
  constexpr dnnl_format_tag_t tags[]{dnnl_ab, dnnl_aBc16b, dnnl_aBcd16b};
  auto const dims = of.dims();
  return memory_layout::tagged(dims, of.type(), tags[dims.size() - 2]);
}

/// The layout as panels, where it is channels last or in blocks.
inline panels panels_of(memory_layout const& lies) {
  auto const dims = lies.dims();
  panels made{.images = static_cast<std::size_t>(dims[0]), .channels = static_cast<std::size_t>(dims[1])};
  for (std::size_t axis = 2; axis < dims.size(); ++axis) made.rows *= static_cast<std::size_t>(dims[axis]);
  made.width = lies == channels_last(lies) ? made.channels : 16;
  made.narrow = lies.type() == dnnl_bf16;
  made.count = (made.channels + made.width - 1) / made.width;
  return made;
}

/// Batch norm by passes of our own: with a rectifier behind it, and with a sum between the two where there is a second
/// input. oneDNN has neither in training, but for relu alone.
///
/// Shapes    as the first input lies, in blocks or channels last; otherwise channels last.
/// Order     the output may lie where the second input lies, and the second input's gradient where the output's does; where
///           there is none, the first one's.
/// Moves     forward reads each input once from memory, backward what it reads and the gradients: norm_on_panels.
struct rectified_norm {
  operation_request<onednn> const& request;
  memory_layout lies = request.inputs[0];
  bool sums = request.sums;
  bool of_batch = request.training && !request.frozen;
  bool shares_gradient = sums && request.training && request.wants_diff_input[1];

  operation<onednn> prepare(batch_norm const& l) {
    using enum operand_role;
    if (!(lies == blocks_of_16(lies))) lies = channels_last(lies);
    float slope = 1;
    if (request.activation) slope = activation_of(*request.activation, request.activation_fields).alpha;
    isa const which = best_isa();
    norm_on_panels const norm(panels_of(lies), l.epsilon, slope, of_batch, omp_get_max_threads(), which);
    std::string const implementation =
        "own:" + std::string(name_of(lies.type() == dnnl_bf16 ? isa::avx512 : which));
    auto const bytes = static_cast<dnnl_dim_t>(norm.scratch_bytes());
    operand<memory_layout> const room{scratch, 0, memory_layout::dense({bytes / dnnl_dim_t{sizeof(float)}})};
    operation<onednn> made;
    made.output = lies;
    made.overwrites = true;
    made.overwritten = shares_gradient ? 1 : 0;
    for (parameter_spec const& spec : request.parameter_specs)
      made.parameters.push_back(memory_layout::dense({spec.dims[0]}));
    memory_layout const& each = made.parameters[0];
    double const flops =
        (l.flops(request.input_shapes.first(1)) + 2.0 * static_cast<double>(request.output_shape.elements()))
        * request.batch;

    statistics_workspace const memory(request.input_shapes[0][0]);
    auto const add_statistics = [&](std::vector<operand<memory_layout>>& to) {
      if (of_batch) return to.insert(to.end(), 2, {workspace, 0, memory.whole});
      return to.insert(to.end(), {{parameter, 2, each}, {parameter, 3, each}});
    };
    std::size_t const behind =
        of_batch ? memory.offset / sizeof(float) : 0;  // the variances, in one piece with the means
    bool const added = sums;

    std::vector<operand<memory_layout>> arguments{{input, 0, lies},
                                                  {input, added ? 1 : 0, lies},
                                                  {output, 0, lies},
                                                  {parameter, 0, each},
                                                  {parameter, 1, each}};
    add_statistics(arguments);
    arguments.push_back(room);
    made.forward.push_back({host_function([=](std::span<void* const> a) {
                              norm.forward({.x = a[0],
                                            .other = added ? a[1] : nullptr,
                                            .y = a[2],
                                            .scale = static_cast<float const*>(a[3]),
                                            .shift = static_cast<float const*>(a[4]),
                                            .means = static_cast<float*>(a[5]),
                                            .variances = static_cast<float*>(a[6]) + behind,
                                            .scratch = static_cast<std::byte*>(a[7])});
                            }),
                            std::move(arguments), implementation, flops});
    if (!request.training) return made;

    arguments = {{input, 0, lies},          {added ? output : input, 0, lies},
                 {diff_output, 0, lies},    {request.wants_diff_input[0] ? diff_input : scratch, 0, lies},
                 {parameter, 0, each},      {parameter, 1, each},
                 {diff_parameter, 0, each}, {diff_parameter, 1, each}};
    add_statistics(arguments);
    arguments.push_back(room);
    if (shares_gradient) arguments.push_back({diff_input, 1, lies});
    std::size_t const gated = shares_gradient ? arguments.size() - 1 : 3;
    made.backward.push_back({host_function([=](std::span<void* const> a) {
                               norm.backward({.x = a[0],
                                              .y = added ? a[1] : nullptr,
                                              .dy = a[2],
                                              .gated = a[gated],
                                              .dx = a[3],
                                              .scale = static_cast<float const*>(a[4]),
                                              .shift = static_cast<float const*>(a[5]),
                                              .means = static_cast<float*>(a[8]),
                                              .variances = static_cast<float*>(a[9]) + behind,
                                              .diff_scale = static_cast<float*>(a[6]),
                                              .diff_shift = static_cast<float*>(a[7]),
                                              .scratch = static_cast<std::byte*>(a[10])});
                             }),
                             std::move(arguments), implementation, 2 * flops});
    if (of_batch) made.backward.push_back(statistics_moved(request, memory, each));
    return made;
  }
};

}  // namespace cohort::detail
