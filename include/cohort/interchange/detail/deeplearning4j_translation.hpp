// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/unique_names.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/interchange/deeplearning4j_settings.hpp>
#include <cohort/interchange/detail/deeplearning4j_fields.hpp>
#include <cohort/io/detail/permutation.hpp>
#include <cohort/optimizer/layer_override.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

/// The rule of an updater, and how its state is stored.
///
/// Shapes    `arrays`: state arrays of each parameter in the file, in the order of the rule's state arrays.
/// Units     `state_factor`: factor from the file's state to Cohort's.
struct deeplearning4j_updater {
  optimizer_rule rule{};
  std::string text{};  // the configuration: equal texts share a block of updaterState.bin
  int arrays = 0;
  double state_factor = 1;
};

/// Changes the elements of an array of the file to those of a parameter.
using deeplearning4j_conversion = std::function<std::vector<float>(std::span<float const>)>;

/// One array of coefficients.bin and the parameters that have its elements.
struct deeplearning4j_array {
  struct part {
    int node = -1;
    std::string parameter{};  // after `finish`: with the name of the node
    shape dims{};
    deeplearning4j_conversion convert{};  // empty: the same elements
  };
  std::string layer{};
  std::size_t elements = 0;
  std::vector<part> parts{};  // empty: Cohort does not need the array
  int updater = -1;           // index; −1: not trained
};

/// A step of the path behind an input: what changes the extents of images.
struct deeplearning4j_step {
  std::optional<deeplearning4j_object> preprocessor{};
  std::optional<deeplearning4j_object> layer{};
};

/// Translates configuration.json into a network, layer by layer.
class deeplearning4j_translation {
 public:
  /// `channels_last`: whether the file has layers with the format NHWC or NWC.
  deeplearning4j_translation(std::string origin, deeplearning4j_settings const& settings,
                             bool channels_last = false)
      : origin_(std::move(origin)), settings_(settings), channels_last_(channels_last) {}

  /// Translates a MultiLayerConfiguration or a ComputationGraphConfiguration.
  void translate(io::json_value configuration);
  /// Numbers of elements that coefficients.bin and updaterState.bin must have.  Before: translate().
  std::size_t parameters() const;
  std::size_t state_numbers() const;
  /// Makes the model. `coefficients`: elements of coefficients.bin. `state`: returns those of
  /// updaterState.bin, or nothing; called only if the state is imported.  Before: translate().
  imported_model finish(std::vector<float> const& coefficients,
                        std::function<std::optional<std::vector<float>>()> const& state);

 private:
  using object = deeplearning4j_object;
  using translator = int (deeplearning4j_translation::*)(object const&, int);
  static std::map<std::string_view, translator, std::less<>> const& layers();

  // ---- models: impl/deeplearning4j_models.ipp ----
  void read_list(io::json_value configuration);
  void read_graph(io::json_value configuration);
  std::vector<std::string> order_of(io::json_value configuration) const;
  using name_map = std::map<std::string_view, std::string_view>;
  std::vector<deeplearning4j_step> path_from(io::json_value vertices, name_map const& first_readers,
                                             std::string const& input) const;
  void read_general(io::json_value configuration);
  void read_layer_configuration(io::json_value configuration);
  int add_input(std::string const& name, std::vector<deeplearning4j_step> const& path);
  shape input_shape(std::string const& name, std::vector<deeplearning4j_step> const& path) const;
  int image_extent(std::vector<deeplearning4j_step> const& path, int axis) const;
  int layer(object const& of, int x);
  int vertex(object const& of, std::string const& name, std::vector<int> const& inputs);
  int vertex_of_class(object const& of, std::string const& name, std::vector<int> const& inputs);
  int preprocess(object const& of, int x);
  void read_arrays(imported_model& into, std::vector<float> const& from) const;
  void read_state(imported_model& into, std::vector<float> const& from) const;

  // ---- recording ----
  template <class L>
  int record(L const& layer, std::vector<int> const& inputs, std::string_view suffix = {});
  int reshaped(int id, shape const& extents, std::string_view suffix);
  /// Names the node that computes the output of the layer that is being translated.
  void publish(int id);
  shape const& dims(int id) const { return net_.view()[id].output; }
  void expect_rank(int id, int rank, object const& of) const;
  void add_array(object const& of, std::size_t elements, std::vector<deeplearning4j_array::part> parts,
                 bool is_trained = true, bool is_bias = false);
  void add_constant(int node, char const* parameter, shape const& extents, double value);
  [[noreturn]] void refuse(std::string problem, std::string expected, std::string got) const;
  /// Throws data_error for a class that is not imported, with the reason.
  [[noreturn]] void refuse_class(std::string const& class_name) const;

