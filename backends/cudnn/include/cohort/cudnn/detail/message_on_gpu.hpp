// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/message.hpp>
#include <cohort/cudnn/detail/gpu_list.hpp>
#include <cohort/cudnn/detail/threshold_table_on_gpu.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cohort::detail {

/// The elements of a sparse message on a GPU, validated before use.
///
/// Order     call read first, then add and merged for the same message, any number of times.
/// Moves     to the GPU: the message's codes and 40 bytes per block.
/// Exact     add computes the same sums as add_blocks.
/// Cost      4 bytes of GPU memory per sent element, for the decoded list.
class message_on_gpu {
 public:
  explicit message_on_gpu(std::shared_ptr<compute_stream> on);

  /// Decodes the message. Returns false if its codes contradict its tables.
  bool read(message_view const& message);

  /// to += scale · the message's values.
  void add(message_view const& message, std::span<std::uint64_t const> ends, float scale, float* to);

  /// Returns the message in the form that merge_messages reads.
  kernels::merged_message merged(message_view const& message, std::span<std::uint64_t const> ends);

 private:
  std::shared_ptr<compute_stream> on_;
  threshold_table_on_gpu thresholds_;
  gpu_list<kernels::coded_block> blocks_;
  gpu_list<unsigned> codes_;
  gpu_list<unsigned> list_;
  gpu_list<unsigned> wrong_;
  gpu_list<float> values_;
  gpu_list<kernels::element_value> added_;
  gpu_list<kernels::element_multiple> multiples_;

  std::vector<kernels::coded_block> host_blocks_;  // this and the following: host copies to upload
  std::vector<unsigned> words_;
  std::vector<float> numbers_;
  std::vector<kernels::element_value> sums_;
  std::vector<kernels::element_multiple> host_multiples_;
};

}  // namespace cohort::detail
