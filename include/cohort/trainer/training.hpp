// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cohort/data/loader.hpp>
#include <cohort/evaluation/classification.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/trainer/listener.hpp>
#include <cohort/trainer/predictor.hpp>
#include <cohort/trainer/settings.hpp>
#include <cohort/trainer/worker_group.hpp>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace cohort {

/// How a training is saved and loaded: <cohort/trainer/model_io.hpp> has it.
template <class Training>
struct model_io;

/// How to evaluate: `batch` examples at a time, `top` of top-N accuracy (1: none).
struct evaluation_settings {
  int batch = 256;
  int top = 1;
};

/// A network in training, on a backend that is known at run time only. Made by `trainer<B>(…)`.
///
/// Order     one thread at a time; but predict may be called by many while nobody trains or loads.
class training {
 public:
  training(graph net, detail::backend_port port, training_settings settings, std::unique_ptr<strategy> agree)
      : net_(std::move(net)),
        settings_(std::move(settings)),
        strategy_(std::move(agree)),
        workers_(std::make_shared<detail::worker_group>(std::move(port), settings_,
                                                        count_state_arrays(settings_))),
        predictor_(std::make_unique<detail::predictor>(workers_->port(), settings_)) {}

  graph_view network() const { return net_; }
  training_settings const& settings() const { return settings_; }
  std::string const& backend() const { return workers_->port().name; }
  parameter_set& parameters() { return *workers_->port().parameters; }
  parameter_set const& parameters() const { return *workers_->port().parameters; }
  /// Updates made so far, and epochs ended.
  std::int64_t step() const { return step_; }
  std::int64_t epoch() const { return epoch_; }

  /// Trains on `data` for some epochs, going on where an earlier fit or load ended.
  ///
  /// After     every example was used once in each epoch; an epoch's last batch may be smaller.
  /// Errors    setting_error; shape_error where data and network do not fit; numeric_error naming step and layer;
  ///           memory_error; whatever the data set throws. Parameters are those of the last whole step.
  fit_report fit(dataset const& data, fit_settings const& how = {});

  /// Classifies a data set that has one class index an example.
  classification_report evaluate(dataset const& data, evaluation_settings const& how = {});

  /// The network's first output (for a softmax: probabilities) for any number of examples. Thread-safe.
  predictions predict(tensor_view input) const { return predict(std::span<tensor_view const>(&input, 1)); }
  predictions predict(std::span<tensor_view const> inputs) const { return predictor_->predict(inputs); }
  /// Keys and inputs in, key → output out, in the order given.
  std::vector<keyed_prediction> predict(std::span<std::string const> keys, tensor_view input) const;

  /// Writes the parameters, the graph and, on request, the updater's state as safetensors: to a path, or to a sink
  /// (a std::ostream, a file_writer). Include <cohort/trainer/model_io.hpp>: who does not save need not compile it.
  ///
  /// After     a file is replaced as a whole: an old one survives a failure. Saved in the middle of an epoch, a run
  ///           goes on at that epoch's beginning.
  template <class Target, class Self = training>
  void save(Target&& to, bool updater_state = false) {
    static_assert(
        requires { sizeof(model_io<Self>); },
        "cohort: to save models, include <cohort/trainer/model_io.hpp>");
    model_io<Self>::save(*this, to, updater_state);
  }
  /// Reads what save wrote (a path, or a model_file), by any backend; step, epoch and updater state too where the file
  /// has them. Include <cohort/trainer/model_io.hpp>.
  ///
  /// Errors    data_error, naming what differs; then nothing has changed.
  template <class Source, class Self = training>
  void load(Source const& from) {
    static_assert(
        requires { sizeof(model_io<Self>); },
        "cohort: to load models, include <cohort/trainer/model_io.hpp>");
    model_io<Self>::load(*this, from);
  }

  /// A number of all parameters' bits, in canonical order, as 16 hexadecimal digits.
  std::string checksum() const;

  /// The plan of training for batches of that many examples a rank, as text.
  std::string plan_table(int batch = 32) {
    return table(*workers_->plan_for(static_cast<int>(part_of({0, batch}, 0, workers_->size()).count), true));
  }
  /// Takes the time of every kernel from now on; the rows are sums over the workers.
  void profile(bool on) { workers_->profile(on); }
  std::vector<plan_row> profile_rows(int batch = 32) { return workers_->profile_rows(batch); }