  // ---- layers: impl/deeplearning4j_layers.ipp, deeplearning4j_recurrent.ipp ----
  int activate(object const& of, int x);
  int activate(object const& function, int x, char const* suffix);
  object activation_of(object const& of) const;
  int dropped(object const& of, int x);
  int dense_layer(object const& of, int x);
  int output_layer(object const& of, int x);
  int loss_layer(object const& of, int x);
  int embedding_layer(object const& of, int x);
  int rectifier(object const& of, int x);
  int convolution(object const& of, int x);
  int convolution_1d(object const& of, int x);
  int deconvolution(object const& of, int x);
  int depthwise(object const& of, int x);
  int separable(object const& of, int x);
  int subsampling(object const& of, int x);
  int subsampling_1d(object const& of, int x);
  int global_pooling(object const& of, int x);
  int normalisation(object const& of, int x);
  int response_normalisation(object const& of, int x);
  int activation_layer(object const& of, int x);
  int dropout_layer(object const& of, int x);
  int upsample(object const& of, int x);
  int pad(object const& of, int x);
  int crop(object const& of, int x);
  int repeat(object const& of, int x);
  int frozen_layer(object const& of, int x);
  int recurrent(object const& of, int x);
  int bidirectional(object const& of, int x);
  int graves_bidirectional(object const& of, int x);
  int last_step(object const& of, int x);
  int time_distributed(object const& of, int x);
  int mask_layer(object const& of, int x);
  int dense_node(object const& of, int x, std::string_view suffix);
  int pooled(object const& of, int x, bool is_sequence);
  int as_image(int x);
  int as_sequence(int x);
  void expect_channels(int x, int channels) const;
  void add_bias(object const& of, int node, int filters, bool has_bias);
  padding sides_of(object const& of, std::string_view field, bool is_sequence) const;
  int cell(object const& of, int x, bool last, bool reverse, std::string_view suffix);
  int with_loss(object const& of, int x);

  // ---- training: impl/deeplearning4j_training.ipp ----
  /// The parameters of a recorded layer: weights and biases; a slope, which has the role of a bias; scale,
  /// shift and statistics; or a part of the weights and biases of a layer of the file.
  enum class weights_as : std::uint8_t { weights, bias, statistics, parts };
  void train(object const& of, int node, weights_as as = weights_as::weights);
  /// Adds an updater of a layer, if it is not known. Returns its index.
  int updater_of(object const& of, bool is_bias);
  deeplearning4j_updater read_updater(object const& from) const;
  deeplearning4j_updater read_old_updater(object const& layer) const;
  rate_schedule read_rate(object const& from, std::string_view number, std::string_view schedule,
                          double otherwise) const;
  rate_schedule read_schedule(object const& from) const;
  void add_penalties(object const& of, bool is_bias, optimizer_rule& rule, double& l1, double& l2) const;
  void read_clipping(object const& of, weights_as as);
  void set_optimizer();

  std::string origin_;
  deeplearning4j_settings settings_;
  bool channels_last_;
  builder net_{};
  std::string layer_{};  // name of the layer that is being translated
  std::set<std::string, std::less<>> names_{};
  unique_names layer_names_{'#'};
  std::vector<deeplearning4j_array> arrays_{};
  std::vector<deeplearning4j_updater> updaters_{};
  std::vector<std::string> input_names_{};
  std::vector<std::string> output_names_{};
  std::vector<int> outputs_{};
  /// The settings of a layer with parameters.
  struct trained_layer {
    int node;
    optimizer_rule rule{}, bias_rule{};
    double l1 = 0, l2 = 0, bias_l1 = 0, bias_l2 = 0;
    bool frozen = false;
  };
  std::vector<trained_layer> trained_{};
  std::optional<gradient_normalisation> clipping_{};
  bool is_frozen_ = false;
  bool sums_gradients_ = false;
  bool is_truncated_ = false;
  std::optional<training_position> position_{};
  training_settings run_settings_{};
  /// A parameter whose value is not in coefficients.bin.
  struct constant {
    int node;
    std::string parameter;
    shape dims;
    float value;
  };
  std::vector<constant> constants_{};
};

template <class L>
int deeplearning4j_translation::record(L const& layer, std::vector<int> const& inputs,
                                       std::string_view suffix) {
  auto const& kind = kind_of<L>;
  auto const encoded = encode(layer);
  std::string const base = layer_ + '/' + std::string(suffix.empty() ? kind.name : suffix);
  std::string name = base;
  for (int number = 2; layer_names_.contains(name) || !names_.insert(name).second; ++number)
    name = base + '#' + std::to_string(number);
  int const id = net_.append(kind, encoded.data(), inputs, name, settings_of(layer), {});
  if (net_.problem().found()) {
    auto const text = net_.problem().text();
    std::string_view message = text.view();
    if (message.starts_with("graph: ")) message.remove_prefix(7);
    refuse(std::string(message), "inputs and fields that fit", "the layer " + std::string(kind.name));
  }
  double elements = 1;
  for (int axis = 0; axis < dims(id).rank; ++axis) elements *= dims(id)[axis];
  if (elements > 0x1p30)
    refuse("a tensor is too large", "at most 2^30 elements for an example", to_string(dims(id)));
  for (parameter_spec const& spec : net_.view().parameters(id)) {
    elements = 1;
    for (int axis = 0; axis < spec.dims.rank; ++axis) elements *= spec.dims[axis];
    if (elements > 0x1p34) refuse("a parameter is too large", "at most 2^34 elements", to_string(spec.dims));
  }
  return id;
}

}  // namespace cohort::detail
