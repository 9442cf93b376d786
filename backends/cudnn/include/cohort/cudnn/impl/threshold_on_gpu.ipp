// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/cudnn/detail/threshold_on_gpu.hpp>

namespace cohort::detail {

threshold_on_gpu::threshold_on_gpu(std::shared_ptr<compute_stream> on)
    : on_(std::move(on)),
      arrays_(on_),
      thresholds_(on_),
      marks_(on_),
      messages_{message_on_gpu(on_), message_on_gpu(on_)},
      levels_(on_),
      found_(on_),
      sums_(on_) {}

bool threshold_on_gpu::within(std::span<float const> x, float limit) {
  found_.resize(1);
  found_.clear();
  on_->launch(kernels::find_beyond{x.data(), std::bit_cast<unsigned>(limit), found_.data()}, x.size());
  unsigned found = 0;
  found_.download({&found, 1});
  return found == 0;
}

double threshold_on_gpu::clip(std::span<float> r, float limit) {
  return summed(r.size(), [&](double* to) { return kernels::clip_residual{r.data(), limit, to}; });
}

double threshold_on_gpu::square_sum(std::span<float const> r) {
  return summed(r.size(), [&](double* to) { return kernels::square_sums{r.data(), to}; });
}

void threshold_on_gpu::count_levels(float const* r, float const* x, element_sample const& from,
                                    std::span<std::uint32_t> counts) {
  unsigned short* const to = levels_.resize(from.size());
  on_->launch(kernels::take_levels{r, x, from.key, from.all() ? 0 : from.stride, element_sample::run, to},
              from.size());
  of_sample_.resize(from.size());
  levels_.download(of_sample_);
  for (unsigned short const level : of_sample_) ++counts[level];
}

threshold_on_gpu::extracted threshold_on_gpu::extract(std::span<float> r, std::span<float const> x,
                                                      std::span<std::uint64_t const> ends,
                                                      std::span<bf16 const> t) {
  marks_.resize(r.size());
  kernels::threshold_table const table = upload(ends, t);
  on_->launch(kernels::take_threshold{r.data(), x.data(), table, marks_.sent(), marks_.negative()}, r.size());
  return marks_.code(table, r.data());
}

void threshold_on_gpu::add(side which, message_view const& message, std::span<std::uint64_t const> ends,
                           float scale, float* dense) {
  of(which).add(message, ends, scale, dense);
}

threshold_on_gpu::extracted threshold_on_gpu::merge(message_view const& lower, message_view const& upper,
                                                    std::span<std::uint64_t const> ends,
                                                    std::span<bf16 const> t, std::span<float> r) {
  marks_.resize(r.size());
  marks_.clear();
  kernels::threshold_table const table = upload(ends, t);
  on_->launch(
      kernels::merge_messages{of(side::lower).merged(lower, ends), of(side::upper).merged(upper, ends), table,
                              r.data(), marks_.sent(), marks_.negative()},
      static_cast<std::size_t>(blocks_of(r.size())));
  return marks_.code(table, r.data());
}

kernels::threshold_table threshold_on_gpu::upload(std::span<std::uint64_t const> ends,
                                                  std::span<bf16 const> t) {
  return thresholds_.upload(ends, [&](std::size_t k) { return t[k].value(); });
}

std::shared_ptr<threshold_device> sharing_passes_on_gpu::thresholds() {
  return std::make_shared<threshold_on_gpu>(stream_);
}

}  // namespace cohort::detail
