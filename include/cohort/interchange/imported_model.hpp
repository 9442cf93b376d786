// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/graph.hpp>
#include <cohort/interchange/detail/implementation.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cohort/tensor/shape.hpp>
#include <cohort/training/settings.hpp>
#include <cohort/training/trainer.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cohort {

/// Extents of an input, for files that do not contain all extents.
///
/// Shapes    `extents`: without the batch, as in the network (images C×H×W, sequences T×C).
struct input_extents {
  std::string name{};  ///< name of the input in the file
  shape extents{};
};

/// A network from a file of another library, with its parameters.
///
///     training run = load_imported<onednn>(import_onnx("model.onnx"));
///
/// Shapes    parameters are dense, in canonical layout, and named as in model files: "conv2d_1.weights".
/// Order     `inputs`: the file's names, in the order of the network's inputs. `outputs`: the layers that
///           compute the file's outputs, in the file's order, for training::outputs_of.
/// After     a layer that has a name from the file computes the file's value of this name. All other layers
///           have derived names. If no layer computes a value of the file, no layer has the value's name.
/// Units     `settings`: the training settings of the file, or the defaults. `metrics`: the metrics of the
///           file, for fit_settings::metrics. `normalisation`: of the inputs and targets; empty: none.
///           `position`: steps and epochs so far, if the file has the optimizers' state.
class imported_model {
 public:
  std::vector<std::string> inputs{};
  std::vector<std::string> outputs{};
  training_settings settings{};
  std::vector<metric> metrics{};
  cohort::normalisation normalisation{};
  training_position position{};

  /// `origin`: the file's name, for errors.
  imported_model(graph network, std::string origin);

  cohort::graph const& network() const& { return network_; }
  cohort::graph network() && { return std::move(network_); }
  std::string const& origin() const& { return origin_; }
  std::string const& origin() const&& = delete;  // keep the model in a variable

  /// Sets a parameter of the network.
  ///
  /// Errors    data_error if the network has no parameter of this name, if the parameter has another shape,
  ///           or if the parameter was set before.
  void set(std::string_view parameter, shape const& dims, std::span<float const> values);
  /// Like set above, but moves the values instead of copying them.
  void set(std::string_view parameter, shape const& dims, std::vector<float>&& values);

  /// Copies all parameters to a parameter set of the same network.
  ///
  /// Errors    data_error naming the first parameter that was never set. Nothing is written in this case.
  void read_parameters(parameter_set& into) const;
  /// Copies the parameters that were set. The others keep their values.
  ///
  /// Errors    data_error if the parameters belong to another network.
  void read_known_parameters(parameter_set& into) const;

  /// Sets a state array of a parameter's optimizer: array `k` of optimizer_rule::state_name.
  ///
  /// Errors    data_error if the network has no parameter of this name, or another number of elements.
  void set_state(std::string_view parameter, int k, std::vector<float>&& values);
  /// Returns whether the model has state of optimizers.
  bool has_state() const;
  /// Continues from the state of the optimizers and from `position`. State that was never set is unchanged.
  ///
  /// Before    the run has the optimizers of `settings`.
  /// Errors    data_error naming a parameter whose optimizer has fewer state arrays.
  void read_state(training& into) const;

 private:
  struct values_of {
    shape dims;
    std::optional<std::vector<float>> values{};
    std::vector<std::vector<float>> state{};  // empty arrays: not set
  };

  [[noreturn]] void refuse(std::string_view parameter, std::string what, std::string expected,
                           std::string got) const;
  void read(parameter_set& into, bool all) const;
  /// Returns the parameter of this name; null if there is none.
  values_of const* find(std::string_view parameter) const;
  /// Returns the parameter of this name; throws data_error unless it has this shape and was not set yet.
  values_of& unset(std::string_view parameter, shape const& dims, std::size_t values);

  cohort::graph network_;
  std::string origin_;
  std::map<std::string, values_of, std::less<>> parameters_;
};

/// Makes a run with an imported network, its parameters and its normalisation, for prediction, evaluation or
/// further training. `settings` replaces the settings of the file. If the optimizer is that of the file, the
/// run continues from the optimizers' state of the file, if it has any.
///
/// Errors    those of imported_model::read_parameters and trainer.
template <class Choice>
training load_imported(imported_model const& from, std::optional<training_settings> settings = {}) {
  training made = trainer<Choice>(from.network(), settings ? std::move(*settings) : from.settings);
  from.read_parameters(made.parameters());
  if (!from.normalisation.empty()) made.normalise(from.normalisation);
  if (from.has_state() && made.settings().optimizer == from.settings.optimizer) from.read_state(made);
  return made;
}

}  // namespace cohort