 private:
  friend struct model_io<training>;
  using clock = std::chrono::steady_clock;

  static int count_state_arrays(training_settings const& s) {
    return std::max(s.updater.state_arrays(),
                    s.optimizer().updater_of(parameter_role::biases).state_arrays());
  }
  static double since(clock::time_point start) {
    return std::chrono::duration<double>(clock::now() - start).count();
  }

  void check_fits(dataset const& data) const;
  /// Runs f. A worker that misses its deadline may still use all that it works on: that then stays for ever.
  template <class F>
  auto unless_late(std::shared_ptr<loader> const& batches, F f) {
    try {
      return f();
    } catch (deadline_error const&) {
      new std::tuple(workers_, strategy_, update_, batches);
      throw;
    }
  }
  void say_memory(plan const& made, int batch);
  parameter_update& update() {
    if (!update_) update_ = std::make_shared<parameter_update>(parameters(), settings_.optimizer());
    return *update_;
  }

  graph net_;
  training_settings settings_;
  std::shared_ptr<strategy> strategy_;
  std::shared_ptr<detail::worker_group> workers_;
  std::unique_ptr<detail::predictor> predictor_;
  std::shared_ptr<parameter_update> update_;
  std::int64_t step_ = 0;
  std::int64_t epoch_ = 0;
  int said_memory_of_ = 0;
};

inline fit_report training::fit(dataset const& data, fit_settings const& how) {
  if (how.batch < 1)
    throw setting_error({.what = "a batch needs at least one example", .where = "fit", .got = {how.batch}});
  if (how.epochs < 0)
    throw setting_error({.what = "the number of epochs is negative", .where = "fit", .got = {how.epochs}});
  check_fits(data);
  say_memory(*workers_->plan_for(static_cast<int>(part_of({0, how.batch}, 0, workers_->size()).count), true),
             how.batch);
  auto const source = std::make_shared<loader>(data, loader_settings{.batch = how.batch,
                                                                     .seed = settings_.seed,
                                                                     .shuffle = how.shuffle,
                                                                     .prefetch = how.prefetch,
                                                                     .deadline = settings_.deadline});
  loader& batches = *source;
  fit_report all;
  auto const start = clock::now();
  for (int e = 0; e < how.epochs; ++e) {
    auto const epoch_start = clock::now();
    epoch_report of_epoch{.epoch = epoch_, .epochs = how.epochs};
    batches.start(epoch_);
    for (std::int64_t in_epoch = 0;; ++in_epoch) {
      auto const waiting = clock::now();
      batch const* const next = batches.next();
      double const waited = since(waiting);
      if (!next) break;
      if (next->count == 0) continue;
      auto const working = clock::now();
      double const loss = unless_late(source, [&] {
        return workers_->step(*next, {step_, epoch_, next->count}, *strategy_, update());
      });
      of_epoch.examples += next->count;
      of_epoch.loss += loss;
      of_epoch.wait_seconds += waited;
      step_report const done{.step = step_,
                             .epoch = epoch_,
                             .step_in_epoch = in_epoch,
                             .steps_in_epoch = batches.batches(),
                             .examples = next->count,
                             .loss = loss / next->count,
                             .step_seconds = since(working),
                             .wait_seconds = waited};
      ++step_;
      ++all.steps;
      for (listener* one : how.listeners) one->on_step(*this, done);
    }
    strategy_->end_of_epoch(epoch_, parameters());
    of_epoch.loss /= static_cast<double>(std::max<std::int64_t>(of_epoch.examples, 1));
    of_epoch.seconds = since(epoch_start);
    all.examples += of_epoch.examples;
    all.wait_seconds += of_epoch.wait_seconds;
    all.loss = of_epoch.loss;
    ++epoch_;
    for (listener* one : how.listeners) one->on_epoch(*this, of_epoch);
  }
  all.seconds = since(start);
  return all;
}

