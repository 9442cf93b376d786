// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/recomputation.hpp>
#include <cstddef>
#include <vector>

namespace cohort {

class tuning;

/// Settings of a plan.
///
/// `max_bytes`     limit of the memory of the parameters, optimizer state, working copies and contexts
///                 together; 0: the free memory of a device, no limit on the processor
/// `contexts`      number of contexts that count towards `max_bytes`
/// `state_bytes`   memory of the optimizers' state, which counts towards `max_bytes`
/// `accumulates`   whether the memory of contexts for gradient accumulation counts too
/// `outputs`       node ids of the layers whose outputs are kept; empty: the graph's outputs. In training
///                 only with `output_gradients`
/// `output_gradients`  in training: the outputs that are not losses are kept, and backward begins with their
///                 gradients, which the caller provides
/// `input_gradients`   in training: backward also computes the gradients of the inputs
/// `recompute`     activation checkpointing; used in training only
/// `tune`          selects among several implementations of a layer; must support the backend. null: the
///                 backend's fixed rules
struct plan_settings {
  int batch = 32;
  bool training = true;
  std::size_t max_bytes = 0;
  int contexts = 1;
  std::size_t state_bytes = 0;
  bool accumulates = false;
  std::vector<int> outputs{};
  bool output_gradients = false;
  bool input_gradients = false;
  recomputation recompute{};
  tuning* tune = nullptr;
};

}  // namespace cohort
