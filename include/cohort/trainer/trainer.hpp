// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/backend/detail/thread_scope.hpp>
#include <cohort/backend/priority.hpp>
#include <cohort/communicator/thread_ranks.hpp>
#include <cohort/plan/detail/describe_machine.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/parameter_rules.hpp>
#include <cohort/trainer/training.hpp>
#include <concepts>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace cohort {

namespace detail {

/// The first layer that B has no kernels for, as a clause; "" where it has all.
template <tensor_backend B>
std::string lacking(graph_view net) {
  for (int id = 0; id < net.size(); ++id)
    if (kind const& what = net.kind(id); what.role != layer_role::input && !B::supports(what))
      return "it has no kernels for " + std::string(what.name) + " (" + net.name(id) + ")";
  return {};
}

template <tensor_backend B>
backend_handle make_backend_handle(graph_view net, training_settings const& settings) {
  auto store = std::make_shared<parameter_store<B>>(B{}, net);
  parameter_rules const rules(store->table(), settings.optimizer());
  store->freeze([&](std::size_t p) { return rules[p].frozen; });
  auto const owned = std::make_shared<graph const>(net);
  auto const making =
      std::make_shared<std::mutex>();  // predictions begin beside each other, and beside an evaluation
  auto const make = [store, owned, making, how = settings.recompute,
                     tune = settings.tune](plan_settings wanted) {
    std::lock_guard const one_at_a_time(*making);
    wanted.recompute = how;
    wanted.tune = tune.get();
    return make_plan(store, *owned, wanted);
  };
  {  // The first plan settles the layouts: one for a worker's whole share of an ordinary batch.
    thread_scope<B> const scope(settings.threads);
    int const ordinary = settings.tune ? settings.tune->batch() : 32;
    make({.batch = std::max(1, ordinary / settings.workers),
          .training = !graph_view(*owned).with_role(layer_role::loss).empty(),
          .max_bytes = std::numeric_limits<std::size_t>::max()});
  }
  std::size_t const least =
      store->arena_bytes() * static_cast<std::size_t>(1 + rules.state_arrays() + settings.workers);
  if (settings.max_bytes > 0 && least > settings.max_bytes)
    throw memory_error(
        {.what = "the parameters, their gradients and the updater's state need more memory than allowed",
         .expected = {"at most ", settings.max_bytes, " bytes"},
         .got = {least, " bytes"}});
  store->initialise(settings.seed, {.weights = settings.weights, .bias = settings.bias});
  if constexpr (requires { B::environment_note(); })
    if (auto const note = B::environment_note(); settings.log && !note.empty()) settings.log(note);
  return {std::string(B::name), store, make, [](int threads) { return B::threads(threads); },
          rules.state_arrays()};
}

}  // namespace detail

/// Prepares a network for training on the backend that `Choice` comes to on this machine: a backend, `require<B>`
/// or `priority<A, B, …>`, which passes those over that lack kernels for one of its layers. `agree` says how the ranks of
/// `world` come to the same parameters; `world` must outlive the training. Lines for the user come from rank 0.
///
/// Order     collective where the strategy is more than `no_exchange`.
/// Errors    setting_error; backend_error, naming the layer where a backend lacks a kernel; memory_error.
template <class Choice>
training trainer(graph net, std::shared_ptr<communicator> world, std::unique_ptr<strategy> agree,
                 training_settings settings = {}) {
  settings.optimizer().check();
  if (settings.plateau) settings.plateau->check();
  bool const calibrates = settings.tune && settings.workers == 0;
  if ((settings.workers < 1 && !calibrates) || settings.threads < 1)
    throw setting_error(
        {.what = "workers and threads must be at least 1",
         .expected = settings.tune ? "" : "1 or more; with tune also 0 workers: by calibration",
         .got = {settings.workers, " workers, ", settings.threads, " threads"}});
  if (static_cast<std::size_t>(settings.workers) > parameter_update::max_parts)
    throw setting_error({.what = "too many workers",
                         .expected = {"at most ", parameter_update::max_parts},
                         .got = {settings.workers}});
  if (world->rank() != 0) settings.log = {};
  auto port = with_backend<Choice>(
      settings.log, [&]<class B>() { return detail::lacking<B>(net); },
      [&]<class B>() {
        if (calibrates && detail::is_gpu<B>())
          settings.workers = 1;
        else if (calibrates)
          settings.tune->settle_workers(net, settings, detail::describe_machine<B>(),
                                        detail::make_backend_handle<B>);
        return detail::make_backend_handle<B>(net, settings);
      });
  return training(std::move(net), std::move(port), std::move(settings), std::move(world), std::move(agree));
}

/// The same with a world that its owner keeps.
template <class Choice>
training trainer(graph net, communicator& world, std::unique_ptr<strategy> agree,
                 training_settings settings = {}) {
  return trainer<Choice>(std::move(net), std::shared_ptr<communicator>(std::shared_ptr<void>(), &world),
                         std::move(agree), std::move(settings));
}

/// The same with a strategy that is described: `allreduce{}`, `parameter_averaging{.every = 5}`, or a type of one's own
/// whose on(communicator&) makes a strategy.
template <class Choice, class Description>
requires requires(Description const& how, communicator& world) {
  { how.on(world) } -> std::convertible_to<std::unique_ptr<strategy>>;
}
training trainer(graph net, communicator& world, Description const& how, training_settings settings = {}) {
  return trainer<Choice>(std::move(net), world, std::unique_ptr<strategy>(how.on(world)),
                         std::move(settings));
}

/// The same for one rank.
template <class Choice>
training trainer(graph net, training_settings settings = {}, std::unique_ptr<strategy> agree = nullptr) {
  if (!agree) agree = std::make_unique<no_exchange>();
  return trainer<Choice>(std::move(net), make_self(), std::move(agree), std::move(settings));
}

}  // namespace cohort
