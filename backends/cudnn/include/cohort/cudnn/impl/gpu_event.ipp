// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/gpu_event.hpp>
#include <utility>

namespace cohort::detail {

gpu_event::gpu_event(std::shared_ptr<gpu const> on) : on_(std::move(on)) {
  on_->use();
  on_->driver().check(on_->driver().create_event(&event_, CU_EVENT_DISABLE_TIMING),
                      "creating an event on the GPU");
}

gpu_event::~gpu_event() {
  on_->make_current();
  on_->driver().destroy_event(event_);
}

}  // namespace cohort::detail
