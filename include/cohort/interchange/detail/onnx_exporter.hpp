// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/checkpoint/safetensors_format.hpp>
#include <cohort/detail/unique_names.hpp>
#include <cohort/graph/node.hpp>
#include <cohort/interchange/detail/onnx_model.hpp>
#include <cohort/interchange/onnx_export_settings.hpp>
#include <cohort/layer/detail/sliding_window.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Converts a network to an ONNX model. Identifies layers by the names of their kinds, and fields by their
/// names, so the exporter does not depend on the layers' C++ types.
///
/// Before    the arguments outlive the exporter. `parameters` are dense and named as in model files.
class onnx_exporter {
 public:
  onnx_exporter(graph_view net, std::span<stored_tensor const> parameters,
                data_preparation const& preparation, onnx_export_settings const& how);

  onnx_model run();

 private:
  using names = std::vector<std::string>;
  using attributes = std::vector<onnx_attribute>;
  using handler = std::string (onnx_exporter::*)();
  /// Names of the values of a recurrent layer's outputs: N×T×U, N×U and N×U.
  struct recurrent_values {
    std::string steps{}, state{}, cells{};
  };

  static handler handler_of(std::string_view kind);

  void add_input(int id);
  void add_encoded_input();
  std::string encoded_number(std::size_t column);
  std::string encoded_text(std::size_t column);
  void export_layer(int id);
  std::string rescaled_output(int id, std::string value);

  // Properties of the current layer.
  [[noreturn]] void refuse(std::string reason) const;
  double field(std::string_view name, int slot = 0) const;
  int integer(std::string_view name) const { return static_cast<int>(field(name)); }
  bool is_set(std::string_view name) const { return field(name) != 0; }
  shape const& input_shape(std::size_t which = 0) const;
  std::string const& input(std::size_t which = 0) const;
  std::size_t inputs() const { return net_.inputs(id_).size(); }
  shape const& output_shape() const { return net_[id_].output; }
  bool has(std::string_view parameter) const { return find(parameter) != nullptr; }

  // Values of the graph.
  std::string unique(std::string_view name) { return names_.add(name); }
  std::string value_info(std::string name, onnx_type type, shape const& dims);
  /// Adds a node. Returns the name of its output.
  std::string emit(char const* op, names inputs, attributes with = {});
  std::string constant(std::string_view suffix, std::vector<std::int64_t> dims, std::vector<float> values);
  std::string number(double value);
  std::string integers(std::vector<std::int64_t> const& values);
  std::string parameter(std::string_view name);
  std::string parameter(std::string_view name, std::string_view suffix, std::vector<std::int64_t> dims,
                        std::vector<float> values);
  std::vector<float> values_of(std::string_view parameter) const;
  stored_tensor const* find(std::string_view parameter) const;
  std::string transposed(std::string value, std::vector<std::int64_t> order);
  std::string reshaped(std::string value, shape const& dims);
  std::string sliced(std::string value, int axis, int first, int last);
  std::string aligned(std::size_t input, int rank);
  std::string per_channel(std::string_view suffix, std::vector<float> values, shape const& dims);
  std::string scaled(std::string value, std::span<channel_scaling const> maps, shape const& dims, bool back);
  /// Returns the mask as a value N×T of booleans; true: not padding. `begin`: the layer that makes the mask.
  std::string mask(int begin);
  bool is_padded(int id) const { return net_.kind(id) == kind_of<padded_input>; }
  std::string lengths(int begin);

  // Kinds of layers.
  attributes window_attributes(sliding_window const& window, shape const& image) const;
  sliding_window window(char const* size) const;
  std::string convolution();
  std::string convolution_1d();
  std::string transposed_convolution();
  std::string max_pool();
  std::string avg_pool();
  std::string global_avg_pool();
  std::string global_max_pool();
  std::string dense();
  template <int Op>
  std::string simple();
  std::string leaky_relu();
  std::string elu();
  std::string selu();
  std::string hard_sigmoid();
  std::string clipped(double low, double high);
  std::string relu6() { return clipped(0, 6); }
  std::string hard_tanh() { return clipped(-1, 1); }
  std::string swish();
  std::string gelu();
  std::string gelu_tanh();
  std::string mish();
  std::string prelu();
  std::string nothing() { return input(); }
  std::string over_channels(char const* op);
  std::string softmax() { return over_channels("Softmax"); }
  std::string dice();
  std::string log_softmax() { return over_channels("LogSoftmax"); }
  std::string joined(char const* op);
  std::string add() { return joined("Sum"); }
  std::string average() { return joined("Mean"); }
  std::string maximum() { return joined("Max"); }
  std::string multiply();
  std::string concatenate();
  std::string subset();
  std::string scale();
  std::string zero_padding();
  std::string cropping();
  std::string resized(attributes settings);
  std::string upsampling();
  std::string bilinear_upsampling();
  std::string reshape();
  std::string permute();
  std::string flatten();
  std::string embedding();
  std::string lrn();
  std::string batch_norm();
  std::string layer_norm();
  std::string group_norm();
  std::string rms_norm();
  std::string matmul();
  std::string zero_masked();
  std::string recurrent(char const* op, std::vector<std::size_t> const& order);
  std::string simple_rnn() { return recurrent("RNN", {0}); }
  std::string lstm() { return recurrent("LSTM", {0, 3, 1, 2}); }
  std::string gru() { return recurrent("GRU", {0, 1, 2}); }
  attributes activations_of(std::string_view op) const;
  std::string recurrent_output();
  std::string attention();
  std::string rotated(std::string value, int steps, int width, double base);
  std::string learned_positions();
  std::string sinusoidal_positions();

  graph_view net_;
  std::span<stored_tensor const> parameters_;
  data_preparation const& preparation_;
  onnx_export_settings const& how_;
  onnx_model model_{};
  unique_names names_{'_'};
  std::vector<std::string> values_{};  // output of each node of the network
  std::vector<recurrent_values> recurrent_{};
  std::map<std::vector<std::int64_t>, std::string> integers_{};
  std::map<double, std::string> numbers_{};
  std::map<int, std::string> masks_{}, lengths_{};
  std::map<std::string, std::string> stored_{};  // initializers, by name of parameter and suffix
  int id_ = -1;
  std::string name_{};
};

}  // namespace cohort::detail
