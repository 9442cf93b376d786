// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/gpu.hpp>
#include <memory>
#include <utility>

namespace cohort::detail {

/// A mark in a stream's work.
class gpu_event {
 public:
  explicit gpu_event(std::shared_ptr<gpu const> on) : on_(std::move(on)) {
    on_->use();
    on_->driver().check(on_->driver().create_event(&event_, CU_EVENT_DISABLE_TIMING),
                        "making an event on the GPU");
  }
  gpu_event(gpu_event const&) = delete;
  gpu_event& operator=(gpu_event const&) = delete;
  ~gpu_event() {
    on_->make_current();
    on_->driver().destroy_event(event_);
  }

  CUevent handle() const { return event_; }

 private:
  std::shared_ptr<gpu const> on_;
  CUevent event_ = nullptr;
};

}  // namespace cohort::detail
