// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/prediction/detail/batched_call.hpp>
#include <cohort/training/predictions.hpp>
#include <memory>
#include <utility>

namespace cohort {

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

  /// Returns whether get would return or throw without blocking.
  bool is_ready() const { return call_->is_over(); }
  /// Blocks until the answer or the call's deadline. Returns the answer; may be called once.
  ///
  /// Errors    deadline_error; the error of the run; setting_error at the second call.
  predictions get() { return call_->wait_for_answer(); }

 private:
  std::shared_ptr<detail::batched_call> call_;
};

}  // namespace cohort
