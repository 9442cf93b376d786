// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/compute_stream.hpp>
#include <cstddef>
#include <memory>
#include <utility>

namespace cohort::detail {

/// Buffers of the processor that a stream's work writes: compute_stream::fetch_later.
class page_locked_space final : public memory_space {
 public:
  explicit page_locked_space(std::shared_ptr<compute_stream const> on) : on_(std::move(on)) {}

  std::byte* take(std::size_t bytes) override;
  /// Memory that a GPU does not finish with is not given back.
  void give_back(std::byte* memory) noexcept override;

 private:
  std::shared_ptr<compute_stream const> on_;
};

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/page_locked_space.ipp>
#endif
