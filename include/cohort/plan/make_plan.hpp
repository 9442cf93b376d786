// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/plan/plan.hpp>
#include <cohort/plan/plan_settings.hpp>
#include <memory>

namespace cohort {

template <tensor_backend B>
class parameter_store;

/// Makes a graph executable on the store's backend.
///
/// Order     call it on a thread that has the number of threads its contexts will have (`B::threads`).
/// Exact     without `tune` a plan depends on nothing but its arguments, the machine and the number of threads.
/// Errors    setting_error for a batch below 1, outputs that are no layers, or blocks that are none; backend_error, naming layer and backend,
///           where a layer has no fit kernel; graph_error where there is nothing to train; memory_error with the table,
///           and the largest batch that fits, where the plan needs more than that.
template <tensor_backend B>
std::shared_ptr<plan const> make_plan(std::shared_ptr<parameter_store<B>> store, graph_view net,
                                      plan_settings const& settings);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/plan/impl/make_plan.tpp>
#endif
