// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/recorded_work.hpp>
#include <cohort/detail/config.hpp>

namespace cohort::detail {

COHORT_CUDNN_INLINE recorded_work::~recorded_work() {
  try {
    on_->wait();
    on_->destroy_recorded(made_);
  } catch (error const&) {
  }
}

}  // namespace cohort::detail
