// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/training_position.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/data/batch_view.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/data/normalisation.hpp>
#include <cohort/data/table_encoder.hpp>
#include <cohort/evaluation/classification.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/io/byte_sink.hpp>
#include <cohort/plan/plan.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/training/evaluation_settings.hpp>
#include <cohort/training/listener.hpp>
#include <cohort/training/predictions.hpp>
#include <cohort/training/run_memory.hpp>
#include <cohort/training/settings.hpp>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cohort {

class feature_set;
class model_file;
struct transfer_report;

namespace detail {
struct backend_handle;
struct training_state;
}  // namespace detail

/// An evaluator for one loss layer: it receives the layer's outputs and the targets of that loss.
struct loss_report {
  std::string loss;
  evaluator* report;
};

/// A network in training, on a backend that is known only at run time. Made by `trainer<B>(…)`.
///
/// Order     one thread at a time, with these exceptions: request is thread-safe; predict and outputs_of are
///           thread-safe while no other thread trains or loads, or with average_decay evaluates or saves.
///           With several ranks, fit, evaluate, save and checkpoints are collective, in the same order.
/// Errors    of calls with a data set: setting_error for rows that the kept pipeline has not prepared;
///           data_error for a table unless its columns and their order equal those of the encoder or of the
///           last fit.
class training {
 public:
  /// `world`: a pointer without ownership is allowed; its communicator must then outlive the training.
  training(graph net, detail::backend_handle backend, training_settings settings,
           std::shared_ptr<communicator> world, std::unique_ptr<strategy> exchange_strategy);
  training(training&&) noexcept;
  training& operator=(training&&) noexcept;
  ~training();

  graph_view network() const&;
  graph_view network() const&& = delete;  // keep the run in a variable
  training_settings const& settings() const&;
  training_settings const& settings() const&& = delete;  // keep the run in a variable
  /// Name of the backend.
  std::string const& backend() const&;
  std::string const& backend() const&& = delete;  // keep the run in a variable
  /// Returns the parameters after all steps so far. Call parameters() again after a further step.
  parameter_set& parameters() &;
  parameter_set const& parameters() const&;
  parameter_set const& parameters() const&& = delete;  // keep the run in a variable
  /// Collective: completes the parameters of which shard::gradients has freed parts, until the next step.
  void gather_parameters();
  /// Returns the gradient of the last step: of one parameter, such as "dense_1.weights", or of all parameters
  /// of a layer, such as "dense_1". This is the gradient that the optimizer received: before normalisation,
  /// clipping and penalties of the settings. May be called in on_step of a listener, and between two steps.
  ///
  /// Shapes    canonical order, as in training_loop::gradients. Elements of running statistics and frozen
  ///           layers are not gradients.
  /// Units     gradient of the mean loss: over the examples of all ranks if the strategy exchanges gradients,
  ///           otherwise over those of this rank. If threshold_sharing or top_k_sharing exchanges gradients,
  ///           the result is the exchanged part; with `max_staleness`, this part is from an earlier step.
  ///           Changes that were made through a training_loop are included.
  /// Before    the last step has updated the parameters (step_report::updated); no training_loop is between
  ///           forward and step. After training_loop::discard, the discarded gradient is returned.
  /// Errors    setting_error: for an unknown name, with the known names; before this object's first step.
  std::vector<double> last_gradient(std::string_view name) const;
  communicator& world() const;
  /// The strategy's measurements on this rank.
  std::vector<measurement> exchange_report() const;
  /// Times of the last completed exchange on this rank; see strategy::last_exchange.
  exchange_times last_exchange() const;
  /// Number of updates so far.
  std::int64_t step() const;
  /// Number of completed epochs.
  std::int64_t epoch() const;
  /// Step, epoch, and the number of examples of the current epoch that the ranks have used.
  training_position position() const;

  /// Trains on `data` for a number of epochs. Continues where the last fit, load or checkpoint ended.
  ///
  /// After     every example was used once in each epoch; an epoch's last batch may be smaller. All ranks
  ///           hold the same parameters if the strategy exchanges gradients or parameters.
  /// Errors    before the first step: setting_error, also if the ranks differ in network, settings, batch,
  ///           version or a sample of the data; shape_error for data of other shapes; memory_error.
  ///           Later: numeric_error naming step, rank, layer; communicator_error; errors of the data set;
  ///           data_error after an epoch if all its examples, or all validation examples, had weight 0.
  fit_report fit(dataset const& data, fit_settings const& how = {});

