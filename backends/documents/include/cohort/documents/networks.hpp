// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/configuration/run_document.hpp>
#include <cohort/documents/detail/implementation.hpp>
#include <cohort/training/training.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cohort::documents {

/// Names of the settings of an import in error messages: fields of a document, or a program's flags. An empty
/// name is omitted.
struct import_names {
  std::string file = "network.import.file";
  std::string weights = "network.import.weights";
  std::string inputs = "network.import.inputs";
  std::string loss = "network.import.loss";
  std::string state = "network.optimizer_state";
};

/// A network of another library, as a run of the backend `reference` with the file's parameters,
/// normalisation and, if requested, optimizers' state.
struct imported_network {
  training run;
  std::vector<std::string> inputs{};   ///< names in the file
  std::vector<std::string> outputs{};  ///< names of the layers that compute the file's outputs
  std::vector<std::string> frozen{};   ///< layers that the file does not train, such as constants of ONNX
};

/// Settings of import_network. `initial`: seed and initialisers of parameters for which the file has no
/// values.
struct import_settings {
  bool optimizer_state = false;  ///< also reads the state of the optimizers, which Deeplearning4j stores
  training_settings initial{};
  import_names names{};
};

/// Reads a network of ONNX, Keras, Caffe or Deeplearning4j, with its parameters and its normalisation.
///
/// Before    the files may be untrusted.
/// Errors    file_error; data_error and graph_error of the readers; usage_error for another kind of file, an
///           unknown loss, or a component that the program lacks; setting_error if the optimizers' state is
///           requested and the file has none.
imported_network import_network(import_source const& from, import_settings const& settings = {});

/// The network of a document, and the model file that has its parameters.
struct network_start {
  graph net;
  std::optional<model_file> model{};  ///< of network.model or network.import
  std::vector<std::string> frozen{};
};

/// Reads the network of a document. `layers` have no model file.
///
/// Errors    those of model_file::open and import_network; setting_error for a network without a loss.
network_start read_network(run_document const& run);

/// Returns a document that also freezes the layers that an imported file does not train. Its own settings of
/// these layers override this.
run_document with_frozen_layers(run_document run, std::vector<std::string> const& frozen);

}  // namespace cohort::documents
