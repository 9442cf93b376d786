// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn.hpp>
#include <cohort/training/own_backend.hpp>
#include <memory>
#include <mutex>

#include "fake_machine.hpp"

/// A GPU backend on a simulated machine. Its plans, memory, layouts, descriptors and launches are those of
/// cudnn.
///
/// Before    a machine exists.
struct pretended_gpu {
  static inline cohort::fake_machine* machine = nullptr;
  /// Creates a machine for the whole program, for tests that create none.
  static bool stands() {
    static cohort::fake_machine of_all;
    machine = &of_all;
    return true;
  }

  static std::shared_ptr<cohort::detail::compute_stream> stream() {
    std::lock_guard const in_turn(looking);
    return std::make_shared<cohort::detail::compute_stream>(
        std::make_shared<cohort::detail::gpu>(machine->source()), "");
  }

 protected:
  static inline std::mutex looking;  // guards the machine, because ranks access it concurrently
};

template <class Backend>
struct pretended : Backend, pretended_gpu {
  pretended() : Backend(stream()) {}
  static cohort::availability probe() {
    std::lock_guard const in_turn(looking);
    return Backend::probe(machine->source(), "");
  }
};

using pretended_cudnn = pretended<cohort::cudnn>;
using pretended_cudnn_tf32 = pretended<cohort::cudnn_tf32>;
using pretended_cudnn_bf16 = pretended<cohort::cudnn_bf16>;
