// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include <cohort/onednn/detail/activation.hpp>
#include <cohort/onednn/detail/norm_on_panels.hpp>
#include <cohort/onednn/detail/rectified_norm.hpp>
#include <cstddef>
#include <span>
#include <string>

namespace cohort::detail {

memory_layout channels_last(memory_layout const& of) {
  constexpr dnnl_format_tag_t tags[]{dnnl_ab, dnnl_acb, dnnl_acdb};
  auto const dims = of.dims();
  return memory_layout::tagged(dims, of.type(), tags[dims.size() - 2]);
}

/// Returns the number of channels per block: 16, 8, or 0 for any other layout.
std::size_t block_width(memory_layout const& of) {
  constexpr dnnl_format_tag_t tags[][2]{{dnnl_aBc16b, dnnl_aBcd16b}, {dnnl_aBc8b, dnnl_aBcd8b}};
  auto const dims = of.dims();
  if (dims.size() < 3) return 0;
  for (std::size_t const width : {std::size_t{16}, std::size_t{8}})
    if (of == memory_layout::tagged(dims, of.type(), tags[width == 16 ? 0 : 1][dims.size() - 3]))
      return width;
  return 0;
}

memory_layout panel_layout(memory_layout const& of) { return block_width(of) > 0 ? of : channels_last(of); }

/// Describes a channels-last or blocked layout as panels.
panels panels_of(memory_layout const& layout) {
  auto const dims = layout.dims();
  panels made{.images = static_cast<std::size_t>(dims[0]), .channels = static_cast<std::size_t>(dims[1])};
  for (std::size_t axis = 2; axis < dims.size(); ++axis) made.rows *= static_cast<std::size_t>(dims[axis]);
  std::size_t const width = block_width(layout);
  made.width = width > 0 ? width : made.channels;
  made.narrow = layout.type() == dnnl_bf16;
  made.count = (made.channels + made.width - 1) / made.width;
  return made;
}

invocation<onednn> batch_statistics_of(memory_layout const& layout, statistics_workspace const& memory) {
  isa const which = best_isa();
  panels const of = panels_of(layout);
  norm_on_panels const norm(of, 0, 1, true, omp_get_max_threads(), which);
  auto const scratch = memory_layout::dense({static_cast<dnnl_dim_t>(norm.scratch_bytes() / sizeof(float))});
  auto const run = [norm, variance_offset = memory.offset / sizeof(float)](std::span<void* const> a) {
    auto* const means = static_cast<float*>(a[1]);
    norm.statistics({.x = a[0],
                     .means = means,
                     .variances = means + variance_offset,
                     .scratch = static_cast<std::byte*>(a[2])});
  };
  return {host_function(run),
          {{operand_role::input, 0, layout},
           {operand_role::workspace, 0, memory.whole},
           {operand_role::scratch, 0, scratch}},
          "own:" + std::string(name_of(of.narrow ? isa::avx512 : which)),
          2.0 * static_cast<double>(of.images * of.rows * of.channels)};
}

backend_operation<onednn> rectified_norm::prepare(batch_norm const& l) {
  using enum operand_role;
  layout = panel_layout(layout);
  float slope = 1;
  if (request.activation) slope = activation_of(*request.activation, request.activation_fields).alpha;
  isa const which = best_isa();
  norm_on_panels const norm(panels_of(layout), l.epsilon, slope, of_batch, omp_get_max_threads(), which);
  auto const bytes = static_cast<dnnl_dim_t>(norm.scratch_bytes());
  auto const scratch_layout = memory_layout::dense({bytes / dnnl_dim_t{sizeof(float)}});
  backend_operation<onednn> made;
  made.output = layout;
  made.overwrites = true;
  made.overwritten = splits_gradient ? 1 : 0;
  auto const each = memory_layout::dense({request.input_shapes[0][0]});
  made.parameters.assign(request.parameter_specs.size(), each);
  statistics_workspace const memory(request.input_shapes[0][0]);
  std::size_t const variance_offset = of_batch ? memory.offset / sizeof(float) : 0;  // relative to the means
  bool const added = sums;

  invocation<onednn>& forward = made.forward.emplace_back();
  forward.implementation = "own:" + std::string(name_of(layout.type() == dnnl_bf16 ? isa::avx512 : which));
  forward.flops =
      request.batch
      * (l.flops(request.input_shapes.first(1)) + 2.0 * static_cast<double>(request.output_shape.elements()));
  forward.kernel = host_function([=](std::span<void* const> a) {
    norm.forward({.x = a[0],
                  .other = added ? a[1] : nullptr,
                  .y = a[2],
                  .scale = static_cast<float const*>(a[3]),
                  .shift = static_cast<float const*>(a[4]),
                  .means = static_cast<float*>(a[5]),
                  .variances = static_cast<float*>(a[6]) + variance_offset,
                  .scratch = static_cast<std::byte*>(a[7])});
  });
  add(forward, input, 0, layout);
  add(forward, input, added ? 1 : 0, layout);
  add(forward, output, 0, layout);
  for (int p : {0, 1}) add(forward, parameter, p, each);
  add_statistics(forward, memory, each);
  add(forward, scratch, 0, scratch_layout);
  if (!request.training) return made;

  invocation<onednn>& backward = made.backward.emplace_back();
  backward.implementation = forward.implementation;
  backward.flops = 2 * forward.flops;
  std::size_t const gated = splits_gradient ? 11 : 3;
  backward.kernel = host_function([=](std::span<void* const> a) {
    norm.backward({.x = a[0],
                   .y = added ? a[1] : nullptr,
                   .dy = a[2],
                   .gated = a[gated],
                   .dx = a[3],
                   .scale = static_cast<float const*>(a[4]),
                   .shift = static_cast<float const*>(a[5]),
                   .means = static_cast<float*>(a[8]),
                   .variances = static_cast<float*>(a[9]) + variance_offset,
                   .diff_scale = static_cast<float*>(a[6]),
                   .diff_shift = static_cast<float*>(a[7]),
                   .scratch = static_cast<std::byte*>(a[10])});
  });
  add(backward, input, 0, layout);
  add(backward, added ? output : input, 0, layout);
  add(backward, diff_output, 0, layout);
  add(backward, request.wants_diff_input[0] ? diff_input : scratch, 0, layout);
  for (int p : {0, 1}) add(backward, parameter, p, each);
  for (int p : {0, 1}) add(backward, diff_parameter, p, each);
  add_statistics(backward, memory, each);
  add(backward, scratch, 0, scratch_layout);
  if (splits_gradient) add(backward, diff_input, 1, layout);
  if (of_batch) made.backward.push_back(write_statistics(request, memory, each));
  return made;
}

[[gnu::noinline]] void rectified_norm::add(invocation<onednn>& to, operand_role role, int index,
                                           memory_layout const& as) {
  to.operands.push_back({role, index, as});
}

void rectified_norm::add_statistics(invocation<onednn>& to, statistics_workspace const& memory,
                                    memory_layout const& each) const {
  for (int p : {2, 3}) {
    if (of_batch)
      add(to, operand_role::workspace, 0, memory.whole);
    else
      add(to, operand_role::parameter, p, each);
  }
}

}  // namespace cohort::detail
