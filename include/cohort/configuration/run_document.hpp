// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/configuration/data_source.hpp>
#include <cohort/data/normalisation.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/io/json_value.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/strategy/threshold_sharing.hpp>
#include <cohort/strategy/top_k_sharing.hpp>
#include <cohort/training/early_stopping_listener.hpp>
#include <cohort/training/evaluation_settings.hpp>
#include <cohort/training/settings.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cohort {

/// Extents of an input of an imported network, without the batch.
struct import_input {
  std::string name{};  ///< in the file
  std::vector<int> extents{};
};

/// A network in a file of another library.
struct import_source {
  /// The file: its name ends in .onnx, .keras, .h5, .hdf5 or .prototxt, or it is a zip file of
  /// Deeplearning4j.
  std::string file{};
  /// The .caffemodel of a .prototxt; empty: initial parameters.
  std::string weights{};
  std::vector<import_input> inputs{};  ///< inputs for which the file has no extents
  /// Name of a loss that is added to a network without one; it replaces a last softmax or sigmoid that it
  /// contains. Empty: none.
  std::string loss{};
};

/// The network of a document: its layers, the network in a model file, or that of another library.
struct network_source {
  std::optional<graph> layers{};
  std::string model{};
  std::optional<import_source> imported{};  ///< network.import in documents
  /// Whether the run starts from the parameters of `model`, with its normalisation and encoder; false: from
  /// initial parameters.
  bool parameters = true;
  /// Whether the run continues the training of `model`: the run then also loads the optimizers' state, step
  /// and epoch.
  bool optimizer_state = false;
  /// A safetensors file with initial parameters for `layers` or `imported`; or empty.
  std::string weights{};
  /// A file with a name_map for `weights`; empty: the tensors have the names of the parameters.
  std::string names{};
};

/// The command that copies remote files, such as hdfs://host/rows.csv, to this host before they are read.
struct remote_settings {
  /// Program and arguments, as in fetch_settings::command; empty: the command of the path's scheme.
  std::vector<std::string> command{};
  std::string folder = "auto";  ///< folder of the copies; "auto": a subfolder of Cohort's cache folder
  std::chrono::milliseconds deadline = std::chrono::minutes(10);  ///< limit for each file
};

/// Allreduce for several ranks, no exchange for one rank.
struct automatic_strategy {};
/// No exchange between ranks; only for runs with one rank.
struct no_strategy {};

/// The strategy of a document.
using strategy_source = std::variant<automatic_strategy, no_strategy, allreduce, parameter_averaging,
                                     threshold_sharing, top_k_sharing>;

/// The ranks of a run. Under mpirun, the ranks are the processes that mpirun starts; `count` is not used.
struct rank_settings {
  int count = 1;  ///< number of ranks, each a thread of this process
  std::string communicator = "auto";
  std::chrono::milliseconds deadline = std::chrono::seconds(120);  ///< limit of every wait for another rank
  std::chrono::milliseconds heartbeat = std::chrono::seconds(10);
};

/// Stops a run when `metric`, a metric of the test set, has not improved (early_stopping_listener).
struct early_stopping_source {
  std::string metric = "loss";  ///< "loss", or a name as in run_document::metrics
  early_stopping_settings settings{};
};

/// Weights of the classes in the loss of the training set.
struct class_weights {
  bool balanced = false;         ///< those of weighted_by_class(data)
  std::vector<double> values{};  ///< one for each class; empty: equal weights, unless `balanced`
};

/// The files that a run writes; an empty path: none.
struct output_settings {
  std::string model{};                ///< the trained model, with the optimizers' state
  std::string onnx{};                 ///< the trained network as an ONNX file
  std::string tokens{};               ///< the tokens of a text, for text_source::tokens of other documents
  std::string predictions{};          ///< outputs for the test set, a file that ends in .csv or .npy
  std::string checkpoints{};          ///< folder of the checkpoints
  std::int64_t checkpoint_every = 0;  ///< in steps; 0: only at the end, and when a signal stops the run
  int keep = 3;                       ///< number of checkpoints to keep
  std::int64_t max_age = 0;           ///< of kept checkpoints but the newest, in seconds; 0: any age
  bool resume = false;                ///< starts from the newest checkpoint of the folder, if there is one
  std::string report{};               ///< results as JSON
  std::string tensorboard{};          ///< folder for TensorBoard's event files
  std::string html_report{};          ///< report for a browser, rewritten while the run trains
};

