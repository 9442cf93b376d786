// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/compute_stream.hpp>
#include <cstddef>
#include <memory>
#include <utility>

namespace cohort::detail {

/// Allocator for page-locked host memory, the target of compute_stream::download_async.
class page_locked_space final : public memory_space {
 public:
  explicit page_locked_space(std::shared_ptr<compute_stream const> on) : on_(std::move(on)) {}

  std::byte* allocate(std::size_t bytes) override;
  /// Frees memory after waiting for the stream. If waiting fails, leaks the memory, because the GPU may still
  /// write to it.
  void deallocate(std::byte* memory) noexcept override;

 private:
  std::shared_ptr<compute_stream const> on_;
};

}  // namespace cohort::detail
