// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/plan/plan.hpp>
#include <cohort/plan/plan_settings.hpp>
#include <memory>
#include <utility>

namespace cohort {

template <tensor_backend B>
class parameter_store;

namespace detail {

/// Compiles a plan as make_plan does, without make_plan's compile-time check.
template <tensor_backend B>
std::shared_ptr<plan const> compile_plan(std::shared_ptr<parameter_store<B>> store, graph_view net,
                                         plan_settings const& settings);

// A complete type if the program has included the templates that make plans for a backend.
template <class B>
struct plan_templates;

/// Rejects at compile time a program that would not link.
template <class B>
constexpr void check_plans_of() {
  static_assert(
      has_compiled_plans<B> || requires { sizeof(plan_templates<B>); },
      "cohort: include <cohort/training/own_backend.hpp> to use a backend of your own");
}

}  // namespace detail

/// Compiles a graph to a plan for the store's backend.
///
/// Order     the calling thread must have the same number of threads (`B::threads`) as later contexts.
/// Exact     without `tune`, a plan depends only on its arguments, the machine and the number of threads.
/// Errors    setting_error if the batch is below 1, an output is not a layer, or a row of recompute.blocks
///           matches no layer.
///           backend_error, naming layer and backend, if a layer has no suitable kernel. graph_error if a
///           training plan has no loss and no output_gradients. memory_error, with the plan's table and the
///           largest batch that fits, if the plan exceeds the memory limit.
template <tensor_backend B>
std::shared_ptr<plan const> make_plan(std::shared_ptr<parameter_store<B>> store, graph_view net,
                                      plan_settings const& settings) {
  detail::check_plans_of<B>();
  return detail::compile_plan(std::move(store), net, settings);
}

}  // namespace cohort
