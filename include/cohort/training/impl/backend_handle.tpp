// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/backend/detail/thread_scope.hpp>
#include <cohort/backend/priority.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/plan/detail/describe_machine.hpp>
#include <cohort/plan/detail/parameter_rules.hpp>
#include <cohort/plan/impl/make_plan.tpp>
#include <cohort/training/detail/backend_handle.hpp>
#include <limits>
#include <memory>
#include <mutex>
#include <string>

namespace cohort::detail {

template <tensor_backend B>
backend_handle make_backend_handle(graph_view net, training_settings const& settings) {
  auto store = std::make_shared<parameter_store<B>>(B{}, net);
  parameter_rules const rules(store->table(), settings.optimizer);
  rules.require_formulas(store->table(), store->passes().space() != nullptr);
  store->freeze([&](std::size_t p) { return rules[p].frozen; });
  auto const owned = std::make_shared<graph const>(net);
  auto const making =
      std::make_shared<std::mutex>();  // predictions and an evaluation may make plans concurrently
  auto const make_of = [store, making, how = settings.recompute, tune = settings.tune](graph_view of,
                                                                                       plan_settings wanted) {
    std::lock_guard const one_at_a_time(*making);
    wanted.recompute = how;
    wanted.tune = tune.get();
    return make_plan(store, of, wanted);
  };
  auto const make = [make_of, owned](plan_settings const& wanted) { return make_of(*owned, wanted); };
  {  // The first plan fixes the layouts, so it is made for a worker's whole part of a typical batch.
    thread_scope<B> const scope(settings.threads);
    int const ordinary = settings.tune ? settings.tune->batch() : 32;
    make({.batch = std::max(1, ordinary / settings.workers),
          .training = !graph_view(*owned).with_role(layer_role::loss).empty(),
          .max_bytes = std::numeric_limits<std::size_t>::max()});
  }
  store->initialise(settings.seed, {.weights = settings.weights, .bias = settings.bias});
  if constexpr (requires { B::environment_note(); })
    if (auto const note = B::environment_note(); settings.log && !note.empty()) settings.log(note);
  return {.name = std::string(B::name),
          .parameters = store,
          .make_plan = make,
          .make_plan_of = make_of,
          .threads = [](int threads) { return B::threads(threads); },
          .twin =
              [owned, of_twin = settings]() mutable {
                of_twin.log = {};
                return make_backend_handle<B>(*owned, of_twin);
              }};
}

template <tensor_backend B>
backend_handle calibrated_backend_handle(graph_view net, training_settings& settings) {
  if (settings.tune && settings.workers == 0) {
    if (is_gpu<B>())
      settings.workers = 1;
    else
      settings.tune->choose_workers(net, settings, describe_machine<B>(), make_backend_handle<B>);
  }
  return make_backend_handle<B>(net, settings);
}

}  // namespace cohort::detail
