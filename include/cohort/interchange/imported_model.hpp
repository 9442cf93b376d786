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
///           file, for fit_settings::metrics.
class imported_model {
 public:
  std::vector<std::string> inputs{};
  std::vector<std::string> outputs{};
  training_settings settings{};
  std::vector<metric> metrics{};

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

 private:
  struct values_of {
    shape dims;
    std::optional<std::vector<float>> values{};
  };

  [[noreturn]] void refuse(std::string_view parameter, std::string what, std::string expected,
                           std::string got) const;
  /// Returns the parameter of this name; null if there is none.
  values_of const* find(std::string_view parameter) const;
  /// Returns the parameter of this name; throws data_error unless it has this shape and was not set yet.
  values_of& unset(std::string_view parameter, shape const& dims, std::size_t values);

  cohort::graph network_;
  std::string origin_;
  std::map<std::string, values_of, std::less<>> parameters_;
};

/// Makes a run with an imported network and its parameters, for prediction, evaluation or further training.
/// `settings` replaces the settings of the file.
///
/// Errors    those of imported_model::read_parameters and trainer.
template <class Choice>
training load_imported(imported_model const& from, std::optional<training_settings> settings = {}) {
  training made = trainer<Choice>(from.network(), settings ? std::move(*settings) : from.settings);
  from.read_parameters(made.parameters());
  return made;
}

}  // namespace cohort