inline classification_report training::evaluate(dataset const& data, evaluation_settings const& how) {
  if (how.batch < 1)
    throw setting_error(
        {.what = "a batch needs at least one example", .where = "evaluate", .got = {how.batch}});
  check_fits(data);
  graph_view const net = net_;
  int const loss = net.with_role(layer_role::loss)[0];
  std::vector<int> const outputs = net.outputs();
  int const which = static_cast<int>(std::find(outputs.begin(), outputs.end(), loss) - outputs.begin());
  classification_report report(net[loss].output[0],
                               {.top = how.top, .labels = data.describe().targets[0].label_names});
  auto const batches = std::make_shared<loader>(
      data, loader_settings{.batch = how.batch, .shuffle = false, .deadline = settings_.deadline});
  batches->start(0);
  while (batch const* const next = batches->next()) {
    auto const labels = next->target().as<std::int32_t>();
    unless_late(batches, [&] {
      workers_->infer(*next, [&](std::int64_t first, context const& done) {
        tensor_view const scores = done.output(which);
        report.add(scores,
                   labels.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(scores.dims[0])),
                   next->first_index + first);
      });
    });
  }
  return report;
}

inline std::vector<keyed_prediction> training::predict(std::span<std::string const> keys,
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

inline void training::check_fits(dataset const& data) const {
  graph_view const net = net_;
  auto const inputs = net.with_role(layer_role::input), losses = net.with_role(layer_role::loss);
  data_description const& has = data.describe();
  if (has.inputs.size() != inputs.size())
    throw shape_error({.what = "the data set has another number of inputs than the network",
                       .expected = {inputs.size()},
                       .got = {has.inputs.size()}});
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!(has.inputs[i].example == net[inputs[i]].output))
      throw shape_error({.what = "the data set's examples have another shape than the network's input",
                         .where = net.name(inputs[i]),
                         .expected = to_string(net[inputs[i]].output),
                         .got = to_string(has.inputs[i].example)});
  if (losses.empty())
    throw graph_error({.what = "this network can be neither trained nor evaluated: it has no loss layer",
                       .expected = "a loss, for example `| softmax_cross_entropy{}`",
                       .got = "outputs only"});
  if (has.targets.size() != losses.size())
    throw shape_error({.what = "the data set has another number of targets than the network has losses",
                       .expected = {losses.size()},
                       .got = {has.targets.size()}});
  for (std::size_t t = 0; t < losses.size(); ++t)
    if (has.targets[t].type != element_type::i32 || has.targets[t].example.elements() != 1)
      throw shape_error({.what = "a loss needs one class index an example",
                         .where = net.name(losses[t]),
                         .expected = "i32, one an example",
                         .got = {name_of(has.targets[t].type), ", ", to_string(has.targets[t].example)}});
  for (std::size_t t = 0; t < losses.size(); ++t)
    if (has.targets[t].classes > net[losses[t]].output[0])
      throw shape_error({.what = "the data set has more classes than the network",
                         .where = net.name(losses[t]),
                         .expected = {"at most ", net[losses[t]].output[0]},
                         .got = {has.targets[t].classes}});
}

/// Says before the first step what a run of this batch size needs.
inline void training::say_memory(plan const& made, int batch) {
  if (!settings_.log || said_memory_of_ == batch) return;
  said_memory_of_ = batch;
  plan_memory const m = made.memory();
  auto const workers = static_cast<std::size_t>(workers_->size());
  auto const text = [](std::size_t bytes) { return detail::in_bytes(static_cast<double>(bytes)); };
  settings_.log(detail::text_of(
      {"memory: parameters ", text(m.parameters), ", updater state ", text(update().bytes()),
       ", working copies ", text(m.working_copies), "; each of ", workers, " workers: gradients ",
       text(m.gradients), ", activations ", text(m.activations), "; together ",
       text(m.parameters + update().bytes() + m.working_copies + workers * (m.gradients + m.activations))}));
}

inline std::string training::checksum() const {
  std::vector<std::byte> dense(static_cast<std::size_t>(parameters().elements())
                               * bytes_of(parameters().type()));
  parameters().read_all(parameters().master(), dense.data());
  std::uint64_t const hash = fnv1a({reinterpret_cast<char const*>(dense.data()), dense.size()});
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[hash >> shift & 15];
  return text;
}

}  // namespace cohort
