// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/named_layers.hpp>
#include <cohort/trainer/training.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohort {

inline std::vector<predictions> training::outputs_of(std::vector<std::string> const& layers,
                                                     std::span<tensor_view const> inputs) const {
  graph_view const net = net_;
  std::vector<int> const ids = named_layers(net, layers);
  return predictor_->predict(ids, layers.empty() ? net.outputs().size() : ids.size(), inputs);
}

inline feature_set training::features(std::vector<std::string> const& layers, dataset const& data,
                                      int batch) {
  if (batch < 1)
    throw setting_error({.what = "a batch needs at least one example", .where = "features", .got = {batch}});
  graph_view const net = net_;
  std::vector<int> const ids = layers.empty() ? net.outputs() : named_layers(net, layers);
  check_inputs(data);
  auto const batches = std::make_shared<loader>(
      data, loader_settings{.batch = batch, .shuffle = false, .deadline = settings_.deadline});
  feature_set made(data.describe(), net, ids);
  batches->start(0);
  while (cohort::batch const* const next = batches->next()) {
    unless_late(batches, [&] {
      workers_->infer(*next, ids, [&](std::int64_t, context const& done) {
        for (std::size_t which = 0; which < ids.size(); ++which)
          made.add(which, done.output(static_cast<int>(which)));
      });
    });
    made.add(*next);
  }
  return made;
}

}  // namespace cohort
