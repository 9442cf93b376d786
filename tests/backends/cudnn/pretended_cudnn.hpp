// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn.hpp>
#include <memory>

#include "fake_machine.hpp"

/// cudnn on a pretended machine: plan, memory, layouts, descriptions and launches are the real ones.
///
/// Before    there is a machine.
struct pretended_cudnn : cohort::cudnn {
  static inline cohort::fake_machine* machine = nullptr;
  pretended_cudnn()
      : cudnn(std::make_shared<cohort::detail::compute_stream>(
          std::make_shared<cohort::detail::gpu>(machine->source()), "")) {}
  static cohort::availability probe() { return cudnn::probe(machine->source(), ""); }
};
