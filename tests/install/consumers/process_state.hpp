// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/strategy/detail/process_group.hpp>
#include <cohort/training/stop_on_signal.hpp>
#include <cstdint>
#include <memory>

/// The process-wide state, read by the code of one program or shared library.
struct process_state {
  std::uint64_t id = cohort::detail::random_process_id();
  std::shared_ptr<void> (*stop)() = [] {
    return std::shared_ptr<void>(std::make_shared<cohort::stop_on_signal>());
  };
  bool (*stopped)() = [] { return cohort::stop_on_signal::arrived(); };
};
