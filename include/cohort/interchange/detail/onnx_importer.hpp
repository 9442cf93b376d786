// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/text.hpp>
#include <cohort/detail/unique_names.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/graph/builder.hpp>
#include <cohort/interchange/detail/onnx_limits.hpp>
#include <cohort/interchange/detail/onnx_model.hpp>
#include <cohort/interchange/detail/onnx_value.hpp>
#include <cohort/interchange/imported_model.hpp>
#include <cohort/interchange/onnx_import_settings.hpp>
#include <cohort/layer/detail/encoded_window.hpp>
#include <cohort/layer/detail/sliding_window.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

class onnx_patterns;

/// Converts an ONNX graph to a Cohort network, node by node in the file's order. Transpose only permutes the
/// axes of the view, and Reshape to more than three axes only changes the view. Later operators read the
/// view, or (if necessary after a `reshape` or `permute`) its elements in row-major order.
///
/// Errors    graph_error with node and reason.
class onnx_importer {
 public:
  onnx_importer(onnx_model model, std::string origin, onnx_import_settings const& settings);

  imported_model run();

 private:
  using handler = void (onnx_importer::*)();
  using fields = std::vector<std::pair<std::string_view, std::vector<double>>>;
  using extents = std::vector<std::int64_t>;
  struct stored_parameter {
    int layer;
    std::string_view name;  // name as in the kind's parameter_list
    shape dims;
    std::vector<float> values;
  };
  struct tensor_float {
    extents dims;
    std::vector<float> values;
  };
  /// Products of the extents before, along and after an axis, without the batch.
  struct around {
    std::int64_t before = 1, along = 1, after = 1;
  };

  /// A normalisation that a formula expresses: by mean and variance; by the mean square; or, as
  /// RMSNormalization, by the length of the vectors along the last axis.
  struct formula_norm {
    extents axes{};  // of the means; empty: all after the second one
    bool is_centred = true;
  };
  /// Properties of a node made by fuse_patterns that the node's attributes and inputs do not express.
  struct fusion {
    bool has_bias = false;         // MatMul: input 2 is a bias
    bool is_packed = false;        // Attention: the input contains queries, keys and values, side by side
    std::vector<extents> heads{};  // Attention: target shapes that split queries, keys and values into heads
    extents joined{};              // Attention: target shape that joins the heads of the result
    extents mask{};                // Attention: extents of the causal mask; empty: there is none
    double rotary = 0;             // Attention: base of the rotary positions; 0: there are none
    extents rotated{};             // Attention: numbers of steps of the rotary positions of queries and keys
    std::string masked_by{};       // input of the graph whose mask the operator reads; empty: no mask
    std::size_t masked_rank = 0;   // Where: the number of axes of the value whose padding becomes 0
    std::optional<formula_norm> norm{};  // GroupNormalization: over these axes instead of groups
    extents result{};  // GroupNormalization, Reshape: target shape; empty: the input's, input 1
  };
  /// An operator, the function that imports it, and its maximum number of inputs in ONNX.
  struct known_operator {
    std::string_view name;
    handler import;
    std::size_t inputs;
  };
  static constexpr std::size_t any_number = ~std::size_t{};
  static constexpr std::int64_t batch_extent = batch_multiple(1);

  static known_operator const* find_operator(std::string_view op);
  void check_model();
  void check_names();
  void resolve_identities();
  void fuse_patterns();
  void find_masks(onnx_patterns& find);
  void fuse_masks();
  void fuse_masked_means(onnx_patterns const& find);
  void fuse_masked_maxima(onnx_patterns const& find);
  void fuse_masked_zeros(onnx_patterns const& find);
  void fuse_masked_lengths(onnx_patterns const& find);
  std::string masked_value(onnx_patterns const& find, std::string const& name, std::string& mask,
                           bool (*is_other)(float)) const;
  std::string use_mask(std::string const& mask);
  void fuse_selections();
  void fuse_signs();
  void fuse_gelu();
  void fuse_norms();
  void fuse_unit_lengths();
  void fuse_group_norm();
  void fuse_attention();
  void fuse_strides();
  void fuse_bias();
  void mark_live();
  void refuse_branches();
  void find_lengths();
  void set_extents();
  void add_inputs();
  void import_node(onnx_node const& node);
  std::vector<int> add_outputs();
  void name_layers(std::span<int const> outputs);

