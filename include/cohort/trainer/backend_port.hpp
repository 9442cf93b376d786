// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/make_plan.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace cohort::detail {

/// A backend behind functions: all that training needs of it. `state_arrays` are those of the updaters; `most_bytes` is what plans
/// are held to: what the settings allow, else what the backend's device had left; 0: nothing.
struct backend_port {
  std::string name;
  std::shared_ptr<parameter_set> parameters;
  std::function<std::shared_ptr<plan const>(plan_settings const&)> make_plan;
  std::function<int(int)> threads;
  int state_arrays = 0;
  std::size_t most_bytes = 0;
};

}  // namespace cohort::detail
