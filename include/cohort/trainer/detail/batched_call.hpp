// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/tensor/view.hpp>
#include <cohort/trainer/predictions.hpp>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <vector>

namespace cohort::detail {

/// One call in a batcher's queue: a caller's examples and, later, the answer. It completes once: by answer,
/// fail, cancel or its deadline. Later completions have no effect.
class batched_call {
 public:
  using clock = std::chrono::steady_clock;

  batched_call(std::vector<tensor_view> inputs, int examples, clock::time_point until);

  int const count;
  clock::time_point const limit;
  clock::time_point since{};  ///< when it was queued; guarded by the batcher's mutex

  /// Whether the call has completed or its deadline has passed.
  bool is_over() const;
  /// Copies input i, unless the call has completed: cancel blocks during the copy, so the caller's memory
  /// stays valid.
  void copy_input(std::size_t i, std::byte* to) const;
  std::size_t input_bytes(std::size_t i) const { return inputs_[i].bytes(); }

  void answer(predictions made);
  void fail(std::exception_ptr why);
  void cancel();

  /// Blocks until the answer, at most until `limit`.
  ///
  /// Errors    deadline_error; the error passed to fail; setting_error at the second call.
  predictions wait_for_answer();

 private:
  void end();

  std::vector<tensor_view> inputs_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  predictions made_{};
  std::exception_ptr why_{};
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/batched_call.ipp>
#endif
