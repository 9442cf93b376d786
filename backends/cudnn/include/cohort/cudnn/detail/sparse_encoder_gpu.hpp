// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/message.hpp>
#include <cohort/codec/threshold_device.hpp>
#include <cohort/cudnn/detail/gpu_list.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cohort::detail {

/// Encodes marked elements as a message. The marks are two bits per element, see kernels/thresholds.inc.
///
///     marks ──► groups of 1024: counts ──► blocks: prefix sums ──► groups: bits of gaps
///           ──► blocks: the smaller coding ──► offset of each block ──► groups: codes ──► the processor
///
/// Moves     to the processor: the codes and 40 bytes per block.
/// Exact     the codes equal the codes that write_block writes.
/// Cost      reads the n/4 bytes of marks in GPU memory up to three times.
class sparse_encoder_gpu {
 public:
  static_assert(kernels::block_size == block_elements);
  static_assert(sizeof(kernels::element_multiple) == sizeof(sent_multiple));

  explicit sparse_encoder_gpu(std::shared_ptr<compute_stream> on);

  /// Allocates the marks of n elements, uninitialised.
  void resize(std::size_t n);
  void clear() { marks_.clear(); }
  unsigned* sent() const { return marks_.data(); }
  unsigned* negative() const { return marks_.data() + words_; }

  /// Encodes the marked elements with these thresholds. An element of the residual `r` beyond 2¹⁶ times its
  /// threshold is sent as a multiple of the threshold, and r is reduced by the value sent.
  ///
  /// Errors    numeric_error if an element of r beyond 2¹⁶ thresholds is not finite.
  threshold_device::extracted code(kernels::threshold_table const& t, float* r);

 private:
  void fetch_multiples(kernels::marked_elements const& all, kernels::threshold_table const& t, float* r,
                       std::size_t count);

  void fetch_codes(kernels::marked_elements const& all, std::size_t bits);

  /// Counts the sent elements per threshold, including multiples.
  void count(kernels::marked_elements const& all, kernels::threshold_table const& t, std::uint64_t sum);

  std::shared_ptr<compute_stream> on_;
  std::size_t elements_ = 0, words_ = 0;
  gpu_list<unsigned> marks_;
  gpu_list<kernels::marked_group> groups_;
  gpu_list<kernels::marked_block> blocks_;
  gpu_list<unsigned> codes_;
  gpu_list<kernels::element_multiple> multiples_;
  gpu_list<kernels::size> taken_;

  std::vector<kernels::marked_block> host_blocks_;  // this and the following: host copies
  std::vector<block_entry> entries_;
  std::vector<std::byte> bytes_;
  std::vector<sent_multiple> host_multiples_;
  std::vector<kernels::size> up_to_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace cohort::detail
