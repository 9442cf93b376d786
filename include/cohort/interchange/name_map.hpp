// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/safetensors_format.hpp>
#include <cohort/graph/node.hpp>
#include <cohort/interchange/detail/implementation.hpp>
#include <cohort/interchange/detail/tensor_operation.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Mapping of parameters to the tensors of another library's file, written as a text with one rule per line:
///
///     # ours            theirs                                  operations
///     *.weights         *.weight
///     lstm_1.bias       rnn.bias_ih_l0+rnn.bias_hh_l0           gates:pytorch
///     head.*            -
///     -                 *.num_batches_tracked
///
/// Shapes    a `*` matches one or more characters, as few as possible. The text that the k-th star of a
///           parameter matches replaces the k-th star of each tensor. Tensors joined by `+` are added. `-` as
///           tensor: the parameter keeps its value. `-` as parameter: the tensors are ignored.
/// Order     the first line that matches a parameter is its rule. Operations are applied from left to right:
///           `transpose`: the axes in reverse order. `axes:3,2,0,1`: entry k is the tensor's axis that
///           becomes axis k.
///           `part:0/2`: the first of two equal parts of the elements, in row-major order, as a vector.
///           `gates:pytorch`, `keras`, `onnx` or `deeplearning4j`: reorders blocks of rows from the gate
///           order of that library to that of the parameter's layer. `reshape`: to the parameter's shape.
/// Errors    file_error; data_error with the line.
class name_map {
 public:
  /// Reads a file.
  static name_map load(std::string const& path);
  /// Reads a text; `name` is for errors.
  static name_map parse(std::string_view text, std::string name = "name map");

  std::string const& name() const& { return name_; }
  std::string const& name() const&& = delete;  // keep the map in a variable
  /// For internal use: detail::name_rule is not part of the API.
  std::span<detail::name_rule const> rules() const& { return rules_; }
  std::span<detail::name_rule const> rules() const&& = delete;  // keep the map in a variable

 private:
  std::string name_;
  std::vector<detail::name_rule> rules_;
};

/// Result of read_mapped: names of parameters in the network's order, and of tensors in the file's order.
struct mapping_report {
  std::vector<std::string> loaded{};   ///< parameters that were read
  std::vector<std::string> kept{};     ///< parameters that keep their values because of a rule
  std::vector<std::string> ignored{};  ///< tensors that a rule ignores, or whose type is not read
};

/// Reads the parameters of a network from tensors with other names, such as those of a torchvision model.
///
///     safetensors const file = safetensors::load("resnet50.safetensors");
///     read_mapped(file.tensors(), file.name(), name_map::load("torchvision_resnet.map"), run.network(),
///                 run.parameters());
///
/// Shapes    f32, f64, bf16, or f16, which was converted to f32. After its operations, a tensor has the shape
///           of its parameter.
/// Before    `file` is for errors.
/// Errors    data_error that lists the differences, up to 20 of each kind: parameters without a rule, missing
///           tensors, tensors of another shape or type, and tensors that no rule reads or ignores, except
///           tensors with an unread_type. The parameters are unchanged after an error.
/// Exact     bitwise, if no tensors are added and the types are equal; otherwise as model_file.
mapping_report read_mapped(std::span<stored_tensor const> tensors, std::string const& file,
                           name_map const& map, graph_view net, parameter_set& into);

}  // namespace cohort
