// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn.hpp>
#include <memory>
#include <mutex>

#include "fake_machine.hpp"

/// cudnn on a pretended machine: plan, memory, layouts, descriptions and launches are the real ones.
///
/// Before    there is a machine.
struct pretended_cudnn : cohort::cudnn {
  static inline cohort::fake_machine* machine = nullptr;
  pretended_cudnn() : cudnn(stream()) {}
  static cohort::availability probe() {
    std::lock_guard const in_turn(looking);
    return cudnn::probe(machine->source(), "");
  }
  static std::shared_ptr<cohort::detail::compute_stream> stream() {
    std::lock_guard const in_turn(looking);
    return std::make_shared<cohort::detail::compute_stream>(
        std::make_shared<cohort::detail::gpu>(machine->source()), "");
  }

 private:
  static inline std::mutex looking;  // at the machine: ranks do it at once
};
