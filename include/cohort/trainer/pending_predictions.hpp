// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/tensor/view.hpp>
#include <cohort/trainer/predictions.hpp>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace cohort {

namespace detail {

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

}  // namespace detail

/// The future result of dynamic_batcher::submit.
///
/// Before    the inputs outlive this object, or stay valid until get returns.
class pending_predictions {
 public:
  explicit pending_predictions(std::shared_ptr<detail::batched_call> of) : call_(std::move(of)) {}
  pending_predictions(pending_predictions&&) = default;
  pending_predictions& operator=(pending_predictions&& other) noexcept;
  /// Cancels the call if it is not answered yet.
  ~pending_predictions();

  /// Whether get would return or throw without blocking.
  bool is_ready() const { return call_->is_over(); }
  /// Blocks until the answer or the call's deadline. Returns the answer; may be called once.
  ///
  /// Errors    deadline_error; the error of the run; setting_error at the second call.
  predictions get() { return call_->wait_for_answer(); }

 private:
  std::shared_ptr<detail::batched_call> call_;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/pending_predictions.ipp>
#endif
