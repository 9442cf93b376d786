// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/tensor/view.hpp>
#include <cohort/trainer/predictor.hpp>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace cohort {

namespace detail {

/// A caller's examples on their way through a queue, and the answer on its way back. Whoever ends it first, by an answer or by
/// giving up, ends it.
class batched_call {
 public:
  using clock = std::chrono::steady_clock;

  batched_call(std::vector<tensor_view> inputs, int examples, clock::time_point until);

  int const count;
  clock::time_point const limit;
  clock::time_point since{};  ///< in the queue; the queue's own

  bool is_over() const;
  /// Copies input i; its owner leaves before or after, not meanwhile.
  void copy_input(std::size_t i, std::byte* to) const;
  std::size_t input_bytes(std::size_t i) const { return inputs_[i].bytes(); }

  void answer(predictions made);
  void fail(std::exception_ptr why);
  void give_up();

  /// Waits for the answer, until the limit at most.
  predictions take();

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

/// Predictions that somebody works on.
///
/// Before    the inputs live as long as this, or until get returns.
class pending_predictions {
 public:
  explicit pending_predictions(std::shared_ptr<detail::batched_call> of) : call_(std::move(of)) {}
  pending_predictions(pending_predictions&&) = default;
  pending_predictions& operator=(pending_predictions&& other) noexcept;
  /// Gives up a call that is not answered.
  ~pending_predictions();

  /// Whether get would return or throw at once.
  bool is_ready() const { return call_->is_over(); }
  /// The answer, once. Waits for it until the call's deadline.
  ///
  /// Errors    deadline_error; what the run threw; setting_error where it was taken already.
  predictions get() { return call_->take(); }

 private:
  std::shared_ptr<detail::batched_call> call_;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/pending_predictions.ipp>
#endif
