// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/backend/priority.hpp>
#include <cohort/backend/thread_scope.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/trainer/training.hpp>
#include <concepts>
#include <memory>
#include <utility>

namespace cohort {

namespace detail {

template <tensor_backend B>
backend_port port_to(graph_view net, training_settings const& settings) {
  auto store = std::make_shared<parameter_store<B>>(B{}, net);
  auto const owned = std::make_shared<graph const>(net);
  auto const make = [store, owned](plan_settings const& wanted) { return make_plan(store, *owned, wanted); };
  {  // The first plan settles the layouts: one for a worker's whole share of an ordinary batch of 32.
    thread_scope<B> const scope(settings.threads);
    make({.batch = std::max(1, 32 / settings.workers),
          .training = !graph_view(*owned).with_role(layer_role::loss).empty()});
  }
  int const states = std::max(settings.updater.state_arrays(),
                              settings.optimizer().updater_of(parameter_role::biases).state_arrays());
  std::size_t const least = store->arena_bytes() * static_cast<std::size_t>(1 + states + settings.workers);
  if (settings.max_bytes > 0 && least > settings.max_bytes)
    throw memory_error(
        {.what = "the parameters, their gradients and the updater's state need more memory than allowed",
         .expected = {"at most ", settings.max_bytes, " bytes"},
         .got = {least, " bytes"}});
  store->initialise(settings.seed, {.weights = settings.weights, .bias = settings.bias});
  if constexpr (requires { B::environment_note(); })
    if (auto const note = B::environment_note(); settings.log && !note.empty()) settings.log(note);
  return {std::string(B::name), store, make, [](int threads) { return B::threads(threads); }};
}

}  // namespace detail

/// Prepares a network for training on the backend that `Choice` comes to on this machine: a backend, `require<B>`
/// or `priority<A, B, …>`. The strategy says how ranks agree; left out, there is one rank.
///
/// Errors    setting_error; backend_error, naming the layer where a backend lacks a kernel; memory_error.
template <class Choice>
training trainer(graph net, training_settings settings = {}, std::unique_ptr<strategy> agree = nullptr) {
  settings.optimizer().check();
  if (settings.workers < 1 || settings.threads < 1)
    throw setting_error({.what = "workers and threads must be at least 1",
                         .got = {settings.workers, " workers, ", settings.threads, " threads"}});
  if (static_cast<std::size_t>(settings.workers) > parameter_update::max_parts)
    throw setting_error({.what = "too many workers",
                         .expected = {"at most ", parameter_update::max_parts},
                         .got = {settings.workers}});
  auto port =
      with_backend<Choice>(settings.log, [&]<class B>() { return detail::port_to<B>(net, settings); });
  if (!agree) agree = std::make_unique<no_exchange>();
  return training(std::move(net), std::move(port), std::move(settings), std::move(agree));
}

}  // namespace cohort