  /// Makes one step on a batch that the caller passes: the update that fit makes with this batch. Each worker
  /// splits its part into `accumulate` micro-batches, or into single examples if its part is smaller.
  /// `accumulate` must be equal on all ranks.
  ///
  /// Order     collective; a rank may have an empty batch. The epoch ends with end_epoch.
  /// Before    the batch's memory does not change during the call, and stays valid after a deadline_error.
  /// Moves     if `global_count` is unknown, several ranks also sum their numbers of examples: an allreduce
  ///           of 8 bytes.
  /// Errors    those of fit. The parameters are then those after the last completed step.
  /// Exact     the same bits as fit for the loader's batches, with every strategy; up to rounding for a
  ///           stream that ranks share.
  step_report train_on(batch_view const& data, int accumulate = 1);
  /// Returns the mean loss over the batches of all ranks in inference mode: no dropout, running statistics.
  /// Changes nothing. Returns NaN without examples, or if a loss layer has no kernel for the processor.
  ///
  /// Order     collective; all ranks get the same result.
  double loss_of(batch_view const& data);
  /// Ends an epoch of train_on or of a training_loop, as fit ends its epochs: the strategy finishes its
  /// pending exchanges, and `plateau` of the settings is applied. Returns examples and mean loss of all
  /// ranks.
  ///
  /// Order     collective.
  epoch_report end_epoch();

  /// Fits a normalisation to `data`, over all ranks, and uses this normalisation from now on. fit, evaluate,
  /// predict and single steps rescale inputs and targets. Predictions and reports are in the targets'
  /// original units, the loss in rescaled units. Model files and checkpoints contain the normalisation.
  /// Inputs that only embeddings read (indices), and targets of losses that accept only an interval
  /// (probabilities), stay unchanged. `readers`: number of reader threads (loader_settings).
  ///
  /// Order     collective, not during fit.
  /// Errors    those of fit_normalisation and evaluate. After an error, the former normalisation stays in
  ///           use.
  void normalise(dataset const& data, normalisation_settings const& how = {},
                 cohort::sharding sharding = cohort::sharding::global, int readers = 1);
  /// Uses a fitted normalisation from now on. An empty normalisation ends the rescaling.
  ///
  /// Order     not during fit. All ranks must use the same normalisation; fit checks this.
  /// Errors    shape_error if the maps do not match the network; setting_error for a scale of 0 or a number
  ///           that is not finite.
  void normalise(cohort::normalisation with);
  cohort::normalisation const& normalisation() const&;
  cohort::normalisation const& normalisation() const&& = delete;  // keep the run in a variable

  /// Stores the encoder of the tables that this network is trained on. Model files and checkpoints contain
  /// the encoder; load and load_trained restore it.
  void keep(table_encoder const& encoder);
  /// The encoder that was kept or loaded: predict(rows) uses it.
  ///
  /// Errors    setting_error if there is none.
  table_encoder const& encoder() const&;
  table_encoder const& encoder() const&& = delete;  // keep the run in a variable
  /// Names of an output's (default: the first output's) classes: of the last fit, or of the encoder, or none.
  /// Model files contain them if they are UTF-8.  Errors: setting_error for an unknown output.
  std::vector<std::string> class_names(std::string_view output = {}) const;
  /// Returns the network's first output for each row of a table. The kept pipeline is applied first, unless
  /// it has already prepared the rows. The kept encoder then encodes the rows; without an encoder the inputs
  /// are the columns of the last fit, by name. The target's column is ignored. Thread-safe.
  ///
  /// Errors    those of fitted_pipeline::apply and table_encoder::inputs, or of data_table::examples.
  ///           data_error with the first row that a filter of the pipeline removes. setting_error for a run
  ///           without encoder that was not trained on a table.
  predictions predict(data_table const& rows) const;

  /// Returns whether all ranks call their listeners' on_step in the same steps.
  ///
  /// Returns false while fit runs over streams on several ranks, if the ranks do not meet in every step. A
  /// rank then does not call on_step after its stream, or its part of a shared stream, has ended. Collective
  /// calls in on_step (evaluate, save) then throw setting_error; use on_epoch, or request and on_vote.
  bool has_common_steps() const;

  /// Requests a stop or a checkpoint. At the next meeting all ranks agree on the request and call their
  /// listeners' on_vote. This meeting is after a step, or between two epochs if on_epoch makes the request.
  /// Thread-safe.
  void request(votes const& wanted);

  /// Classifies a data set with one class index per example. Each rank computes a part or, with
  /// sharding::local, its whole data set. Returns, on every rank, the report on all examples except those of
  /// weight 0.
  classification_report evaluate(dataset const& data, evaluation_settings const& how = {});
  /// Adds the outputs of the first loss layer and its targets to each of `reports`, in one pass:
  /// training.evaluate(data, {&classes, &curve}). All ranks get the same reports.
  ///
  /// Errors    setting_error if the ranks' networks or data sets differ. An error of a data set is thrown on
  ///           its rank; the other ranks throw a data_error that names this rank.
  void evaluate(dataset const& data, std::initializer_list<evaluator*> reports,
                evaluation_settings const& how = {});
  void evaluate(dataset const& data, std::span<evaluator* const> reports,
                evaluation_settings const& how = {});
  /// The same for several losses: training.evaluate(data, {{"digit", &digits}, {"even", &parity}}).
  ///
  /// Errors    setting_error for an unknown loss layer.
  void evaluate(dataset const& data, std::initializer_list<loss_report> reports,
                evaluation_settings const& how = {});
  void evaluate(dataset const& data, std::span<loss_report const> reports,
                evaluation_settings const& how = {});

