// SPDX-License-Identifier: Apache-2.0
#include <cohort/prediction/pending_predictions.hpp>

namespace cohort {

pending_predictions& pending_predictions::operator=(pending_predictions&& other) noexcept {
  call_.swap(other.call_);
  return *this;
}

pending_predictions::~pending_predictions() {
  if (call_) call_->cancel();
}

}  // namespace cohort
