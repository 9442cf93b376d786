// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/parameter_set.hpp>
#include <cohort/plan/plan.hpp>
#include <cohort/plan/plan_settings.hpp>
#include <functional>
#include <memory>
#include <string>

namespace cohort::detail {

/// A backend behind functions that do not depend on its type. `state_arrays`: number of the updaters' state
/// arrays. `threads` sets the number of threads of the calling thread's kernels and returns the former
/// number.
struct backend_handle {
  std::string name;
  std::shared_ptr<parameter_set> parameters;
  std::function<std::shared_ptr<plan const>(plan_settings const&)> make_plan;
  std::function<int(int)> threads;
  int state_arrays = 0;
};

template <class B>
struct plan_templates;

}  // namespace cohort::detail