  /// Returns the network's first output (after a softmax, probabilities) for the examples. Thread-safe.
  predictions predict(tensor_view input) const { return predict(std::span<tensor_view const>(&input, 1)); }
  predictions predict(std::span<tensor_view const> inputs) const;
  /// The same for inputs with masks (see batch_view); targets and weights are ignored.
  predictions predict(batch_view const& data) const;
  /// Returns one output per key, in the order of `keys`: a vector, array or span of any type. `input` has one
  /// example per key.  Errors: shape_error if the numbers of keys and examples differ.
  template <class Keys>
  auto predict(Keys const& keys, tensor_view input) const {
    return keyed(std::span(keys), predict(input));
  }
  /// The same for several inputs.
  template <class Keys>
  auto predict(Keys const& keys, std::span<tensor_view const> inputs) const {
    return keyed(std::span(keys), predict(inputs));
  }
  /// Returns the outputs of the named layers (heads or inner layers), in that order; without names all
  /// outputs of the network. Layers that these outputs do not need are not computed. Thread-safe.
  ///
  /// Errors    setting_error for an unknown name, with the known names.
  std::vector<predictions> outputs_of(std::vector<std::string> const& layers, tensor_view input) const;
  std::vector<predictions> outputs_of(std::vector<std::string> const& layers,
                                      std::span<tensor_view const> inputs) const;
  std::vector<predictions> outputs_of(std::vector<std::string> const& layers, batch_view const& data) const;
  /// Computes the outputs of the named layers for a whole data set, on all workers. Returns a data set of
  /// these outputs with the targets of `data`, in the same order, for example to train another network.
  ///
  /// Order     not collective: each rank computes with this rank's parameters on this rank's `data`.
  feature_set features(std::vector<std::string> const& layers, dataset const& data, int batch = 256);

  /// Writes the model file: the parameters, the graph and, with `optimizer_state`, the optimizers' state,
  /// step and epoch.
  ///
  /// Order     collective: rank 0 writes the ranks' consensus.
  /// Errors    file_error, the same on every rank. After an error, an existing file of this name is
  ///           unchanged.
  void save(std::string const& path, bool optimizer_state = false);
  /// Writes the same bytes to a std::ostream, a file_writer or another byte sink, on every rank.
  void save(io::byte_sink_ref to, bool optimizer_state = false);

  /// Reads a file that save wrote, on any backend: the parameters and, if the file has them, optimizer state,
  /// step and epoch. The file's normalisation, encoder, pipeline and names of classes replace those of the
  /// run; if the file has none, the run has none.
  ///
  /// Errors    file_error; data_error with the difference of the networks, after which nothing has changed.
  ///           If a read fails or the file changes after the checks, parameters and state are unspecified.
  void load(std::string const& path);
  void load(model_file const& from);

  /// Copies the parameters of those layers whose names and shapes match layers of another network's model.
  /// Returns which layers were copied, and why the others were not. Optimizer state, step, epoch,
  /// normalisation, encoder and pipeline are unchanged.
  ///
  /// Order     not collective: every rank makes the same call.
  /// Errors    those of load, except that the networks may differ; data_error if no layer matches. After an
  ///           error nothing has changed.
  transfer_report load_matching(std::string const& path);
  transfer_report load_matching(model_file const& from);
  transfer_report load_matching(training const& from);

  /// A hash of all parameters' bits, in canonical order, as 16 hexadecimal digits.
  std::string checksum() const;

  /// The training plan as text, for `batch` examples per rank, processed in `accumulate` micro-batches.
  std::string plan_table(int batch = 32, int accumulate = 1);
  /// The memory that `fit` will hold on this rank, by kind, before it is allocated. Allocates the optimizers'
  /// state if it does not exist yet.
  ///
  /// Errors    setting_error for values of `batch` and `accumulate` that fit refuses; memory_error.
  run_memory memory_of(dataset const& data, fit_settings const& how = {});
  /// Starts or stops timing every kernel of training.
  void profile(bool on);
  /// The kernels' times, summed over the workers.
  std::vector<plan_row> profile_rows(int batch = 32, int accumulate = 1);

  /// For Cohort's internal functions (checkpoints): detail::training_state is not part of the API.
  detail::training_state& state() const { return *state_; }

 private:
  template <class Key, std::size_t Extent>
  static std::vector<keyed_prediction<std::remove_const_t<Key>>> keyed(std::span<Key, Extent> keys,
                                                                       predictions const& made) {
    check_keys(made, keys.size());
    std::vector<keyed_prediction<std::remove_const_t<Key>>> all;
    for (int i = 0; i < made.count(); ++i)
      all.push_back({keys[static_cast<std::size_t>(i)], {made[i].begin(), made[i].end()}});
    return all;
  }
  static void check_keys(predictions const& made, std::size_t keys);

  std::unique_ptr<detail::training_state> state_;
};

}  // namespace cohort
