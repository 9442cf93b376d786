// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/chrono.hpp>
#include <cohort/training/detail/training_state.hpp>

namespace cohort::detail {

/// Workers wait this much longer than an exchange may take, so that the exchange reports the missing rank
/// first.
inline constexpr std::chrono::seconds exchange_grace{5};

/// Adds the memory of the optimizers' state on this rank.  Errors: memory_error if it exceeds `max_bytes`.
backend_handle with_state_bytes(backend_handle backend, training_settings const& settings,
                                communicator const& world, strategy const& exchange_strategy) {
  parameter_set const& parameters = *backend.parameters;
  std::size_t const arena = parameters.arena_bytes();
  std::size_t array = arena;  // bytes of a state array
  if (auto const shard = exchange_strategy.shard(parameters, world.rank())) {
    array = 0;
    for (parameter_set::arena_range const& part : *shard) array += part.room * bytes_of(parameters.type());
  }
  int const arrays = parameter_rules(parameters.table(), settings.optimizer).state_arrays();
  backend.state_bytes =
      static_cast<std::size_t>(arrays) * array + (settings.average_decay > 0 ? 2 * arena : 0);
  std::size_t const least = arena * static_cast<std::size_t>(1 + settings.workers) + backend.state_bytes;
  if (settings.max_bytes > 0 && least > settings.max_bytes)
    throw memory_error(
        {.what = "the parameters, their gradients and the optimizer's state need more memory than allowed",
         .where = "training_settings::max_bytes",
         .expected = {"at most ", settings.max_bytes, " bytes"},
         .got = {least, " bytes"}});
  return backend;
}

training_state::training_state(graph network, backend_handle backend, training_settings how,
                               std::shared_ptr<communicator> ranks, std::unique_ptr<strategy> how_to_exchange)
    : net(std::move(network)),
      divisor(net),
      settings(std::move(how)),
      world(std::move(ranks)),
      workers(std::make_shared<worker_group>(
          with_state_bytes(std::move(backend), settings, *world, *how_to_exchange), settings,
          world->settings().deadline + exchange_grace)),
      exchange_strategy(std::move(how_to_exchange)),
      averaged(settings.average_decay > 0 ? std::optional(workers->backend().twin()) : std::nullopt),
      inference(std::make_unique<predictor>(averaged ? *averaged : workers->backend(), settings)) {
  exchange_strategy->set_workers(workers->size());
}

parameter_set& training_state::parameters() {
  finish_late();
  return *workers->backend().parameters;
}

parameter_update& training_state::update() {
  if (!stored_update)
    stored_update =
        std::make_shared<parameter_update>(parameters(), settings.optimizer, settings.average_decay,
                                           exchange_strategy->shard(parameters(), world->rank()));
  stored_update->scale_rates(rate_factor());
  return *stored_update;
}

void training_state::gather_parameters() {
  parameter_set& all = parameters();
  for (int p = 0; p < static_cast<int>(all.table().size()); ++p) {
    if (all.is_whole(p)) continue;
    parameter const& divided = all.table()[static_cast<std::size_t>(p)];
    exchange_strategy->shard_ranks()->collect(all, {divided.offset, divided.room}, all.master(), true);
    all.mark_whole(p);
  }
}

void training_state::restart_average() {
  if (stored_update) stored_update->restart_average();
}

backend_handle const& training_state::inference_backend() {
  if (!averaged) return workers->backend();
  std::lock_guard const one_at_a_time(averaging);
  parameter_set const& all = parameters();
  if (averaged_version == all.version()) return *averaged;
  std::size_t const width = bytes_of(all.type());
  buffer const dense(static_cast<std::size_t>(all.elements()) * width);
  all.read_all(all.master(), dense.data());
  std::byte const* const average = stored_update ? stored_update->average() : nullptr;
  for (int p = 0; average && p < static_cast<int>(all.table().size()); ++p)
    if (parameter const& tensor = all.table()[static_cast<std::size_t>(p)]; tensor.trains())
      all.read(p, average, dense.data() + static_cast<std::size_t>(tensor.first) * width);
  parameter_set& to = *averaged->parameters;
  to.write_all(dense.data(), to.master());
  to.mark_changed();
  averaged_version = all.version();
  return *averaged;
}

void training_state::finish_late() {
  run_workers(nullptr, [&] { workers->finish_late(); });
}

void training_state::rescale(batch_view& data) {
  rescaled->clear();
  data.inputs = rescaled->of(data.inputs, preparation.rescaling.inputs);
  data.targets = rescaled->of(data.targets, preparation.rescaling.targets);
}

}  // namespace cohort::detail
