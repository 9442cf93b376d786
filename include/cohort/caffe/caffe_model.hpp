// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/caffe/detail/caffe_parameters.hpp>
#include <cohort/caffe/prototxt.hpp>
#include <cohort/interchange/imported_model.hpp>
#include <cohort/training/settings.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cohort {

/// Which layers of a network file exist: Caffe's NetState.
///
/// Units     layers without rules always exist. A layer with `include` rules exists if one of them holds, a
///           layer with `exclude` rules if none of them holds. A rule holds if its phase, levels, `stage` and
///           `not_stage` do.
struct caffe_state {
  enum class phases : std::uint8_t { train, test };

  phases phase = phases::test;
  int level = 0;
  std::vector<std::string> stages{};
};

/// Settings of import_caffe.
///
/// Units     `inputs`: extents of inputs for which the file has no extents, by the name of the top: of the
///           layers Data, ImageData, HDF5Data and WindowData, after crop. `seed`: of fillers for which no
///           initialiser exists (gaussian with a mean, uniform with an asymmetric range, positive_unitball).
struct caffe_import_settings {
  caffe_state state{};
  std::vector<input_extents> inputs{};
  std::uint64_t seed = 1;
};

/// A data layer of the network, for example Data, MemoryData, ImageData or CoSData.
///
/// Shapes    `layer`: the whole message, with data_param, transform_param and others; the messages of a
///           network in the format V1 have today's names.
struct caffe_data_layer {
  std::string name{};
  std::string type{};  ///< today's name of the type: "Data"
  std::vector<std::string> tops{};
  prototxt_message layer{};
};

/// The target of a loss.
///
/// Units     `top`: the top of a data layer whose elements, in row-major order, are the target. `one_hot`:
///           the loss needs C numbers, 1 at the class index that the top contains and 0 elsewhere
///           (HingeLoss). The class index that a loss ignores is a field of the loss: graph_view::target.
struct caffe_target {
  std::string loss{};  ///< layer of the network
  std::string top{};
  bool one_hot = false;
};

/// An Accuracy layer.
///
/// Shapes    `scores`: the layer of the network whose output ranks the classes as the bottom of the Accuracy
///           layer does: C, or T×C with one label per step.
struct caffe_accuracy {
  std::string name{};    ///< top of the layer
  std::string scores{};  ///< layer of the network
  std::string labels{};  ///< top of a data layer
  int top_k = 1;
  std::optional<int> ignored{};  ///< label that is not counted
};

/// Factors of the learning rate and of the weight decay of a layer's parameters: lr_mult and decay_mult.
struct caffe_rates {
  std::string layer{};
  double weights_rate = 1, weights_decay = 1;
  double bias_rate = 1, bias_decay = 1;
  bool is_constant = false;  ///< the parameters are constants of the file, such as the shift of Power

  constexpr bool operator==(caffe_rates const&) const = default;
};

/// A network of Caffe in one state.
///
/// Shapes    `model.inputs`: tops of data layers and inputs of the file that the network reads, in the order
///           of the network's inputs. A top with the batch as its second axis (T×N of recurrent networks) is
///           an input T. `model.outputs`: tops that no layer reads, without those of losses and Accuracy.
/// Order     `targets`: in the order of the network's losses. `rates`: only layers whose factors are not all
///           1.
/// After     the network's layers have the names of Caffe's layers. A layer of Caffe that needs several
///           layers names one of them, if possible the one with parameters; the others are named
///           "layer/kind". `blobs`: for each blob, the layer that computes its last value. `continuations`:
///           tops that mark the beginning of sequences for LSTM and RNN. The network does not read them: all
///           sequences begin at step 0, see check_continuation.
struct caffe_model {
  imported_model model;
  std::vector<caffe_data_layer> data{};
  std::vector<caffe_target> targets{};
  std::vector<caffe_accuracy> accuracies{};
  std::vector<caffe_rates> rates{};
  std::vector<std::string> continuations{};
  std::map<std::string, std::string> blobs{};
  std::vector<detail::caffe_parameter_blob> parameters{};  ///< for save_caffemodel

  /// Returns `model.settings` with an optimizer, an L2 penalty (Caffe's weight_decay) and, for each entry of
  /// `rates`, an override with the multiplied values. `rule`: returns the optimizer whose learning rate is
  /// `factor` times that of the solver.
  training_settings settings_with(std::function<optimizer_rule(double factor)> const& rule,
                                  double weight_decay) const;
};

}  // namespace cohort
