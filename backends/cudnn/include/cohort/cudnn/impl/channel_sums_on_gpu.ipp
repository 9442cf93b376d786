// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cohort/cudnn/detail/channel_sums_on_gpu.hpp>

namespace cohort::detail {

/// Returns the walk over `channels` channels of `count` elements each, in runs of `area`. A block processes
/// at least `rows` elements of each of its channels; more if the walk would otherwise have more than
/// `most_blocks` blocks.
kernels::channel_walk walk_over(std::size_t channels, std::size_t area, std::size_t count, std::size_t width,
                                std::size_t lanes, std::size_t rows, std::size_t most_blocks) {
  std::size_t const groups = (channels + lanes * width - 1) / (lanes * width),
                    most_chunks = std::max<std::size_t>(most_blocks / groups, 1),
                    stride = block_threads / lanes,
                    needed = std::max(rows, (count + most_chunks - 1) / most_chunks),
                    chunk = (needed + stride - 1) / stride * stride;
  kernels::channel_walk made{};
  made.channels = channels;
  made.area = static_cast<unsigned>(area);
  made.count = count;
  made.lanes_log = static_cast<unsigned>(std::countr_zero(lanes));
  made.rows = static_cast<unsigned>(chunk);
  made.chunks = std::max<std::size_t>((count + chunk - 1) / chunk, 1);
  made.run = area;
  made.rest = static_cast<unsigned>(stride % area);
  made.step = stride / area * channels * area + made.rest;
  made.jump = (channels - 1) * area;
  return made;
}

channel_sums_on_gpu::channel_sums_on_gpu(shared_stream on, gpu_layout const& tensor, int most_width)
    : on_(std::move(on)) {
  constexpr std::size_t most_blocks = 2048, steps = 16;
  std::size_t const channels = tensor.channels(), area = tensor.area();
  bool const adjacent = area == 1;
  width_ = adjacent && channels % 8 == 0 ? most_width : 1;
  std::size_t const width = static_cast<std::size_t>(width_),
                    most_lanes = width_ == 1 ? 32 : 8,  // one warp reads 64 or 128 adjacent bytes in bf16
      lanes = adjacent ? std::bit_ceil(std::min(channels / width, most_lanes)) : 1;
  walked_ = walk_over(channels, area, tensor.elements() / channels, width, lanes,
                      steps * block_threads / lanes, most_blocks);
  blocks_ = (channels + lanes * width - 1) / (lanes * width) * walked_.chunks.value;
  chunks_ = walk_over(channels, 1, walked_.chunks.value, 1, 4, walked_.chunks.value, 1);
}

void channel_sums_on_gpu::finish_statistics(kernels::values const& x, void const* sums, float* means,
                                            float* variances) const {
  on_->launch(kernels::finish_statistics{chunks_, static_cast<double const*>(sums), means, variances,
                                         static_cast<double>(walked_.count), x, walked_.area},
              finish_blocks());
}

void channel_sums_on_gpu::sum(kernels::values const& x, void* scratch, float* to) const {
  run([&]<int width>() { return kernels::channel_sums<width>{walked_, x, {static_cast<double*>(scratch)}}; });
  finish(scratch, 1, to);
}

void channel_sums_on_gpu::find_statistics(kernels::values const& x, void* scratch, float* means,
                                          float* variances) const {
  run([&]<int width>() {
    return kernels::channel_statistics<width>{walked_, x, {static_cast<double*>(scratch)}};
  });
  finish_statistics(x, scratch, means, variances);
}

gpu_invocation channel_factor_gradient(channel_sums_on_gpu const& sums, shape const& layout,
                                       shape const& each, bool not_above_0) {
  using enum operand_role;
  return {[=](std::span<void* const> a) {
            sums.launch(kernels::channel_product_sums{
                sums.walked(), tensor_at(a, 0), tensor_at(a, 1), {static_cast<double*>(a[3])}, not_above_0});
            sums.finish(a[3], 1, tensor_at(a, 2));
          },
          {{input, 0, layout},
           {diff_output, 0, layout},
           {diff_parameter, 0, each},
           {scratch, 0, shape_for_bytes(sums.scratch_bytes())}},
          "nvrtc",
          2 * static_cast<double>(elements_of(layout))};
}

}  // namespace cohort::detail
