// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/plan/plan.hpp>
#include <cohort/tensor/view.hpp>
#include <cohort/training/detail/backend_handle.hpp>
#include <cohort/training/predictions.hpp>
#include <cohort/training/settings.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Number of examples that one plan computes, and the plan's batch size (a power of two).
struct portion {
  int examples;
  int batch;

  /// If all `count` examples fit into a batch of at most `largest` examples, and at most an eighth of this
  /// batch stays empty, returns all examples. Otherwise returns a full batch: the largest power of two that
  /// is at most `count` and `largest`.
  static portion of(int count, int largest);
};

/// Sets the number of threads of the calling thread's kernels; the destructor restores the former number.
struct threads_scope {
  threads_scope(backend_handle const& on, int count) : backend(on), former(backend.threads(count)) {}
  ~threads_scope() { backend.threads(former); }
  threads_scope(threads_scope const&) = delete;
  threads_scope& operator=(threads_scope const&) = delete;

  backend_handle const& backend;
  int former;
};

/// Inference for many calling threads at the same time. Plans are cached by batch size and layers. A lane
/// holds the memory and the contexts of one call. A call uses the lane that was released last, because the
/// lane's memory may still be in a processor cache.
///
/// Order     thread-safe. Calls with a cached plan do not block; plans are made one at a time.
class predictor {
 public:
  static constexpr int largest_batch = 64;

  /// `backend` must outlive the predictor.
  predictor(backend_handle const& backend, training_settings const& settings)
      : backend_(backend), threads_(settings.threads), max_bytes_(settings.max_bytes) {}

  /// Returns the first `outputs` outputs of the plan for `layers` (node ids; empty: the network's outputs).
  ///
  /// Errors    shape_error if the inputs differ in their number of examples.
  std::vector<predictions> predict(std::span<int const> layers, std::size_t outputs,
                                   std::span<tensor_view const> inputs,
                                   std::span<tensor_view const> masks = {});

 private:
  struct cached_plan {
    int batch;
    std::vector<int> layers;
    std::shared_ptr<plan const> made;
  };
  /// The contexts share one memory, because only one of them runs at a time.
  struct lane {
    context_memory memory;
    std::vector<std::pair<plan const*, std::unique_ptr<plan_context>>> contexts;

    plan_context& context_of(plan const& with);
  };
  /// Reserves a lane while the scope exists.
  struct lane_scope {
    explicit lane_scope(predictor& from);
    ~lane_scope();
    lane_scope(lane_scope const&) = delete;
    lane_scope& operator=(lane_scope const&) = delete;

    predictor& owner;
    std::unique_ptr<lane> reserved;
  };
  /// Updates the working copies of the parameters if the parameters have changed since the last call.
  void refresh();
  std::shared_ptr<plan const> find(int batch, std::span<int const> layers);
  std::shared_ptr<plan const> plan_for(int batch, std::span<int const> layers);

  backend_handle const& backend_;
  int threads_;
  std::size_t max_bytes_;
  std::atomic<std::uint64_t> fresh_version_{0};  // version of the parameters in the plans' working copies
  std::mutex making_;                            // guards plans and working copies; locked first
  std::mutex mutex_;                             // guards plans_ and idle_
  std::vector<cached_plan> plans_;
  std::vector<std::unique_ptr<lane>> idle_;
};

}  // namespace cohort::detail
