// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/hash.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/graph/graph_json.hpp>
#include <cohort/graph/named_layers.hpp>
#include <cohort/plan/plan_text.hpp>
#include <cohort/training/detail/fit_loop.hpp>
#include <cohort/training/detail/fit_memory.hpp>
#include <cohort/training/detail/named_parameters.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/step_runner.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/training.hpp>
#include <cstddef>
#include <utility>

namespace cohort::detail {

std::vector<predictions> training_state::predict(std::span<int const> layers, std::size_t outputs,
                                                 std::span<tensor_view const> inputs,
                                                 std::span<tensor_view const> masks) {
  check_inputs(net, inputs, masks);
  rescaled_parts copies;  // separate for each call, because other threads may predict concurrently
  return predict_rescaled(layers, outputs, copies.of(inputs, preparation.rescaling.inputs), masks);
}

std::vector<predictions> training_state::predict_rescaled(std::span<int const> layers, std::size_t outputs,
                                                          std::span<tensor_view const> inputs,
                                                          std::span<tensor_view const> masks) {
  finish_late();
  inference_backend();
  std::vector<predictions> made = inference->predict(layers, outputs, inputs, masks);
  if (preparation.rescaling.targets.empty()) return made;
  rescale_back(layers.empty() ? std::span<int const>(graph_view(net).outputs()) : layers, made);
  return made;
}

void training_state::rescale_back(std::span<int const> layers, std::vector<predictions>& made) const {
  std::vector<int> const losses = graph_view(net).with_role(layer_role::loss);
  for (std::size_t i = 0; i < made.size(); ++i) {
    auto const loss = std::find(losses.begin(), losses.end(), layers[i]) - losses.begin();
    if (loss == std::ssize(losses)) continue;
    shape const dims = made[i].example.batched(made[i].count());
    detail::rescale(mutable_tensor_view(made[i].values.data(), dims),
                    target_maps(static_cast<std::size_t>(loss)), direction::back);
  }
}

}  // namespace cohort::detail

namespace cohort {

training::training(graph net, detail::backend_handle backend, training_settings settings,
                   std::shared_ptr<communicator> world, std::unique_ptr<strategy> exchange_strategy)
    : state_(std::make_unique<detail::training_state>(std::move(net), std::move(backend), std::move(settings),
                                                      std::move(world), std::move(exchange_strategy))) {}

training::training(training&&) noexcept = default;
training& training::operator=(training&&) noexcept = default;
training::~training() = default;

graph_view training::network() const& { return state_->net; }

training_settings const& training::settings() const& { return state_->settings; }

std::string const& training::backend() const& { return state_->workers->backend().name; }

parameter_set& training::parameters() & { return state_->parameters(); }

parameter_set const& training::parameters() const& { return state_->parameters(); }

void training::gather_parameters() { state_->gather_parameters(); }

std::vector<double> training::last_gradient(std::string_view name) const {
  parameter_set const& all = parameters();
  parameter_range const which = detail::parameters_named(all, name, "training::last_gradient");
  if (!state_->workers->has_gradients())
    throw setting_error({.what = "there is no gradient before the first step",
                         .where = "training::last_gradient",
                         .expected = "a call after a step, for example in listener::on_step"});
  if (state_->exchange_strategy->shard(all, 0))
    throw setting_error({.what = "this rank has only a part of the gradient",
                         .where = "training::last_gradient",
                         .expected = "a strategy without shards",
                         .got = state_->exchange_strategy->describe()});
  std::vector<double> sum;
  detail::with_real(all.type(), [&]<class T>(T*) {
    std::vector<T> dense;
    for (int p = which.first; p < which.last; ++p) {
      dense.resize(static_cast<std::size_t>(all.table()[static_cast<std::size_t>(p)].spec.dims.elements()));
      std::size_t const begin = sum.size();
      for (std::byte const* part : state_->workers->gradients().all()) {
        all.read(p, part, reinterpret_cast<std::byte*>(dense.data()));
        if (sum.size() == begin)
          sum.insert(sum.end(), dense.begin(), dense.end());
        else
          for (std::size_t i = 0; i < dense.size(); ++i) sum[begin + i] += static_cast<double>(dense[i]);
      }
    }
  });
  return sum;
}

communicator& training::world() const { return *state_->world; }

std::vector<measurement> training::exchange_report() const { return state_->exchange_strategy->report(); }

exchange_times training::last_exchange() const { return state_->exchange_strategy->last_exchange(); }

std::int64_t training::step() const { return state_->position.step; }

std::int64_t training::epoch() const { return state_->position.epoch; }

training_position training::position() const { return state_->position; }

fit_report training::fit(dataset const& data, fit_settings const& how) {
  return detail::fit_loop(*this, *state_, data, how).run();
}

step_report training::train_on(batch_view const& data, int accumulate) {
  return detail::step_runner(*state_).train_on(data, accumulate);
}

epoch_report training::end_epoch() { return detail::step_runner(*state_).end_epoch(); }

bool training::has_common_steps() const {
  return !state_->active_fit || state_->active_fit->has_common_steps();
}

void training::request(votes const& wanted) { state_->voting.request(wanted); }

predictions training::predict(std::span<tensor_view const> inputs) const {
  return std::move(state_->predict({}, 1, inputs)[0]);
}

predictions training::predict(batch_view const& data) const {
  return std::move(state_->predict({}, 1, data.inputs, data.masks)[0]);
}

void training::check_keys(predictions const& made, std::size_t keys) {
  if (static_cast<std::size_t>(made.count()) != keys)
    throw shape_error({.what = "the number of keys differs from the number of examples",
                       .expected = {made.count(), " keys"},
                       .got = {keys}});
}

std::vector<predictions> training::outputs_of(std::vector<std::string> const& layers,
                                              tensor_view input) const {
  return outputs_of(layers, std::span<tensor_view const>(&input, 1));
}

std::vector<predictions> training::outputs_of(std::vector<std::string> const& layers,
                                              std::span<tensor_view const> inputs) const {
  graph_view const net = state_->net;
  std::vector<int> const ids = named_layers(net, layers);
  return state_->predict(ids, layers.empty() ? net.outputs().size() : ids.size(), inputs);
}

std::vector<predictions> training::outputs_of(std::vector<std::string> const& layers,
                                              batch_view const& data) const {
  graph_view const net = state_->net;
  std::vector<int> const ids = named_layers(net, layers);
  return state_->predict(ids, layers.empty() ? net.outputs().size() : ids.size(), data.inputs, data.masks);
}

std::string training::checksum() const {
  std::vector<std::byte> dense(static_cast<std::size_t>(parameters().elements())
                               * bytes_of(parameters().type()));
  parameters().read_all(parameters().master(), dense.data());
  return detail::hash_text(detail::fnv1a({reinterpret_cast<char const*>(dense.data()), dense.size()}));
}

std::string training::plan_table(int batch, int accumulate) {
  return text_of(*state_->workers->plan_for(
      {.examples = state_->workers->micro_batch_size(batch, accumulate), .accumulates = accumulate > 1}));
}

run_memory training::memory_of(dataset const& data, fit_settings const& how) {
  return detail::memory_of_fit(*state_, data, how);
}

void training::profile(bool on) { state_->workers->profile(on); }

std::vector<plan_row> training::profile_rows(int batch, int accumulate) {
  return state_->workers->profile_rows(batch, accumulate);
}

}  // namespace cohort
