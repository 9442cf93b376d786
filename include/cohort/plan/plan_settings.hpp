// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/recomputation.hpp>
#include <cstddef>
#include <vector>

namespace cohort {

class tuning;

/// What a plan is made for.
///
/// Units     `max_bytes`: parameters, `state_arrays` arenas of updater state, working copies, and what each of
///           `contexts` contexts needs, together, adding up gradients if it `accumulates`; 0: what a device has left, on the processor no limit.
///           `outputs`, at inference: the layers whose outputs are kept, as ids of nodes; none: the graph's outputs.
///           `recompute`: in training.
///           `tune`: who chooses where the backend has several ways to run a layer, one of the backend's; null: its fixed rules.
struct plan_settings {
  int batch = 32;
  bool training = true;
  std::size_t max_bytes = 0;
  int contexts = 1;
  int state_arrays = 0;
  bool accumulates = false;
  std::vector<int> outputs{};
  recomputation recompute{};
  tuning* tune = nullptr;
};

}  // namespace cohort