  // The current node.
  /// Throws an error about `place_` if it is set, else about the current node, else about the file.
  [[noreturn]] void refuse(clause what, clause expected, clause got, std::string_view remedy) const;
  /// Describes an input of the current node, for errors: "N x 3 x 5", "a constant of type float, 3 x 4",
  /// "none".
  std::string input_text(std::size_t which) const;
  fusion const* fused() const {
    auto const found = fusions_.find(node_);
    return found == fusions_.end() ? nullptr : &found->second;
  }
  std::int64_t integer(char const* name, std::int64_t otherwise);
  double real(char const* name, double otherwise);
  std::string text(char const* name, char const* otherwise);
  extents integers(char const* name);
  onnx_attribute const* attribute(char const* name, onnx_attribute::kind type);
  bool has_input(std::size_t which) const {
    return which < node_->inputs.size() && !node_->inputs[which].empty();
  }
  bool is_used(std::size_t output) const;
  /// Returns an input of any kind; then a constant or a layer's output; then a layer's output of f32; then
  /// this output in row-major order, without a view if it has at most 3 extents after the batch.
  onnx_value const& any(std::size_t which) const;
  onnx_value const& tensor(std::size_t which) const;
  onnx_value const& viewed(std::size_t which) const;
  onnx_value const& data(std::size_t which);
  bool is_constant(std::size_t which) const { return has_input(which) && any(which).constant; }
  std::optional<tensor_float> operand(std::size_t which) const;
  tensor_float numbers(std::size_t which) const;
  /// Returns a constant vector of integers: input `which`, or the attribute `older` of older operator sets.
  /// `most`: the vector may contain k·N for k up to this number.
  std::optional<extents> list(std::size_t which, char const* older, std::int64_t most = 0);
  std::optional<double> bound(std::size_t which, char const* older);
  void set(onnx_value value, std::size_t output = 0);
  void set_constant(onnx_tensor tensor, std::size_t output = 0);

  // Layers.
  /// Refuses a node that reads the mask of an input if the value has another mask, or none.
  void check_mask(onnx_value const& value) const;
  bool reads_mask(std::string_view kind, std::vector<int> const& inputs, std::size_t which) const;
  int append(std::string_view kind, std::vector<int> const& inputs, fields const& with = {});
  void check_size(shape const& dims) const;
  void store(std::string_view parameter, shape dims, std::vector<float> values);
  void count_bytes(std::size_t bytes);
  void freeze();
  shape const& shape_of(int id) const { return net_.view()[id].output; }

