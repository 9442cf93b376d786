// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/graph.hpp>
#include <cohort/interchange/imported_model.hpp>
#include <cohort/keras.hpp>
#include <cohort/keras/detail/keras_fields.hpp>
#include <cohort/keras/detail/keras_weights.hpp>
#include <cohort/optimizer/layer_override.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

/// A tensor of the network. Its last activation is recorded (added to the network) only when the tensor is
/// first used. A softmax before a loss is therefore never recorded, because the loss contains it.
struct keras_slot {
  int id = -1;
  std::function<int()> record{};
  std::string activation{};  // activation that `record` records, unless a loss contains it
  std::string name{};        // name of this activation
  int logits = -1;           // the tensor before this activation
};

/// A permutation, shared by tensors: element i in Keras is element order[i] in the network. Empty: the
/// identity.
class keras_order {
 public:
  keras_order() = default;
  explicit keras_order(std::vector<int> from)
      : at_(from.empty() ? nullptr : std::make_shared<std::vector<int> const>(std::move(from))) {}

  bool empty() const { return !at_; }
  std::size_t size() const { return at_ ? at_->size() : 0; }
  int operator[](std::size_t i) const { return (*at_)[i]; }
  bool operator==(keras_order const& other) const {
    return at_ == other.at_ || (at_ && other.at_ && *at_ == *other.at_);
  }

 private:
  std::shared_ptr<std::vector<int> const> at_{};
};

/// A Keras tensor.
///
/// Shapes    `dims`: extents in Keras' order, without the batch. Images of channels-last models are H×W×C
///           here and C×H×W in the network.
/// Order     `order`: the order of the elements of a flattened image.
struct keras_value {
  std::shared_ptr<keras_slot> slot{};
  std::vector<int> dims{};
  keras_order order{};
  bool has_zero_padding = false;  // elements of masked steps are 0
};

/// Reference to a tensor, as in a configuration: layer, index of the call, index of the output.
struct keras_reference {
  std::string layer{};
  std::size_t call = 0;
  std::size_t output = 0;
  auto operator<=>(keras_reference const&) const = default;
};

/// One call of a layer in a functional model.
struct keras_call {
  std::vector<keras_reference> inputs{};
  std::vector<std::pair<std::string, std::vector<keras_reference>>> named_inputs{};
  std::map<std::string, io::json_value> options{};  // arguments that are not tensors
  bool has_constants = false;                       // a positional argument contains a number or a text
  bool has_mask = false;                            // a mask is an argument
  std::vector<io::json_value> constants{};          // positional arguments without tensors
  bool begins_with_constant = false;                // the first positional argument is one of `constants`
};

/// A Keras layer. All calls of the layer share its parameters.
struct keras_layer_state {
  std::string path{};         // "model/dense"
  std::string object_path{};  // path in weight files: "layers/dense_1"
  std::string group{};        // name of the layer of the outermost model that contains it
  std::vector<int> order{};   // positions in the nested lists of layers
  bool trainable = true;
  int calls = 0;
  std::vector<int> nodes{};  // nodes with parameters, recorded by the first call
  std::size_t cursor = 0;    // index in `nodes` of the next node to share in a later call
};

/// Arguments of the translation of one layer.
struct keras_layer_call {
  std::string class_name;
  keras_fields fields;
  std::vector<keras_value> inputs{};
  std::map<std::string, std::vector<keras_value>> named_inputs{};
  std::map<std::string, io::json_value> options{};
  std::set<std::size_t> wanted{};  // indices of the outputs that are read
  bool inference = false;          // called with training=False
};

/// Returns whether a class of keras.layers uses the mask of a sequence or passes it to its output. Other
/// classes process padding like any step, and drop the mask.
bool keeps_keras_mask(std::string_view class_name);
/// Returns whether a class of keras.layers changes images in training only.
bool augments_images(std::string_view class_name);

/// Translates a configuration into a network, layer by layer.
class keras_translation {
 public:
  using values = std::vector<keras_value>;
  using call = keras_layer_call;

  /// `is_theano`: the backend was Theano, which flips the kernels of convolutions.
  keras_translation(std::string origin, keras_options const& how, int version, int minor, bool is_theano)
      : origin_(std::move(origin)),
        how_(how),
        version_(version),
        keras_minor_(minor),
        is_theano_(is_theano) {}

  /// Translates a model. `compile`: the training configuration, if the file has one.
  imported_model run(io::json_value model, std::optional<io::json_value> compile,
                     keras_weight_source const* weights);

