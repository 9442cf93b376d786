// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/trainer/pending_predictions.hpp>

namespace cohort {

COHORT_CORE_INLINE pending_predictions& pending_predictions::operator=(pending_predictions&& other) noexcept {
  call_.swap(other.call_);
  return *this;
}

COHORT_CORE_INLINE pending_predictions::~pending_predictions() {
  if (call_) call_->cancel();
}

}  // namespace cohort
