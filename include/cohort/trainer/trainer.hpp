// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/priority.hpp>
#include <cohort/communicator/thread_ranks.hpp>
#include <cohort/trainer/detail/backend_handle.hpp>
#include <cohort/trainer/training.hpp>
#include <concepts>
#include <memory>
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

/// B's plans and parameters for a network, behind functions that do not depend on B.
///
/// Errors    backend_error, naming the layer that B has no kernel for; memory_error.
template <tensor_backend B>
backend_handle make_backend_handle(graph_view net, training_settings const& settings);

/// The same; first determines the number of workers by timing if `settings` asks for it: tune with 0 workers.
template <tensor_backend B>
backend_handle calibrated_backend_handle(graph_view net, training_settings& settings);

/// Errors    setting_error for values out of range.
void check_training_settings(training_settings const& settings);

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
  detail::check_training_settings(settings);
  if (world->rank() != 0) settings.log = {};
  auto handle = with_backend<Choice>(
      settings.log, [&]<class B>() { return detail::lacking<B>(net); },
      [&]<class B>() { return detail::calibrated_backend_handle<B>(net, settings); });
  return training(std::move(net), std::move(handle), std::move(settings), std::move(world), std::move(agree));
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

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/backend_handle.tpp>
#include <cohort/trainer/impl/trainer.ipp>
#endif