 private:
  // ---- models ----
  values translate_model(io::json_value config, std::string const& class_name, keras_layer_state const& state,
                         std::optional<values> inputs, std::set<std::size_t> const* wanted, bool inference);
  values translate_sequential(io::json_value config, keras_layer_state const& state,
                              std::optional<values> inputs, bool inference);
  values translate_functional(io::json_value config, keras_layer_state const& state,
                              std::optional<values> inputs, std::set<std::size_t> const* wanted,
                              bool inference);
  values translate_layer(io::json_value layer, keras_layer_state& state, keras_call const& how,
                         std::function<keras_value(keras_reference const&)> const& find,
                         std::set<std::size_t> wanted, bool inference);
  keras_layer_state& state_of(keras_layer_state const& parent, io::json_value layer, int position,
                              std::map<std::string, int>& used);
  values dispatch(call const& c);
  values translate_operation(call c, keras_call const& node);
  keras_value combined(call const& c, io::json_value constant, bool is_first);
  keras_value item(call const& c, io::json_value indices);
  keras_value part_of(keras_value const& x, std::size_t axis, int first, int last);
  keras_value stacked(call const& c);
  void find_image_order(io::json_value config);
  /// Adds the paths of the layers of a model and of its nested models.
  void find_paths(io::json_value config, std::string const& parent);
  /// `padding`: the value that marks padding, for a Masking layer.
  keras_value make_input(std::string const& name, keras_fields const& fields, std::optional<double> padding);

  // ---- recording ----
  /// Records a layer under a derived name: "layer/suffix", or "layer/kind" without a suffix. If `is_shared`,
  /// later calls of the Keras layer share the parameters of the first call.
  template <class L>
  int record(L const& layer, std::vector<int> const& inputs, std::string_view suffix = {},
             bool is_shared = true);
  /// Bounds the work for an untrusted file. Counts layers, calls and references; each call of a nested model
  /// counts again.
  void count_work(std::size_t parts);
  /// Returns the order of the elements of a flattened image H×W×C.
  keras_order order_of_image(std::vector<int> const& dims);
  void expect_elements(double elements) const;
  template <class L>
  keras_value one(call const& c, L const& layer, std::vector<int> dims, std::string_view suffix = {});
  keras_value value(int id, std::vector<int> dims) const;
  keras_value like(keras_value const& v, int id) const;
  int id_of(keras_value const& v);
  bool has_mask(keras_value const& v);
  int reshaped(int id, shape extents, std::string_view suffix);
  /// Returns whether a tensor of these extents has the same order of elements in Keras and in the network.
  bool has_keras_order(std::vector<int> const& dims) const;
  shape extents_of(keras_value const& v) const;
  std::string unique_name(std::string_view suffix);
  /// Returns the name of the layer that is being translated, with the number of a later call: "layer@2".
  std::string layer_name() const;
  /// Names a node after a layer of the file. Does nothing if another node has this name.
  void publish(int node, std::string const& name);
  /// Returns whether a recurrent layer returns the outputs of all steps.
  bool returns_sequences(keras_fields const& f, std::string_view class_name) const;
  /// Returns whether a name of the layer that is being translated is not the path of another layer.
  bool owns(std::string const& name) const { return name == state_->path || !paths_.contains(name); }
  /// Removes the masks of the inputs, because Keras' layer drops masks.
  void drop_masks(call& c);
  [[noreturn]] void refuse(std::string what, std::string expected, std::string got) const;
  void expect_rank(call const& c, std::size_t rank) const;
  void expect_plain_order(keras_value const& v) const;
  void expect_no_mask(keras_value const& v);
  keras_value const& only(call const& c) const;
  int channels_of(keras_value const& v) const;
  bool is_channel_axis(int axis, keras_value const& v) const;

  // ---- parameters ----
  struct weight_place {
    std::string_view part = {};
    int index = 0;
    bool is_trained = true;
  };
  /// Maps an array of the current layer to a parameter of a recorded node, with axes permuted by `axes`.
  void weigh(int node, std::string_view parameter, weight_place place, std::vector<int> dims,
             std::vector<int> axes = {}, keras_order const& order = {}, std::size_t offset = 0);
  void weigh(int node, std::string_view parameter, weight_place place, std::vector<int> dims,
             std::function<std::vector<float>(std::vector<float> const&)> convert, std::size_t offset = 0);
  /// Like weigh, for the kernels of a convolution. Theano's kernels of `area` elements are reversed.
  void weigh_kernels(int node, std::vector<int> dims, std::vector<int> axes, int area);
  /// Returns padding "same" of windows of these extents, after dilation. `image`: the input's rows and
  /// columns. `pools`: the windows belong to a pooling layer.
  padding same_padding(extent2 image, extent2 window, extent2 stride, bool pools) const;
  void fill(int node, std::string_view parameter, float with);
  void override_layer(int node, keras_fields const& fields, char const* weights_regulariser,
                      char const* bias_regulariser);
  void override_recurrent(int node, keras_fields const& fields);
  void freeze(int node);
  void add_penalties(layer_override& row, std::optional<keras_object> of, bool bias);
  parameter_constraint constraint_of(std::optional<keras_object> of, std::size_t unit_axes) const;
  void read_weights(imported_model& into, keras_weight_source const& from) const;
  bool is_first_call() const { return state_->calls == 0; }
  std::string name_of(int node) const { return std::string(net_.view().given_name(node)); }
  /// Returns the name of a parameter in model files.  Before  the names of all nodes are known.
  std::string name_of(int node, std::string_view parameter) const {
    return node_names_.at(static_cast<std::size_t>(node)) + '.' + std::string(parameter);
  }

