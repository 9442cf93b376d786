// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cohort/plan/plan.hpp>
#include <cohort/plan/plan_settings.hpp>
#include <cohort/training/settings.hpp>
#include <functional>
#include <memory>
#include <string>

namespace cohort::detail {

/// A type-erased backend. `state_bytes`: memory of the optimizers' state on this rank; with average_decay,
/// also of the average and of the parameters of the twin. `make_plan_of` makes plans of another network,
/// whose nodes have the same ids and parameters. `twin` makes a handle of the same network with separate
/// parameters. `threads` sets the number of threads of the calling thread's kernels, and returns the former
/// number.
struct backend_handle {
  std::string name;
  std::shared_ptr<parameter_set> parameters;
  std::function<std::shared_ptr<plan const>(plan_settings const&)> make_plan;
  std::function<std::shared_ptr<plan const>(graph_view, plan_settings const&)> make_plan_of;
  std::function<int(int)> threads;
  std::function<backend_handle()> twin;
  std::size_t state_bytes = 0;
};

/// Makes B's parameters and first plan for a network. Returns both as a type-erased backend.
///
/// Errors    backend_error with the layer that B has no kernel for; memory_error.
template <tensor_backend B>
backend_handle make_backend_handle(graph_view net, training_settings const& settings);

/// Like make_backend_handle. If `settings` has `tune` and 0 workers, first determines the numbers of workers
/// and threads by timing.
template <tensor_backend B>
backend_handle calibrated_backend_handle(graph_view net, training_settings& settings);

}  // namespace cohort::detail

// Declares (KIND extern) or defines (KIND empty) the plans of backend B that the implementation contains.
// Because of the declaration, programs that include own_backend.hpp do not compile these plans again. The
// macro must be used in namespace cohort.
#define COHORT_PLANS(KIND, B)                                                                                \
  KIND template std::shared_ptr<plan const> detail::compile_plan(std::shared_ptr<parameter_store<B>>,        \
                                                                 graph_view, plan_settings const&);          \
  KIND template detail::backend_handle detail::make_backend_handle<B>(graph_view, training_settings const&); \
  KIND template detail::backend_handle detail::calibrated_backend_handle<B>(graph_view, training_settings&)
