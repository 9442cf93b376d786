// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/gpu.hpp>
#include <memory>

namespace cohort::detail {

/// A CUDA event without timing.
class gpu_event {
 public:
  explicit gpu_event(std::shared_ptr<gpu const> on);
  gpu_event(gpu_event const&) = delete;
  gpu_event& operator=(gpu_event const&) = delete;
  ~gpu_event();

  CUevent handle() const { return event_; }

 private:
  std::shared_ptr<gpu const> on_;
  CUevent event_ = nullptr;
};

}  // namespace cohort::detail
