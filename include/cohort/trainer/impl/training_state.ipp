// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/detail/config.hpp>
#include <cohort/trainer/detail/training_state.hpp>

namespace cohort::detail {

/// Workers wait this much longer than an exchange may take, so that the exchange reports the missing rank
/// first.
inline constexpr std::chrono::seconds exchange_grace{5};

COHORT_CORE_INLINE training_state::training_state(graph network, backend_handle backend,
                                                  training_settings how, std::shared_ptr<communicator> ranks,
                                                  std::unique_ptr<strategy> how_to_exchange)
    : net(std::move(network)),
      settings(std::move(how)),
      world(std::move(ranks)),
      workers(std::make_shared<worker_group>(std::move(backend), settings,
                                             world->settings().deadline + exchange_grace)),
      exchange_strategy(std::move(how_to_exchange)),
      inference(std::make_unique<predictor>(workers->backend(), settings)) {
  exchange_strategy->set_workers(workers->size());
}

COHORT_CORE_INLINE parameter_set& training_state::parameters() {
  finish_pending();
  return *workers->backend().parameters;
}

COHORT_CORE_INLINE parameter_update& training_state::update() {
  if (!updater) updater = std::make_shared<parameter_update>(parameters(), settings.optimizer());
  updater->scale_rates(settings.plateau ? rate_plateau.factor : 1);
  return *updater;
}

COHORT_CORE_INLINE std::vector<std::byte*> training_state::updater_arrays() {
  std::vector<std::byte*> arrays;
  for (int k = 0; k < update().state_arrays(); ++k) arrays.push_back(update().state(k));
  return arrays;
}

COHORT_CORE_INLINE void training_state::finish_pending() {
  run_workers(nullptr, [&] { workers->finish_pending(); });
}

COHORT_CORE_INLINE std::vector<predictions> training_state::predict(std::span<int const> layers,
                                                                    std::size_t outputs,
                                                                    std::span<tensor_view const> inputs) {
  check_inputs(net, inputs);
  finish_pending();
  rescaled_parts copies;  // of this call: other threads may predict at the same time
  std::vector<predictions> made = inference->predict(layers, outputs, copies.of(inputs, rescaling.inputs));
  if (rescaling.targets.empty()) return made;
  graph_view const all = net;
  std::vector<int> const losses = all.with_role(layer_role::loss);
  for (std::size_t i = 0; i < made.size(); ++i) {
    int const node = layers.empty() ? all.outputs()[i] : layers[i];
    auto const loss = std::find(losses.begin(), losses.end(), node) - losses.begin();
    if (loss == std::ssize(losses)) continue;
    shape const dims = made[i].example.batched(made[i].count());
    detail::rescale(mutable_tensor_view(made[i].values.data(), dims),
                    target_maps(static_cast<std::size_t>(loss)), direction::back);
  }
  return made;
}

COHORT_CORE_INLINE void training_state::rescale(batch_view& data) {
  rescaled->clear();
  data.inputs = rescaled->of(data.inputs, rescaling.inputs);
  data.targets = rescaled->of(data.targets, rescaling.targets);
}

}  // namespace cohort::detail
