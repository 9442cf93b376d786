// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cohort/cudnn/detail/gpu_list.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cohort::detail {

/// Table of thresholds and of the ends of their element ranges in GPU memory. Ends are uploaded only after a
/// change.
class threshold_table_on_gpu {
 public:
  explicit threshold_table_on_gpu(std::shared_ptr<compute_stream> const& on)
      : on_gpu_(on), ends_on_gpu_(on) {}

  /// Uploads value(k) for each threshold k. The result is valid until the next call.
  template <class Value>
  kernels::threshold_table upload(std::span<std::uint64_t const> ends, Value value) {
    patterns_.resize(ends.size());
    for (std::size_t k = 0; k < ends.size(); ++k) patterns_[k] = std::bit_cast<unsigned>(float{value(k)});
    on_gpu_.upload(patterns_);
    if (!std::equal(ends.begin(), ends.end(), ends_.begin(), ends_.end())) {
      ends_.clear();  // in case the upload fails
      std::vector<kernels::size> const now(ends.begin(), ends.end());
      ends_on_gpu_.upload(now);
      ends_ = now;
    }
    return {on_gpu_.data(), ends_on_gpu_.data(), ends.size()};
  }

 private:
  std::vector<unsigned> patterns_;
  std::vector<kernels::size> ends_;
  gpu_list<unsigned> on_gpu_;
  gpu_list<kernels::size> ends_on_gpu_;
};

}  // namespace cohort::detail