  // Values.
  bool is_row_major(onnx_value const& value) const;
  /// Returns whether the elements of each example have the same order as in the layer's output. The batch may
  /// be any axis.
  bool is_in_order(onnx_value const& value) const;
  shape checked_shape(extents const& dims) const;
  /// Returns the shape of a layer's output with these extents. If there are more than 3 extents, removes
  /// those that are 1.
  shape layer_shape(extents const& dims) const;
  /// Like layer_shape. If there are more than 3 extents, all but the last two become one.
  shape collapsed(extents const& dims) const;
  /// Returns a node with the value's elements in row-major order and with these extents.
  int reshaped(onnx_value const& value, shape const& dims);
  int permuted(onnx_value const& value, shape const& dims);
  int reshaped(int id, shape const& dims);
  /// Returns a value with the batch first, whose view has the extents `dims`.
  static onnx_value in_view(int id, extents dims, std::int64_t batch);
  /// Returns a row-major value whose extents after the batch are `dims`: if there are more than 3, a view.
  onnx_value row_major(int id, extents dims, std::int64_t batch);
  onnx_value like(onnx_value const& other, int id) const;
  /// Returns the value with axis `from` moved to place `to`; the axes between move by one place.
  static onnx_value moved(onnx_value value, std::size_t from, std::size_t to);
  static std::size_t batch_axis(onnx_value const& value);
  /// Returns the extents that a value has in the file; k·N for axes that are joined with the batch.
  static extents file_extents(onnx_value const& value);
  void import_joined(known_operator const& known);
  void set_reshaped(onnx_value const& x, extents const& target, std::size_t batch_place, std::int64_t inside);
  onnx_value dense(onnx_value const& x, int units, bool bias, std::function<void()> const& store_parameters);
  /// Returns the index of an axis that the node names. `rank` counts joined axes separately.
  int axis_of(std::int64_t axis, std::size_t rank) const;
  around split_at(onnx_value const& value, int axis) const;
  int image(onnx_value const& value);
  onnx_value affine(onnx_value const& value, tensor_float const* factor, tensor_float const* offset);
  onnx_value sliced(onnx_value const& value, int axis, std::int64_t first, std::int64_t last);
  onnx_value every(onnx_value const& value, int axis, std::int64_t first, std::int64_t last,
                   std::int64_t step);
  extents split_sizes(std::int64_t extent);
  onnx_value selected(onnx_value const& value, int axis, extents const& indices);
  onnx_value joined_along(std::vector<onnx_value> from, int axis);
  onnx_value divided(onnx_value const& value, std::size_t axis, extents const& into);
  onnx_value tiled(onnx_value const& value, int axis, std::int64_t count);
  onnx_value scaled(onnx_value const& value, double factor);
  onnx_value at_least(onnx_value const& value, tensor_float const& least);
  onnx_value at_most(onnx_value const& value, tensor_float most);
  onnx_value combined(std::string_view kind, std::vector<onnx_value> from);
  onnx_value repeated_along_axes(std::string_view kind, std::vector<onnx_value> const& from);
  std::optional<tensor_float> repeated(std::size_t which) const;
  onnx_value extended(onnx_value const& value, int axis, std::vector<tensor_float> const& front,
                      std::vector<tensor_float> const& back);
  padding pads(extents const& given, std::size_t spatial, sliding_window const& window, shape const& image,
               std::string const& automatic) const;
  sliding_window window(std::size_t spatial, extents size, bool has_dilation);

  // Operators on known numbers.
  bool fold();
  std::optional<onnx_known> known(std::size_t which) const;
  void set_known(onnx_known numbers, std::size_t output = 0);
  bool fold_elements();
  bool fold_each();
  bool fold_matmul();
  bool fold_clip();
  bool fold_tile();
  bool fold_transpose();
  bool fold_trilu();
  bool fold_range();
  bool fold_gather();
  bool fold_gather_nd();
  bool fold_scatter();
  bool fold_slice();
  bool slice_filled();
  bool fold_axes_of_filled();
  bool fold_concat_of_filled();
  bool fold_product();
  bool fold_split();
  bool fold_concat();
  bool fold_axes();
  bool fold_filled();
  bool fold_copies(onnx_known const& from, extents dims,
                   std::function<std::size_t(std::int64_t)> const& source);
  void shape_of_value();

