// SPDX-License-Identifier: Apache-2.0
#include <cohort/codec/residual_simd.hpp>
#include <cohort/cudnn/detail/sparse_encoder_gpu.hpp>
#include <cohort/tensor/finite.hpp>

namespace cohort::detail {

sparse_encoder_gpu::sparse_encoder_gpu(std::shared_ptr<compute_stream> on)
    : on_(std::move(on)),
      marks_(on_),
      groups_(on_),
      blocks_(on_),
      codes_(on_),
      multiples_(on_),
      taken_(on_) {}

void sparse_encoder_gpu::resize(std::size_t n) {
  elements_ = n;
  words_ = (n + 31) / 32;
  marks_.resize(2 * words_);
  groups_.resize((n + kernels::group_size - 1) / kernels::group_size);
  blocks_.resize(static_cast<std::size_t>(blocks_of(n)) + 1);
}

threshold_device::extracted sparse_encoder_gpu::code(kernels::threshold_table const& t, float* r) {
  kernels::marked_elements const all{sent(), negative(), elements_, groups_.data(), blocks_.data()};
  std::size_t const blocks = blocks_.size() - 1;
  on_->launch(kernels::count_marks{all}, groups_.size());
  on_->launch(kernels::join_marks{all}, blocks);
  on_->launch(kernels::measure_gaps{all}, groups_.size());
  on_->launch(kernels::join_gaps{all}, blocks);
  on_->launch(kernels::place_blocks{all}, 1);
  host_blocks_.resize(blocks + 1);
  blocks_.download(host_blocks_);
  kernels::marked_block const& sum = host_blocks_.back();
  fetch_multiples(all, t, r, static_cast<std::size_t>(sum.beyond_before));
  fetch_codes(all, static_cast<std::size_t>(sum.first_bit));
  count(all, t, sum.taken_before);
  entries_.resize(blocks);
  for (std::size_t b = 0; b < blocks; ++b)
    entries_[b] =
        block_entry::of(host_blocks_[b].first_bit, host_blocks_[b].sent, host_blocks_[b].bitmap != 0);
  return {{entries_, bytes_, host_multiples_}, counts_};
}

void sparse_encoder_gpu::fetch_multiples(kernels::marked_elements const& all,
                                         kernels::threshold_table const& t, float* r, std::size_t count) {
  host_multiples_.resize(count);
  if (count == 0) return;
  multiples_.resize(count);
  on_->launch(kernels::take_multiples{all, r, t, multiples_.data()}, groups_.size());
  on_->download(reinterpret_cast<std::byte const*>(multiples_.data()), host_multiples_.data(),
                count * sizeof(sent_multiple));
  for (sent_multiple const& one : host_multiples_)
    if (!is_finite(one.multiple)) refuse_residual(one.index);
}

void sparse_encoder_gpu::fetch_codes(kernels::marked_elements const& all, std::size_t bits) {
  bytes_.resize((bits + 7) / 8);
  if (bits == 0) return;
  codes_.resize((bits + 31) / 32);
  codes_.clear();
  on_->launch(kernels::write_codes{all, codes_.data()}, groups_.size());
  on_->download(reinterpret_cast<std::byte const*>(codes_.data()), bytes_.data(), bytes_.size());
}

void sparse_encoder_gpu::count(kernels::marked_elements const& all, kernels::threshold_table const& t,
                               std::uint64_t sum) {
  up_to_.assign(t.count, sum);
  if (t.count > 1) {
    on_->launch(kernels::count_taken{all, t.ends, taken_.resize(t.count)}, t.count);
    taken_.download(up_to_);
  }
  counts_.assign(up_to_.begin(), up_to_.end());
  for (std::size_t k = counts_.size(); k-- > 1;) counts_[k] -= counts_[k - 1];
}

}  // namespace cohort::detail
