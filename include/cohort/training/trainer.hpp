// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/priority.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/training/detail/backend_handle.hpp>
#include <cohort/training/training.hpp>
#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace cohort {

namespace detail {

/// Returns a clause that names the first layer without kernels of B; "" if B has all kernels.
template <tensor_backend B>
std::string unsupported_layer(graph_view net) {
  for (int id = 0; id < net.size(); ++id) {
    kind const& what = net.kind(id);
    if (what.role == layer_role::input) continue;
    std::string const clause = "it has no kernels for " + std::string(what.name) + " (" + net.name(id) + ")";
    if (!B::supports(what)) return clause;
    if constexpr (requires(std::span<shape const> in) { B::supports(what, in, net[id].output); })
      if (!B::supports(what, net.input_shapes(id), net[id].output))
        return clause + " with inputs of these shapes";
  }
  return {};
}

/// Errors    setting_error for values out of range, and for average_decay with a strategy that does not
///           support it.
void check_training_settings(training_settings const& settings, strategy const& exchange_strategy);

/// Records that the run was made without a communicator.
void mark_without_world(training& made);

}  // namespace detail

/// Prepares a network for training.
///
/// `Choice`  a backend, `required_backend<B>`, or `priority<A, B, …>`: the first one that is available on
///           this machine and has kernels for all layers. `exchange_strategy` exchanges gradients or
///           parameters between the ranks of `world`. Only rank 0 logs.
/// Order     collective unless the strategy is `no_exchange`.
/// Errors    setting_error; backend_error with the layer that the backend has no kernel for; memory_error.
template <class Choice>
training trainer(graph net, std::shared_ptr<communicator> world, std::unique_ptr<strategy> exchange_strategy,
                 training_settings settings = {}) {
  detail::check_training_settings(settings, *exchange_strategy);
  if (world->rank() != 0) settings.log = {};
  auto handle = with_backend<Choice>(
      settings.log, [&]<class B>() { return detail::unsupported_layer<B>(net); },
      [&]<class B>() {
        detail::check_plans_of<B>();
        return detail::calibrated_backend_handle<B>(net, settings);
      });
  return training(std::move(net), std::move(handle), std::move(settings), std::move(world),
                  std::move(exchange_strategy));
}

/// Like the function above, but the caller owns the communicator, which must outlive the training.
template <class Choice>
training trainer(graph net, communicator& world, std::unique_ptr<strategy> exchange_strategy,
                 training_settings settings = {}) {
  return trainer<Choice>(std::move(net), std::shared_ptr<communicator>(std::shared_ptr<void>(), &world),
                         std::move(exchange_strategy), std::move(settings));
}

/// Like the function above, but for the description of a strategy: `allreduce{}`,
/// `parameter_averaging{.every = 5}`, or a user's type with a member on(communicator&) that makes a strategy.
template <class Choice, class Description>
requires requires(Description const& how, communicator& world) {
  { how.on(world) } -> std::convertible_to<std::unique_ptr<strategy>>;
}
training trainer(graph net, communicator& world, Description const& how, training_settings settings = {}) {
  return trainer<Choice>(std::move(net), world, std::unique_ptr<strategy>(how.on(world)),
                         std::move(settings));
}

/// Prepares a network for training on one rank.
///
/// Errors    in a launch of several ranks, fit and single steps throw setting_error, because each rank would
///           train a separate network. To train separate networks on purpose, pass make_self() and a
///           strategy.
template <class Choice>
training trainer(graph net, training_settings settings = {},
                 std::unique_ptr<strategy> exchange_strategy = nullptr) {
  if (!exchange_strategy) exchange_strategy = std::make_unique<no_exchange>();
  training made =
      trainer<Choice>(std::move(net), make_self(), std::move(exchange_strategy), std::move(settings));
  detail::mark_without_world(made);
  return made;
}

}  // namespace cohort
