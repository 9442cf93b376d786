// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/codec/threshold_device.hpp>
#include <cohort/cudnn/detail/gpu_list.hpp>
#include <cohort/cudnn/detail/message_on_gpu.hpp>
#include <cohort/cudnn/detail/passes_on_gpu.hpp>
#include <cohort/cudnn/detail/sparse_encoder_gpu.hpp>
#include <cohort/cudnn/detail/threshold_table_on_gpu.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace cohort::detail {

/// The operations of threshold_compressor on arrays in GPU memory.
///
/// Moves     over PCIe: messages, 2 bytes for each element of a threshold's sample, 40 bytes per block, and
///           single values.
/// Errors    as compute_stream (backend_error, memory_error, deadline_error) and threshold_device.
class threshold_on_gpu final : public threshold_device {
 public:
  explicit threshold_on_gpu(std::shared_ptr<compute_stream> on);

  arena_passes& arrays() override { return arrays_; }

  bool within(std::span<float const> x, float limit) override;
  double clip(std::span<float> r, float limit) override;
  double square_sum(std::span<float const> r) override;

  void count_levels(float const* r, float const* x, element_sample const& from,
                    std::span<std::uint32_t> counts) override;

  extracted extract(std::span<float> r, std::span<float const> x, std::span<std::uint64_t const> ends,
                    std::span<bf16 const> t) override;

  bool read(side which, message_view const& message) override { return of(which).read(message); }
  void add(side which, message_view const& message, std::span<std::uint64_t const> ends, float scale,
           float* dense) override;
  extracted merge(message_view const& lower, message_view const& upper, std::span<std::uint64_t const> ends,
                  std::span<bf16 const> t, std::span<float> r) override;

 private:
  message_on_gpu& of(side which) { return messages_[static_cast<std::size_t>(which)]; }

  kernels::threshold_table upload(std::span<std::uint64_t const> ends, std::span<bf16 const> t);

  /// Runs the kernel `make(address)` over n elements, which writes its chunk sums to `address`. Returns the
  /// sum of the chunk sums.
  template <class Make>
  double summed(std::size_t n, Make make) {
    if (n == 0) return 0;
    std::size_t const chunks = (n + sum_chunk - 1) / sum_chunk;
    double* const to = sums_.resize(chunks);
    on_->launch(make(to), n);
    on_->launch(kernels::add_chunks{to, chunks, 1}, std::min<std::size_t>(chunks, sum_chunk));
    double sum = 0;
    sums_.download({&sum, 1});
    return sum;
  }

  std::shared_ptr<compute_stream> on_;
  passes_on_gpu arrays_;
  threshold_table_on_gpu thresholds_;
  sparse_encoder_gpu marks_;
  message_on_gpu messages_[2];
  gpu_list<unsigned short> levels_;
  gpu_list<unsigned> found_;
  gpu_list<double> sums_;
  std::vector<unsigned short> of_sample_;
};

/// Arena operations on a GPU that also supports threshold_sharing.
class sharing_passes_on_gpu final : public passes_on_gpu, public threshold_device_source {
 public:
  explicit sharing_passes_on_gpu(std::shared_ptr<compute_stream> on)
      : passes_on_gpu(on), stream_(std::move(on)) {}
  std::shared_ptr<threshold_device> thresholds() override;

 private:
  std::shared_ptr<compute_stream> stream_;
};

}  // namespace cohort::detail
