// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/chrono.hpp>
#include <cohort/tensor/view.hpp>
#include <cohort/training/predictions.hpp>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <vector>

namespace cohort::detail {

/// One call in a batcher's queue: a caller's examples and, later, the answer. A call completes once: by
/// answer, fail, cancel or its deadline. Later completions have no effect.
class batched_call {
 public:
  using clock = std::chrono::steady_clock;

  /// `parts`: inputs, then masks, if the call has any.
  batched_call(std::vector<tensor_view> parts, int examples, clock::time_point until);

  int const count;
  clock::time_point const limit;
  clock::time_point since{};  ///< time of queueing; guarded by the batcher's mutex

  /// Returns whether the call has completed or its deadline has passed.
  bool is_over() const;
  /// Copies part i. If the call has completed, writes zeros. During the copy, cancel blocks, so the caller's
  /// memory stays valid.
  void copy_part(std::size_t i, std::byte* to) const;
  std::size_t parts() const { return parts_.size(); }
  /// Returns whether both calls can share a batch: their inputs have the same types, and both or neither
  /// have masks.
  bool has_same_parts(batched_call const& other) const;
  std::size_t part_bytes(std::size_t i) const { return parts_[i].bytes(); }
  element_type part_type(std::size_t i) const { return parts_[i].type; }

  void answer(predictions made);
  void fail(std::exception_ptr why);
  void cancel();

  /// Blocks until the answer, at most until `limit`.
  ///
  /// Errors    deadline_error; the error passed to fail; setting_error at the second call.
  predictions wait_for_answer();

 private:
  void end();

  std::vector<tensor_view> parts_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  predictions made_{};
  std::exception_ptr why_{};
};

}  // namespace cohort::detail
