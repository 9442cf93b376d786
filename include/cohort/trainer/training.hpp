// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <cohort/checkpoint/training_position.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/evaluation/classification.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/io/byte_sink.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/trainer/detail/worker_group.hpp>
#include <cohort/trainer/listener.hpp>
#include <cohort/trainer/predictor.hpp>
#include <cohort/trainer/run_memory.hpp>
#include <cohort/trainer/settings.hpp>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace cohort {

class feature_set;
class model_content;
class model_file;
struct transfer_report;

/// How to evaluate: `batch` examples at a time on each rank, `top` of top-N accuracy (1: none); `sharding` as in fit_settings.
struct evaluation_settings {
  int batch = 256;
  int top = 1;
  cohort::sharding sharding = cohort::sharding::global;
};

/// Whose outputs an evaluator looks at: a loss layer's, beside the targets of that loss.
struct loss_report {
  std::string loss;
  evaluator* report;
};

/// A network in training, on a backend that is known at run time only. Made by `trainer<B>(…)`.
///
/// Order     one thread at a time; but predict, outputs_of and request may be called by many, the first two while nobody
///           trains or loads.
///           With several ranks fit, evaluate, save and what a checkpoint does are collective: all ranks call them alike.
class training {
 public:
  /// `world` must outlive it.
  training(graph net, detail::backend_handle port, training_settings settings,
           std::shared_ptr<communicator> world, std::unique_ptr<strategy> agree);

  graph_view network() const { return net_; }
  training_settings const& settings() const { return settings_; }
  std::string const& backend() const { return workers_->port().name; }
  /// With all steps taken; after another step, ask again.
  parameter_set& parameters() { return settle(), *workers_->port().parameters; }
  parameter_set const& parameters() const { return settle(), *workers_->port().parameters; }
  communicator& world() const { return *world_; }
  /// What the strategy has measured on this rank.
  std::vector<measurement> exchange_report() const { return strategy_->report(); }
  /// When the exchange that has ended last took place on this rank, where the strategy knows.
  exchange_times last_exchange() const { return strategy_->last_exchange(); }
  /// Updates made so far, epochs ended, and examples of the next epoch that all ranks together have used already.
  std::int64_t step() const { return position_.step; }
  std::int64_t epoch() const { return position_.epoch; }
  training_position const& position() const { return position_; }

  /// Trains on `data` for some epochs, going on where an earlier fit, load or checkpoint ended.
  ///
  /// After     every example was used once in each epoch; an epoch's last batch may be smaller. All ranks hold the same
  ///           parameters, if the strategy exchanges any.
  /// Errors    setting_error, also where ranks disagree on network, settings, batch, version or a sample of the data: before the
  ///           first step.
  ///           shape_error where data and network do not fit; numeric_error naming step, rank and layer; memory_error;
  ///           communicator_error; whatever the data set throws. Parameters are those of the last whole step.
  fit_report fit(dataset const& data, fit_settings const& how = {});

  /// Returns whether all ranks call their listeners' on_step in the same steps. False while fit runs over a stream that several
  /// ranks share, under a strategy whose ranks do not meet in every step: a rank does not call on_step after its part has
  /// ended. Collective calls in on_step (evaluate, save, checkpoints) are then refused; use on_epoch, or request and on_vote.
  bool has_common_steps() const { return has_common_steps_; }

  /// Asks for a stop or a checkpoint: listeners hear of it on all ranks when these agree next. Thread-safe.
  void request(votes const& wanted);

  /// Classifies a data set that has one class index an example. Each rank takes a part, or all of its own data set with
  /// sharding::local; all get the whole report.
  classification_report evaluate(dataset const& data, evaluation_settings const& how = {});
  /// Lets several reports see the outputs of the first loss's layer and its targets, in one pass, beside what they saw
  /// before: the same on every rank.
  ///
  /// Errors    what the data set throws, on the rank that reads it; data_error naming that rank on the others.
  void evaluate(dataset const& data, std::span<evaluator* const> reports,
                evaluation_settings const& how = {});
  /// The same where a network has several losses: training.evaluate(data, {{"digit", &digits}, {"even", &parity}}).
  ///
  /// Errors    setting_error for a loss that there is not.
  void evaluate(dataset const& data, std::initializer_list<loss_report> reports,
                evaluation_settings const& how = {});
  void evaluate(dataset const& data, std::span<loss_report const> reports,
                evaluation_settings const& how = {});

  /// The network's first output (for a softmax: probabilities) for any number of examples. Thread-safe.
  predictions predict(tensor_view input) const { return predict(std::span<tensor_view const>(&input, 1)); }
  predictions predict(std::span<tensor_view const> inputs) const;
  /// Keys and inputs in, key → output out, in the order given.
  std::vector<keyed_prediction> predict(std::span<std::string const> keys, tensor_view input) const;
  /// The outputs of the layers of those names, in that order, for any number of examples: of several heads, or of layers
  /// within; none: all outputs of the network. What they do not need is not computed. Thread-safe.
  ///
  /// Errors    setting_error for a name that there is not, with those that there are.
  std::vector<predictions> outputs_of(std::vector<std::string> const& layers, tensor_view input) const;
  std::vector<predictions> outputs_of(std::vector<std::string> const& layers,
                                      std::span<tensor_view const> inputs) const;
  /// The same for a data set, by all workers, as a feature_set: a data set with the other's targets, to train another network
  /// on.
  ///
  /// Order     not collective: each rank computes, with its own parameters, what it is given. Examples as in the data set.
  feature_set features(std::vector<std::string> const& layers, dataset const& data, int batch = 256);

