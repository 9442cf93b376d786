// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/config.hpp>
#include <cohort/graph/named_layers.hpp>
#include <cohort/plan/table.hpp>
#include <cohort/trainer/training.hpp>
#include <cstring>
#include <string_view>

namespace cohort {

COHORT_CORE_INLINE training::training(graph net, detail::backend_handle port, training_settings settings,
                                      std::shared_ptr<communicator> world, std::unique_ptr<strategy> agree)
    : net_(std::move(net)),
      settings_(std::move(settings)),
      world_(std::move(world)),
      workers_(std::make_shared<detail::worker_group>(std::move(port), settings_,
                                                      world_->settings().deadline + patience)),
      strategy_(std::move(agree)),
      predictor_(std::make_unique<detail::predictor>(workers_->port(), settings_)) {
  strategy_->set_workers(workers_->size());
}

COHORT_CORE_INLINE void training::request(votes const& wanted) {
  if (wanted.stop) wishes_->stop.store(true);
  if (wanted.save) wishes_->save.store(true);
}

COHORT_CORE_INLINE void training::evaluate(dataset const& data, std::initializer_list<loss_report> reports,
                                           evaluation_settings const& how) {
  evaluate(data, std::span<loss_report const>(reports.begin(), reports.size()), how);
}

COHORT_CORE_INLINE predictions training::predict(std::span<tensor_view const> inputs) const {
  settle();
  return std::move(predictor_->predict({}, 1, inputs)[0]);
}

COHORT_CORE_INLINE std::vector<predictions> training::outputs_of(std::vector<std::string> const& layers,
                                                                 tensor_view input) const {
  return outputs_of(layers, std::span<tensor_view const>(&input, 1));
}

COHORT_CORE_INLINE std::string training::plan_table(int batch, int accumulate) {
  return table(*workers_->plan_for(
      {.examples = workers_->piece_of(batch, accumulate), .accumulates = accumulate > 1}));
}

COHORT_CORE_INLINE std::vector<plan_row> training::profile_rows(int batch, int accumulate) {
  return workers_->profile_rows(batch, accumulate);
}

COHORT_CORE_INLINE double training::since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

COHORT_CORE_INLINE void training::settle() const {
  unless_late(nullptr, [&] { workers_->settle(); });
}

COHORT_CORE_INLINE parameter_update& training::update() {
  if (!update_) update_ = std::make_shared<parameter_update>(parameters(), settings_.optimizer());
  update_->scale_rates(settings_.plateau ? plateau_.factor : 1);
  return *update_;
}

COHORT_CORE_INLINE std::vector<keyed_prediction> training::predict(std::span<std::string const> keys,
                                                                   tensor_view input) const {
  predictions const made = predict(input);
  if (static_cast<std::size_t>(made.count()) != keys.size())
    throw shape_error({.what = "there is not one key for each example",
                       .expected = {made.count(), " keys"},
                       .got = {keys.size()}});
  std::vector<keyed_prediction> keyed;
  for (int i = 0; i < made.count(); ++i)
    keyed.push_back({keys[static_cast<std::size_t>(i)], {made[i].begin(), made[i].end()}});
  return keyed;
}

COHORT_CORE_INLINE std::vector<predictions> training::outputs_of(std::vector<std::string> const& layers,
                                                                 std::span<tensor_view const> inputs) const {
  settle();
  graph_view const net = net_;
  std::vector<int> const ids = named_layers(net, layers);
  return predictor_->predict(ids, layers.empty() ? net.outputs().size() : ids.size(), inputs);
}

COHORT_CORE_INLINE std::string training::checksum() const {
  std::vector<std::byte> dense(static_cast<std::size_t>(parameters().elements())
                               * bytes_of(parameters().type()));
  parameters().read_all(parameters().master(), dense.data());
  std::uint64_t const hash = fnv1a({reinterpret_cast<char const*>(dense.data()), dense.size()});
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[hash >> shift & 15];
  return text;
}

}  // namespace cohort
