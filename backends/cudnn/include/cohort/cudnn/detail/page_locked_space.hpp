// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/compute_stream.hpp>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

namespace cohort::detail {

/// Buffers of the processor that a stream's work writes: compute_stream::fetch_later.
class page_locked_space final : public memory_space {
 public:
  explicit page_locked_space(std::shared_ptr<compute_stream const> on) : on_(std::move(on)) {}

  std::byte* take(std::size_t bytes) override {
    auto const held = on_->turn();
    std::byte* const taken = on_->device().take_page_locked(bytes);
    std::memset(taken, 0, bytes);
    return taken;
  }
  /// Memory that a GPU does not finish with is not given back.
  void give_back(std::byte* memory) noexcept override try {
    on_->wait();
    auto const held = on_->turn();
    on_->device().free_page_locked(memory);
  } catch (error const&) {
  }

 private:
  std::shared_ptr<compute_stream const> on_;
};

}  // namespace cohort::detail