/// A training run as a value. `cohort train` reads such a document from a file.
///
///     run_document const run = run_document::from_json(io::read_text("lenet.json"), "lenet.json");
///     std::string const all = to_json(run);  // every setting, also those that the file omits
///
/// Units     documents do not contain `tune` and `log` of training_settings, `log` of encoder_settings,
///           `validation`, `metrics` and `listeners` of fit_settings, and `on_best` and `lines` of
///           early_stopping_settings. fit.sharding also applies to `evaluation`. `metrics`: names of metrics
///           of the test set after each epoch: accuracy, log_loss, perplexity, rmse, mae, r2, auc, and top_k
///           with k = evaluation.top; empty: accuracy of classes, otherwise rmse.
/// Errors    from_json: data_error with file, line, column and path for an unknown field (with the nearest
///           known name), a value of another type or out of range, another version, or layers that do not
///           form a network.
/// Exact     from_json(to_json(run)) equals run. Two documents are equal if to_json gives the same text.
struct run_document {
  static constexpr int version = 1;

  network_source network{};
  data_source data{};
  normalisation_settings normalise{.inputs = rescaling::none};
  training_settings training{};
  fit_settings fit{};
  bool tune = false;  ///< whether to autotune the backend; training.tune in documents
  std::vector<std::string> metrics{};
  class_weights weights_of_classes{};
  std::optional<early_stopping_source> early_stopping{};
  strategy_source strategy{};
  std::string backend = "auto";
  rank_settings ranks{};
  evaluation_settings evaluation{};
  remote_settings remote{};
  output_settings output{};
  /// Where each field was set: "data.table.file" → "run.yaml:12:9", or the origin of `set`. No field of
  /// documents, and not compared.
  std::map<std::string, std::string, std::less<>> origins{};

  /// Reads a document. `version` is required, `$schema` is ignored, and other omitted fields have defaults.
  static run_document from_json(std::string_view text, std::string_view name = "JSON text");
  /// Reads a parsed document, such as one that was written in YAML.
  static run_document from(io::json_value root);

  /// Sets one field: set("training.batch", "64"). In a choice, the path selects the alternative:
  /// set("strategy.averaging.every", "3"). A `value` that is not JSON is a text. A list is replaced as a
  /// whole.
  ///
  /// Errors    data_error with `origin` ("--set training.batch=64") and the path. The document is unchanged
  ///           after an error.
  void set(std::string_view path, std::string_view value, std::string_view origin);

  /// Throws setting_error, with origin and path of the field, if the network or a field that the chosen data
  /// set needs is missing, or if fields contradict each other.
  void check() const;

  /// Returns the origin of a field and its path: "run.yaml:12:9, data.table.file". For a field that was not
  /// set, the origin is that of the nearest field around it, if any.
  std::string where(std::string_view path) const;

  /// Returns the message of an error during the run, in the terms of documents: members of C++ structs become
  /// paths of fields (table_settings::missing becomes data.table.format.missing), and the path of the field
  /// that is wrong is preceded by its origin.
  std::string explain(std::string_view message) const;

  /// Returns the names of all backends. A program may offer only some of them.
  static std::span<std::string_view const> backends();

  friend bool operator==(run_document const& a, run_document const& b);
};

/// Returns the name of a strategy in documents: "auto", "averaging", …
std::string_view name_of(strategy_source const& how);

/// Writes all fields of a document, indented.
std::string to_json(run_document const& run);

/// Returns the JSON Schema (draft 2020-12) of documents, with the layers, optimizers, schedules and
/// strategies of this library.
std::string run_document_schema();

}  // namespace cohort
