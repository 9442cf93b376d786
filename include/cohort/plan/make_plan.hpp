// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/plan/plan.hpp>
#include <cohort/plan/plan_settings.hpp>
#include <memory>

namespace cohort {

template <tensor_backend B>
class parameter_store;

/// Compiles a graph to a plan for the store's backend.
///
/// Order     call it on a thread with the number of threads that the contexts will have (`B::threads`).
/// Exact     without `tune`, a plan depends only on its arguments, the machine and the number of threads.
/// Errors    setting_error if the batch is below 1, an output is not a layer, or a block matches no layer;
///           backend_error, naming layer and backend, if a layer has no suitable kernel; graph_error if a
///           training plan has no loss; memory_error, with the plan's table and the largest batch that fits,
///           if the plan exceeds the memory limit.
template <tensor_backend B>
std::shared_ptr<plan const> make_plan(std::shared_ptr<parameter_store<B>> store, graph_view net,
                                      plan_settings const& settings);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/plan/impl/make_plan.tpp>
#endif
