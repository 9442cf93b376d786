// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/detail/thread_scope.hpp>
#include <cohort/plan/arena_passes.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

namespace cohort::detail {

/// Copies of parameters between an arena's layouts and dense tensors. The reorders are cached, because an
/// exchange needs them in every step.
template <class B>
class dense_reorders {
 public:
  using layout = typename B::layout;

  /// Calls move(run, staging, bytes) to copy parameter p, which has a layout in arenas. run(writes, from, to)
  /// runs the reorder to (`writes`) or from the arena's layout. If the dense tensor is in the processor's
  /// memory (`host_side`) and the arenas are not, `staging` is a buffer of `bytes` bytes in the arenas'
  /// memory space. Otherwise `staging` is null. Uses one thread: a thread pool costs more than it saves here.
  template <class Move>
  void run(B const& backend, arena_passes const& passes, int p, layout const& arena_layout, bool host_side,
           Move move) {
    thread_scope<B> const single(1);
    std::lock_guard const one_at_a_time(mutex_);
    layout const dense = backend.plain(arena_layout);
    std::size_t const first = 2 * static_cast<std::size_t>(p);
    if (calls_.size() < first + 2) calls_.resize(first + 2);
    auto const run = [&](bool writes, std::byte* from, std::byte* to) {
      auto& call = calls_[first + (writes ? 1 : 0)];
      if (!call) {
        void* const addresses[]{from, to};
        call.emplace(B::bind(
            writes ? backend.reorder(dense, arena_layout) : backend.reorder(arena_layout, dense), addresses));
      }
      call->set(0, from);
      call->set(1, to);
      (*call)();
    };
    std::size_t bytes = 0;
    if (auto const space = passes.space(); space && host_side) {
      bytes = backend.bytes(dense);
      staging_.resize(bytes, space);
    }
    move(run, host_side ? staging_.data() : nullptr, bytes);
  }

 private:
  std::mutex mutex_;
  std::vector<std::optional<typename B::call>> calls_;
  reusable_buffer staging_;
};

}  // namespace cohort::detail