  /// Writes the model file: the parameters, the graph and, with `updater_state`, the updaters' state, step and epoch.
  ///
  /// Order     collective: rank 0 writes the ranks' consensus.
  /// Errors    file_error, the same on every rank; a file of that name is then unchanged.
  void save(std::string const& path, bool updater_state = false);
  /// Writes the same bytes to a std::ostream, a file_writer or another byte sink.
  void save(byte_sink_ref to, bool updater_state = false);

  /// Reads what save wrote, on any backend: the parameters and, if the file has them, updater state, step and epoch.
  ///
  /// Errors    file_error; data_error, naming the difference between the file's network and this one. Nothing has changed
  ///           then.
  void load(std::string const& path);
  void load(model_file const& from);

  /// Copies the parameters of those layers whose names and shapes match layers of another network's model. Returns which
  /// layers were copied, and why the others were not. Updater state, step and epoch are unchanged.
  ///
  /// Order     not collective: every rank makes the same call.
  /// Errors    those of load, except that the networks may differ; data_error if no layer matches. Nothing has changed then.
  transfer_report load_matching(std::string const& path);
  transfer_report load_matching(model_file const& from);
  transfer_report load_matching(training const& from);

  /// A number of all parameters' bits, in canonical order, as 16 hexadecimal digits.
  std::string checksum() const;

  /// The plan of training for batches of that many examples a rank, as text; for pieces, where a batch is taken in some.
  std::string plan_table(int batch = 32, int accumulate = 1);
  /// What `fit` will hold on this rank, by kind, before it is allocated; the updaters' state is, if it was not yet.
  ///
  /// Errors    setting_error for batches and pieces that fit refuses; memory_error.
  run_memory memory_of(dataset const& data, fit_settings const& how = {});
  /// Takes the time of every kernel from now on; the rows are sums over the workers.
  void profile(bool on) { workers_->profile(on); }
  std::vector<plan_row> profile_rows(int batch = 32, int accumulate = 1);

 private:
  friend struct checkpoint_io;
  using clock = std::chrono::steady_clock;
  /// How much longer workers wait for an exchange than it may take: for the question who is missing.
  static constexpr std::chrono::seconds patience{5};
  enum class after_step { next_step, next_epoch, stop };
  static constexpr char const *loss_mark = "L", *gradient_mark = "G";  // one of troubles_ begins with
  /// What was asked for and not agreed on yet.
  struct wishes {
    std::atomic<bool> stop{false};
    std::atomic<bool> save{false};
  };

  static double since(clock::time_point start);

  model_content content(bool updater_state);
  std::vector<std::byte*> state_arrays();
  void check_inputs(dataset const& data) const;
  void check_fits(dataset const& data) const;
  void check_ranks(dataset const& data, fit_settings const& how) const;
  void check_sharding(dataset const& data, sharding how, char const* where) const;
  std::vector<std::int64_t> local_sizes(dataset const& data, sharding how) const;
  void synchronise(plan const& made);
  void train_epochs(std::shared_ptr<loader> const& batches, fit_settings const& how, fit_report& all);
  after_step train_step(std::shared_ptr<loader> const& batches, fit_settings const& how,
                        epoch_report& of_epoch, fit_report& all);
  bool tell_votes(votes const& all, fit_settings const& how);
  void refuse_numbers(step_info const& now);
  votes end_epoch();
  votes wanted() const { return {.stop = wishes_->stop.load(), .save = wishes_->save.load()}; }
  void add_ranks(epoch_report& of_epoch) const;
  void agree_on_step();
  void require_common_steps(char const* what) const;
  void follow_plateau(epoch_report const& of_epoch);
  replica own() { return {parameters(), update()}; }
  /// Runs f. A worker that misses its deadline may still use all that it works on: that then stays for ever.
  template <class F>
  auto unless_late(std::shared_ptr<loader> const& batches, F f) const {
    try {
      return f();
    } catch (deadline_error const&) {
      new std::tuple(workers_, strategy_, update_, batches);
      throw;
    }
  }
  void settle() const;
  void settle_what_can_be() const;
  static void check_pieces(fit_settings const& how);
  void say_memory(plan const& made, dataset const& data, fit_settings const& how);
  parameter_update& update();

  graph net_;
  training_settings settings_;
  std::shared_ptr<communicator> world_;
  std::shared_ptr<detail::worker_group> workers_;
  std::shared_ptr<strategy> strategy_;  // ends before the gradients that it may have under way
  std::unique_ptr<detail::predictor> predictor_;
  std::shared_ptr<parameter_update> update_;
  training_position position_{};
  struct {
    double loss = 0, weight = 0;
  } so_far_{};  // this rank's sums over the steps of the epoch under way
  plateau plateau_{};
  std::int64_t meetings_ = 0;          // that this one has heard of
  batch nothing_{};                    // of a rank whose stream has ended
  std::vector<std::string> troubles_;  // of this rank, that not all have heard of yet, the oldest first
  /// While fit runs; and their keys and states, from resume to the next fit.
  std::vector<listener*> listeners_{};
  std::vector<std::pair<std::string, std::string>> knew_{};
  std::unique_ptr<wishes> wishes_ = std::make_unique<wishes>();
  plan const* said_memory_of_ = nullptr;
  bool has_common_steps_ = true;  // as of the data of the fit that runs
  bool in_step_ = false;          // listeners hear of a step
  std::int64_t trained_to_ = 0;   // steps until this rank's last one with examples
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/evaluate.ipp>
#include <cohort/trainer/impl/fit.ipp>
#include <cohort/trainer/impl/model_io.ipp>
#include <cohort/trainer/impl/training.ipp>
#endif
