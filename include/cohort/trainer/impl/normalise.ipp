// SPDX-License-Identifier: Apache-2.0
#pragma once
// Members of training that prepare its data.
#include <algorithm>
#include <cohort/communicator/detail/shared_outcome.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/data/data_table.hpp>
#include <cohort/data/detail/channel_statistics.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/trainer/detail/activity_scope.hpp>
#include <cohort/trainer/detail/run_checks.hpp>
#include <cohort/trainer/detail/training_state.hpp>
#include <cohort/trainer/training.hpp>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace cohort {

COHORT_CORE_INLINE void training::normalise(dataset const& data, normalisation_settings const& how,
                                            cohort::sharding sharding) {
  detail::training_state& state = *state_;
  communicator& world = *state.world;
  detail::check_dataset(state.net, state.element(), data);
  detail::channel_statistics mine(data.describe(), how);
  detail::activity_scope const evaluating(state, rank_progress::activity::evaluating);
  detail::check_sharding(world, data, sharding, state.position.epoch, "normalise");
  loader batches(data, {.batch = 256,
                        .rank = world.rank(),
                        .ranks = world.size(),
                        .shuffle = false,
                        .deadline = state.settings.deadline,
                        .local_sizes = detail::local_sizes(world, data, sharding)});
  detail::all_or_none(world, "normalise", "cannot fit the normalisation", [&] {
    batches.start(0);
    while (batch const* const next = batches.next()) mine.add(*next);
  });
  std::vector<double> const sums = mine.sums();
  gathered const all = world.allgatherv(std::as_bytes(std::span(sums)));
  detail::channel_statistics whole(data.describe(), how);
  for (int rank = 0; rank < world.size(); ++rank) {
    std::vector<double> of_rank(sums.size());
    if (!sums.empty()) std::memcpy(of_rank.data(), all.of(rank).data(), all.of(rank).size());
    whole.merge(of_rank);
  }
  state.preparation.rescaling = whole.result();
}

COHORT_CORE_INLINE void training::normalise(cohort::normalisation with) {
  state_->preparation.rescaling = std::move(with);
}

COHORT_CORE_INLINE cohort::normalisation const& training::normalisation() const {
  return state_->preparation.rescaling;
}

COHORT_CORE_INLINE void training::keep(table_encoder const& encoder) {
  state_->preparation.encoder = encoder;
}

COHORT_CORE_INLINE table_encoder const& training::encoder() const {
  if (!state_->preparation.encoder)
    throw setting_error({.what = "this run has no encoder of tables",
                         .expected = "keep(encoder) before training, or a model file that contains one",
                         .got = "neither"});
  return *state_->preparation.encoder;
}

COHORT_CORE_INLINE predictions training::predict(data_table const& rows) const {
  arrays const encoded = encoder().examples(rows);
  std::vector<tensor_view> inputs;
  loader batches(encoded, {.batch = std::max(static_cast<int>(encoded.size()), 1), .shuffle = false});
  batches.start(0);
  batch const* const all = batches.next();
  for (std::size_t which = 0; all && which < all->inputs.size(); ++which) inputs.push_back(all->input(which));
  return predict(inputs);
}

}  // namespace cohort
