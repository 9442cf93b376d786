// SPDX-License-Identifier: Apache-2.0
// Members of training that prepare the data.
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/communicator/require_same.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/data/data_table.hpp>
#include <cohort/data/detail/batch_writer.hpp>
#include <cohort/data/detail/channel_statistics.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/graph/named_layers.hpp>
#include <cohort/training/detail/activity_scope.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/training.hpp>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

void require_no_fit(training_state const& run) {
  if (run.active_fit)
    throw setting_error({.what = "the normalisation cannot change during fit",
                         .where = "normalise",
                         .expected = "a call before fit",
                         .got = "a call in a listener"});
}

/// Returns the description of a data set in which two kinds of parts are marked as not rescaled: inputs that
/// only embeddings read (indices), and targets of losses that accept only an interval (probabilities).
data_description parts_for(graph_view net, data_description what) {
  std::vector<int> const inputs = net.with_role(layer_role::input);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (net.is_indices(inputs[i])) what.inputs[i].features = feature_axis::none;
  std::vector<int> const losses = net.with_role(layer_role::loss);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    target_spec const accepted = net.target(losses[i]);
    if (accepted.lowest > -target_spec::unbounded || accepted.highest < target_spec::unbounded)
      what.targets[i].features = feature_axis::none;
  }
  return what;
}

/// The parts and how they are rescaled, as text. If the texts are equal, the ranks' sums can be added.
std::string text_of_parts(data_description const& what, normalisation_settings const& how) {
  std::string text;
  auto const add = [&](std::vector<tensor_description> const& parts, rescaling rescaled) {
    constexpr char const* names[]{"none", "standardise", "min_max"};
    for (tensor_description const& one : parts)
      text += text_of({one.name, ' ', to_string(one.example), ' ', names[static_cast<int>(rescaled)], ' '});
  };
  add(what.inputs, how.inputs);
  add(what.targets, how.targets);
  return text;
}

}  // namespace cohort::detail

namespace cohort {

void training::normalise(dataset const& data, normalisation_settings const& how, cohort::sharding sharding,
                         int readers) {
  detail::training_state& state = *state_;
  communicator& world = *state.world;
  detail::require_no_fit(state);
  detail::check_dataset(state, data, "normalise");
  data_description const parts = detail::parts_for(state.net, data.describe());
  detail::channel_statistics mine(parts, how);
  shared_fact const same[]{{"parts to normalise", detail::text_of_parts(parts, how)}};
  detail::require_same(world, "normalise", same);
  detail::activity_scope const evaluating(state, rank_progress::activity::evaluating);
  detail::check_sharding(world, data, sharding, state.position.epoch, "normalise");
  loader batches(data, {.batch = 256,
                        .rank = world.rank(),
                        .ranks = world.size(),
                        .shuffle = false,
                        .readers = readers,
                        .deadline = state.settings.deadline,
                        .local_sizes = detail::local_sizes(world, data, sharding)});
  all_or_none(world, "normalise", "cannot fit the normalisation", [&] {
    batches.start(0);
    while (batch const* const next = batches.next()) mine.add(*next);
  });
  std::vector<double> const sums = mine.sums();
  gathered const all = world.allgatherv(std::as_bytes(std::span(sums)));
  detail::channel_statistics whole(parts, how);
  for (int rank = 0; rank < world.size(); ++rank) {
    std::vector<double> of_rank(sums.size());
    if (!sums.empty()) std::memcpy(of_rank.data(), all.of(rank).data(), all.of(rank).size());
    whole.merge(of_rank);
  }
  cohort::normalisation fitted = whole.result();
  detail::check_normalisation(state.net, fitted);
  state.preparation.rescaling = std::move(fitted);
}

void training::normalise(cohort::normalisation with) {
  detail::require_no_fit(*state_);
  detail::check_normalisation(state_->net, with);
  state_->preparation.rescaling = std::move(with);
}

cohort::normalisation const& training::normalisation() const& { return state_->preparation.rescaling; }

void training::keep(table_encoder const& encoder) { state_->preparation.encoder = encoder; }

table_encoder const& training::encoder() const& {
  if (!state_->preparation.encoder)
    throw setting_error({.what = "this run has no encoder of tables",
                         .expected = "keep(encoder) before training, or a model file that contains one",
                         .got = "neither"});
  return *state_->preparation.encoder;
}

std::vector<std::string> training::class_names(std::string_view output) const {
  graph_view const net = state_->net;
  std::string const wanted(output);
  int const layer = output.empty() ? net.outputs()[0] : named_layers(net, {&wanted, 1})[0];
  return state_->preparation.classes_of(net, layer);
}

predictions training::predict(data_table const& rows) const {
  detail::data_preparation const& steps = state_->preparation;
  dataset const unscaled(steps.inputs(rows));
  detail::check_inputs(*state_, unscaled, "predict");
  dataset const examples = normalised(unscaled, {steps.rescaling.inputs, {}});
  batch all;
  all.count = rows.rows();
  detail::resize_batch(all, examples.describe(), all.count);
  all.indices.resize(static_cast<std::size_t>(all.count));
  std::iota(all.indices.begin(), all.indices.end(), 0);
  example_view scratch;  // unused: the rows are in memory
  detail::batch_writer(examples.describe()).gather(examples.model(), all.indices, scratch, all);
  std::vector<tensor_view> inputs;
  for (named_tensor const& input : all.inputs) inputs.push_back(input.view(all.count));
  return std::move(state_->predict_rescaled({}, 1, inputs)[0]);
}

}  // namespace cohort
