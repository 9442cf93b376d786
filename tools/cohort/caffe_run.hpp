// SPDX-License-Identifier: Apache-2.0
#pragma once
// A training that a solver of Caffe describes.
#include <cohort/caffe/caffe_solver.hpp>
#include <cohort/caffe/import_caffe.hpp>
#include <cohort/configuration/run_document.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/documents/run.hpp>
#include <cohort/training/training.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "caffe_data.hpp"
#include "document_call.hpp"

namespace cohort_program {

/// Settings of a caffe_run that are not in the solver.
struct caffe_options {
  bool resizes = false;   ///< images get the size of the data layer
  bool applies = false;   ///< the network is tested, or its features are extracted: the test data are read
  std::string weights{};  ///< caffemodel with the initial parameters; empty: those of the solver
  std::string model{};    ///< caffemodel to write; empty: SNAPSHOT_PREFIX_iter_STEPS.caffemodel
};

/// The network, the data and the settings of a solver.
class caffe_run {
 public:
  /// Prefix of --set for fields of the solver and of its data layers.
  static constexpr std::string_view prefix = "caffe.";

  /// Reads solver, networks and weights, and opens the data.
  caffe_run(std::string const& solver, document_call const& call, caffe_options options = {});

  cohort::caffe_solver const& solver() const { return solver_; }
  cohort::caffe_model const& net() const { return *net_; }
  /// Path of the model that train writes; empty: none.
  std::string model() const;
  /// Number of tests whose data are open: those of the solver; 0 without tests, unless the network is tested
  /// or its features are extracted.
  std::size_t tests() const { return tests_.size(); }
  /// The Accuracy layers of the network in the phase TEST.
  std::vector<cohort::caffe_accuracy> const& accuracies() const { return accuracies_; }
  /// Returns the loss_weight of the loss.  Before: the network has one loss.
  double loss_weight() const;

  /// Returns the document of the training, changed by the settings of the call.
  cohort::run_document document(document_call const& call) const;

  int train(cohort::run_document const& run, cohort::documents::checking checks);

  /// Makes a run with the parameters of the weights, for evaluation and prediction.
  cohort::training load_model(cohort::run_document const& run, cohort::communicator& world) const;

  /// Returns the examples of the data of a test: those of the test, or `all`.
  cohort::dataset test_set(std::size_t test, bool all, bool keyed) const;
  /// Returns the settings of the evaluation of a test. `run`: the document.
  cohort::evaluation_settings evaluation(cohort::run_document const& run, std::size_t test) const;

 private:
  struct layer {
    cohort::caffe_data_layer message{};
    std::optional<caffe_data> data{};
  };
  /// Opens the data layer of a network. `prefixes`: of settings of its fields.
  layer open(cohort::prototxt_message const& net, cohort::caffe_state const& state,
             std::vector<std::string> const& prefixes, std::vector<given_setting> const& settings) const;
  /// Largest number of steps of an epoch.
  std::int64_t epoch_limit() const;
  void print_notices() const;
  void save(cohort::training& trained, std::string const& path) const;

  cohort::caffe_solver solver_;
  caffe_options options_;
  std::optional<layer> train_{};
  std::vector<layer> tests_{};
  std::optional<cohort::caffe_model> net_{};
  std::vector<cohort::caffe_accuracy> accuracies_{};
};

/// Returns the name of a test in lines and reports: "test 2" for the index 1.
std::string name_of_test(std::size_t test);

/// Returns the steps of an epoch, so that an epoch ends at every test: `interval` if it divides `steps`, or
/// else the largest divisor of `steps` that is less.
///
/// Errors    usage_error if this divisor is less than a tenth of `interval`.
std::int64_t steps_of_epoch(std::int64_t steps, std::int64_t interval);

}  // namespace cohort_program