  // Operators.
  template <int Op>
  void simple();
  void leaky_relu();
  void elu();
  void selu();
  void hard_sigmoid();
  void hard_swish();
  void clip();
  void prelu();
  void gelu();
  void swish();
  void celu();
  void softmax();
  void log_softmax();
  void over_channels(std::string_view kind);
  void identity();
  void where();
  void dropout();
  void cast();
  void conv();
  void conv_transposed();
  void pool();
  void global_pool();
  void reduce();
  void batch_normalization();
  void layer_normalization();
  void group_normalization();
  void instance_normalization();
  void normalise_groups(std::int64_t groups, std::vector<float> const& scale,
                        std::vector<float> const& shift);
  void normalise_over(formula_norm const& of);
  void rms_normalization();
  int unit_vectors(int x, double least);
  void check_expanded();
  void lrn();
  void gemm();
  void matmul();
  void einsum();
  onnx_value product(onnx_value const& x, onnx_value const& y);
  void binary();
  void neg();
  void absolute();
  void power();
  void joined();
  void concat();
  void slice();
  void tile();
  void expand();
  void split();
  void gather();
  void flatten();
  void reshape();
  void reverse_sequence();
  void squeeze();
  void unsqueeze();
  void transpose();
  void pad();
  onnx_value padded(onnx_value const& value, int axis, std::int64_t front, std::int64_t back, double with);
  void resize();
  void depth_to_space();
  void move_blocks(extents const& view, std::vector<int> const& order, extents const& dims);
  void space_to_depth();
  void recurrent();
  int recurrent_layer(onnx_value const& x, std::size_t direction, std::size_t directions, bool last_step,
                      bool returns_state);
  fields recurrent_functions(std::size_t direction, std::size_t directions);
  void attention();
  void check_heads(fusion const& of);
  void constant();

  onnx_model model_;
  std::string origin_;
  onnx_import_settings const& settings_;
  std::int64_t version_ = 0;
  builder net_{};
  std::map<std::string, onnx_value, std::less<>> values_{};
  std::map<std::string, graph_error, std::less<>> refused_{};  // by constant; thrown when a node reads it
  std::map<onnx_node const*, fusion> fusions_{};
  std::map<std::string, onnx_mask, std::less<>> masks_{};  // by the value of the file
  std::map<std::string, int, std::less<>> uses_{};
  std::vector<bool> live_{};
  std::map<std::string, std::string, std::less<>> lengths_{};    // input of lengths -> input of the sequences
  std::map<std::string, onnx_mask, std::less<>> input_masks_{};  // by the input of the graph
  std::vector<stored_parameter> parameters_{};
  std::vector<int> frozen_{};
  std::vector<std::string> inputs_{};
  std::vector<std::unique_ptr<onnx_tensor>> constants_{};  // constants that were computed at import
  std::int64_t folded_ = 0, products_ = 0;                 // numbers of elements and products at import
  std::size_t bytes_ = 0;                                  // size of constants and parameters
  std::size_t runs_ = 0;                                   // runs of elements that nodes have selected
  onnx_node const* node_ = nullptr;
  std::optional<std::size_t> example_axis_{};  // fold() computes for one example of the batch at this axis
  // Axes that the node's inputs have joined; the import function sees them separately. A count of 1: none.
  std::size_t first_joined_ = 0, joined_count_ = 1;
  std::string place_{};  // input or output of the graph, for errors; has precedence over the node
  std::set<std::string, std::less<>> read_{};      // names of attributes that the import function has read
  std::map<int, onnx_node const*> recorded_by_{};  // layer -> the node that appended it
  int layer_ = -1;                                 // the layer appended last
};

/// Returns the node's name; for a node without a name, the name of its first output.
std::string name_of(onnx_node const& node);
/// Returns a bound of Slice as an index from 0 to `extent`: a negative bound counts from the end.
std::int64_t slice_bound(std::int64_t given, std::int64_t extent);
/// Returns the first index of a Slice in reverse order, and the index before the last one: −1 or more.
std::pair<std::int64_t, std::int64_t> reverse_bounds(std::int64_t first, std::int64_t last,
                                                     std::int64_t extent);
/// Returns whether the operator is LSTM, GRU or RNN.
bool is_recurrent_operator(std::string_view op);
/// Formats extents for errors: "N x 3 x 5", where N is a batch of any size. With `between` ", ", formats a
/// list of numbers: "0, -1, 2N".
std::string extents_text(std::vector<std::int64_t> const& dims, char const* between = " x ");
/// Returns the extents that are not 1.
shape without_units(shape const& s);
/// Returns the extents of a value after the first one, the batch.
std::vector<std::int64_t> behind_batch_of(onnx_value const& value);
/// Joins all extents but the last two into one.  Before: there are at least two.
std::vector<std::int64_t> stacked(std::vector<std::int64_t> const& dims);

}  // namespace cohort::detail
