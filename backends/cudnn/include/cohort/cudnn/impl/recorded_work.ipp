// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/recorded_work.hpp>

namespace cohort::detail {

recorded_work::~recorded_work() {
  try {
    on_->wait();
    on_->destroy_recorded(made_);
  } catch (error const&) {
  }
}

}  // namespace cohort::detail
