// SPDX-License-Identifier: Apache-2.0
#include <cohort/prediction/pending_predictions.hpp>
#include <utility>

namespace cohort {

pending_predictions& pending_predictions::operator=(pending_predictions&& other) noexcept {
  if (this == &other) return *this;
  if (call_) call_->cancel();
  call_ = std::move(other.call_);
  return *this;
}

pending_predictions::~pending_predictions() {
  if (call_) call_->cancel();
}

}  // namespace cohort
