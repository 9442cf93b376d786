// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/loader.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/graph/named_layers.hpp>
#include <cohort/prediction/features.hpp>
#include <cohort/training/detail/predictor.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <memory>
#include <utility>

namespace cohort {

void feature_set::get(std::int64_t i, example_view& out) const {
  auto const at = static_cast<std::size_t>(i);
  std::size_t part = 0;
  for (predictions const& one : outputs_)
    out.point(part++, one.values.data() + at * static_cast<std::size_t>(one.example.elements()));
  for (other_tensor const& one : others_) out.point(part++, one.rows.data() + at * one.example_bytes);
  if (description_.weighted) out.weight = weights_[at];
  if (description_.keyed) out.key = keys_[at];
}

predictions const& feature_set::of(std::string_view layer) const& {
  std::string known;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (description_.inputs[i].name == layer) return outputs_[i];
    known += (known.empty() ? "" : ", ") + description_.inputs[i].name;
  }
  throw setting_error(
      {.what = "no features of this layer", .expected = {"one of ", known}, .got = std::string(layer)});
}

feature_set::feature_set(data_description from, graph_view net, std::span<int const> layers)
    : description_(std::move(from)) {
  description_.inputs.clear();
  for (int id : layers) {
    description_.inputs.push_back(
        {.name = net.name(id),
         .example = net[id].output,
         .mask = description_.masks.empty() ? -1 : detail::mask_of_batch(net, net[id].mask)});
    outputs_.push_back({.example = net[id].output, .values = {}});
  }
  for (auto* const list : {&description_.targets, &description_.masks})
    for (tensor_description& part : *list) {  // type and scale as in a batch, after conversion
      part.stored = part.type;
      part.scale = 1;
      part.offset = 0;
      part.channels.clear();
      others_.push_back({static_cast<std::size_t>(part.example.elements()) * bytes_of(part.type), {}});
    }
}

void feature_set::add(batch const& from) {
  std::size_t which = 0;
  for (auto* const list : {&from.targets, &from.masks})
    for (named_tensor const& part : *list) {
      std::byte const* const rows = part.memory.data();
      other_tensor& to = others_[which++];
      to.rows.insert(to.rows.end(), rows, rows + static_cast<std::size_t>(from.count) * to.example_bytes);
    }
  weights_.insert(weights_.end(), from.weights.begin(), from.weights.end());
  keys_.insert(keys_.end(), from.keys.begin(), from.keys.end());
  size_ += from.count;
}

feature_set training::features(std::vector<std::string> const& layers, dataset const& data, int batch) {
  if (batch < 1)
    throw setting_error({.what = "the batch size is not positive",
                         .where = "features",
                         .expected = "at least 1",
                         .got = {batch}});
  graph_view const net = network();
  std::vector<int> const ids = layers.empty() ? net.outputs() : named_layers(net, layers);
  detail::check_inputs(*state_, data, "features");
  auto const batches = std::make_shared<loader>(
      normalised(data, {state_->preparation.rescaling.inputs, {}}),
      loader_settings{.batch = batch, .shuffle = false, .deadline = state_->settings.deadline});
  feature_set made(data.describe(), net, ids);
  batches->start(0);
  while (cohort::batch const* const next = batches->next()) {
    state_->run_workers(batches, [&] {
      state_->workers->infer(*next, ids, [&](std::int64_t, plan_context const& done) {
        for (std::size_t which = 0; which < ids.size(); ++which)
          made.add(which, done.output(static_cast<int>(which)));
      });
    });
    made.add(*next);
  }
  return made;
}

}  // namespace cohort