  // ---- layers: impl/keras_layers.ipp, keras_shapes.ipp, keras_recurrent.ipp, keras_attention.ipp ----
  keras_value activate(keras_value const& x, std::optional<keras_object> const& how, call const& c);
  keras_value activate(keras_value const& x, std::string const& name, keras_fields const& fields);
  keras_value deferred(keras_value const& x, std::string activation);
  values activation(call const& c);
  values advanced_activation(call const& c);
  values prelu_layer(call const& c);
  values dense_layer(call const& c);
  values einsum_dense(call const& c);
  values convolution(call const& c);
  values transposed_convolution(call const& c);
  values separable_convolution(call const& c);
  values pooling(call const& c);
  values adaptive_pooling(call const& c);
  values global_pooling(call const& c);
  values normalisation(call const& c);
  values layer_normalisation(call const& c);
  values group_normalisation(call const& c);
  void weigh_norm(call const& c, int node, std::string const& kind, std::vector<int> const& dims,
                  std::vector<int> const& axes, keras_order const& order);
  values fixed_normalisation(call const& c);
  keras_value affine(keras_value const& x, std::vector<double> factor, std::vector<double> offset);
  int record_fixed(keras_value const& x);
  values embedding_layer(call const& c);
  values one_hot(call const& c);
  values flatten_layer(call const& c);
  values reshape_layer(call const& c);
  values permute_layer(call const& c);
  values repeat_vector(call const& c);
  values upsampling_layer(call const& c);
  values padding_layer(call const& c);
  values cropping_layer(call const& c);
  values merge(call const& c);
  values concatenation(call const& c);
  values dot(call const& c);
  values random_layer(call const& c);
  values identity(call const& c);
  values masking(call const& c);
  values recurrent(call const& c);
  values bidirectional(call const& c);
  values time_distributed(call const& c);
  values multi_head_attention(call const& c);
  values luong_attention(call const& c);

  keras_value make_dense(call const& c, keras_value const& x, int units, bool bias, weight_place bias_place);
  struct recurrent_result {
    std::vector<keras_value> outputs;  // the output, then the states
    bool returns_sequences = false;
    bool returns_state = false;
  };
  recurrent_result make_recurrent(call const& c, std::string const& class_name, keras_fields const& fields,
                                  keras_fields const& cell, keras_value const& x, values const& initial,
                                  std::set<std::size_t> const& wanted, std::string_view suffix,
                                  std::string const& part, bool reverse);
  template <class L>
  recurrent_result record_recurrent(L layer, keras_fields const& fields, keras_value const& x,
                                    values const& initial, std::set<std::size_t> const& wanted,
                                    std::string_view suffix, int states);
  bool merges_none(keras_fields const& of) const;

  // ---- training: impl/keras_training.ipp ----
  void read_training(io::json_value compile, values& outputs, std::vector<std::string> const& names,
                     std::vector<int>& ids);
  int record_loss(keras_value const& output, keras_object const& loss, double weight,
                  std::string const& name);
  void read_optimizer(io::json_value compile);
  rate_schedule read_rate(keras_fields const& of) const;
  void read_metrics(io::json_value compile, std::vector<std::string> const& names, std::size_t first_loss);
  metric metric_of(keras_object const& from) const;

  static constexpr double fixed_epsilon = 1e-14;  // epsilon of normalisations that are not trained

  std::string origin_;
  keras_options how_;
  int version_;
  int keras_minor_;  // 2.3 changed defaults, 2.11 optimizers, 2.12 and 3.1 the statistics of masked batches
  bool is_theano_;
  bool images_first_ = false;
  builder net_{};
  std::map<std::string, keras_layer_state> states_{};
  keras_layer_state* state_ = nullptr;  // the layer that is being translated
  std::string suffix_{};                // part of the layer in names: "forward"
  std::set<std::string, std::less<>> names_{};
  std::set<std::string, std::less<>> paths_{};  // paths of all layers of the file
  /// A parameter of a recorded node. Nodes get their names at the end.
  struct parameter_place {
    int node = -1;
    std::string parameter{};
  };
  std::vector<keras_weight> weights_{};
  std::vector<std::pair<parameter_place, float>> filled_{};
  std::vector<std::pair<parameter_place, std::vector<float>>> constant_parameters_{};
  std::vector<std::pair<parameter_place, parameter_place>> copied_parameters_{};  // to, from
  std::vector<std::pair<int, layer_override>> overrides_{};                       // indexed by node
  std::vector<std::string> node_names_{};
  std::size_t work_ = 0;             // see count_work
  std::int64_t order_elements_ = 0;  // total elements of all keras_orders
  bool has_other_groups_ = false;    // arrays and parameters do not correspond one to one
  int recurrent_node_ = -1;          // the recurrent node that was recorded last
  std::vector<std::string> input_names_{};
  training_settings settings_{};
  std::vector<metric> metrics_{};
};

}  // namespace cohort::detail
