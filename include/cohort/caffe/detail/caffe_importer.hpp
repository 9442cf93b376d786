// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/caffe/detail/caffe_network.hpp>
#include <cohort/caffe/detail/caffe_weights.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/detail/unique_names.hpp>
#include <cohort/graph/builder.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/layer/detail/sliding_window.hpp>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Limits for an untrusted file, the same as for ONNX files.
inline constexpr std::int64_t max_caffe_extent = std::int64_t{1} << 24,
                              max_caffe_window = (std::int64_t{1} << 15) - 1,
                              max_caffe_elements = std::int64_t{1} << 30;
inline constexpr std::size_t max_caffe_layers = 10'000, max_caffe_blobs = 1'024;
/// Largest number of layers in Cohort's network, because a layer of the file may need many.
inline constexpr int max_caffe_nodes = 20'000;
/// Largest number of parameters that are computed at import: constants, and values of some fillers.
inline constexpr std::size_t max_caffe_computed = std::size_t{1} << 26;

/// A blob: the output of a layer, in row-major order of its extents without the batch.
///
/// Shapes    `dims`: the extents in Caffe, −1 for the batch. Empty: a top of a data layer whose extents are
///           not known. `source`: the top of a data layer that has the same elements; empty: the blob is
///           computed. `id`: −1 for a top of a data layer that no layer has read.
struct caffe_value {
  int id = -1;
  std::vector<std::int64_t> dims{};
  std::string source{};
};

/// Converts the layers of a network to a Cohort network, in the order of the file.
///
/// Errors    graph_error with file, line, layer and reason.
class caffe_importer {
 public:
  caffe_importer(prototxt_message const& net, caffe_import_settings const& settings);

  caffe_model run(std::vector<caffe_trained_layer> const& trained, std::string const& weights);

  /// Returns why a type of Caffe's catalogue is refused; empty: it is imported, or unknown.
  static std::string_view refusal_of(std::string_view type);
  /// Returns whether layers of this type are imported.
  static bool imports(std::string_view type);

 private:
  using extents = std::vector<std::int64_t>;
  using fields = std::vector<std::pair<std::string_view, std::vector<double>>>;
  using handler = void (caffe_importer::*)();
  struct known_layer {
    std::string_view type;
    handler import;
    std::string_view param;  ///< field of the layer with its settings
    std::vector<std::string_view> names;
  };
  struct refused_layer {
    std::string_view type, reason;
  };
  /// A layer with the versions of its blobs: layers in place write a new version of a blob.
  struct versioned {
    std::vector<int> bottoms{}, tops{};
    bool is_live = true;
  };
  struct around {
    std::int64_t before = 1, along = 1, after = 1;
  };
  /// Initial values of a blob: an initialiser, or else values.
  struct filling {
    initialiser rule{};
    bool has_initialiser = true;
    std::vector<float> values{};
  };
  /// A loss or an Accuracy layer, whose bottoms are resolved at the end.
  struct scored {
    caffe_accuracy accuracy;
    int node;
    caffe_layer const* layer;
    bool has_positions;  // the scores are C×H×W: only a loss has them with the classes last
  };

  static std::vector<known_layer> const& known_layers();
  static std::span<refused_layer const> refused_layers();
  static known_layer const* find(std::string_view type);

  // The network.
  void resolve_blobs();
  void mark_live();
  void mark_time_major();
  void import_layer(std::size_t which);
  void name_nodes(int first);
  graph built();
  void add_accuracy(scored each, graph_view net, std::vector<caffe_accuracy>& to);
  void add_data();
  extents data_extents(caffe_layer const& layer, std::size_t top);
  extents given_extents(std::string const& top) const;
  void store_parameters(caffe_model& result, std::vector<caffe_trained_layer> const& trained,
                        std::string const& weights) const;

  // The current layer.
  [[noreturn]] void refuse(clause problem, clause expected, clause got) const;
  caffe_value const& bottom(std::size_t which);
  std::size_t bottoms() const { return layer_->bottoms.size(); }
  void expect_bottoms(std::size_t least, std::size_t most) const;
  bool is_used(std::size_t top) const;
  void set(caffe_value value, std::size_t top = 0);
  /// Sets a top that has the extents of `like` and is computed by a layer.
  void set(caffe_value const& like, int id, std::size_t top = 0) { set({.id = id, .dims = like.dims}, top); }
  std::string dims_text(extents const& dims) const;
  int choice(std::string_view name, std::initializer_list<std::string_view> names, int otherwise) const;

  // Nodes.
  int append(std::string_view kind, std::vector<int> const& inputs, fields const& with = {},
             layer_settings const& settings = {}, int owner = -1);
  shape const& shape_of(int id) const { return net_.view()[id].output; }
  shape checked_shape(extents const& dims) const;
  int node(caffe_value const& value);
  int as(caffe_value const& value, extents const& dims);
  int as(int id, extents const& dims);
  int axis_of(std::int64_t axis, std::size_t rank) const;
  around split(caffe_value const& value, int first, int last) const;
  around split(caffe_value const& value, int axis) const { return split(value, axis, axis + 1); }
  static std::size_t batch_of(extents const& dims);
  static std::int64_t elements_of(extents const& dims);
  extents inner(caffe_value const& value) const;
  int image(caffe_value const& value);
  int over_channels(caffe_value const& value, int axis);
  extents row_form(caffe_value const& value, int axis) const;
  /// Refuses a number that no f32 represents, such as NaN.
  void expect_f32(double number, std::string_view name) const;
  int shifted(int id, double shift);
  int affine(int id, double factor, double shift);
  int sliced(caffe_value const& value, int axis, std::int64_t first, std::int64_t last);

  // Parameters.
  filling filled(prototxt_message const& filler, extents const& dims);
  void count_computed(std::size_t values);
  void compute(filling& fill, extents const& dims);
  static std::optional<initialiser> initial(filling const& from);
  int shared_owner(std::size_t blobs, bool transposed = false) const;
  void parameter(int id, std::string_view name, std::size_t index, extents dims, filling const& fill,
                 caffe_parameter_blob form = {});
  void constant(int id, std::string_view name, std::vector<float> values);
  void constant(int id, std::string_view name, float value);
  void rates(int id, std::initializer_list<bool> is_bias, std::size_t which = 0);
  void set_rates(int id, caffe_rates rates);

  // Layers.
  template <int Kind>
  void pointwise_layer();
  void alias();
  void silence();
  void abs_val();
  void relu();
  void elu();
  void prelu();
  void swish();
  void clip();
  void power();
  void dropout();
  void convolution();
  void deconvolution();
  void pooling();
  int pool(int from, bool is_max, sliding_window const& window, bool ceil);
  void spp();
  void lrn();
  void inner_product();
  void embed();
  void batch_norm();
  void scale();
  void bias();
  void learned_affine(prototxt_message const& param, bool has_factor, bool has_bias);
  bool fuse_scale(prototxt_message const& param);
  void expect_prefix(caffe_value const& value, caffe_value const& by) const;
  void softmax();
  void eltwise();
  void concat();
  void slice();
  void crop();
  void tile();
  void flatten();
  void reshape();
  void reduction();
  void lstm();
  void rnn();
  int recurrent_input(std::int64_t& channels, std::int64_t& fixed);
  void softmax_loss();
  void multinomial_loss();
  void cross_entropy(int id, around const& part, std::size_t labels);
  void euclidean_loss();
  void sigmoid_loss();
  void hinge_loss();
  void accuracy();
  std::optional<double> loss_weight() const;
  static std::string normalization(prototxt_message const& param, std::string_view otherwise);
  void loss(std::string_view kind, int from, fields with, std::size_t labels, bool one_hot = false);

  prototxt_message const& net_message_;
  caffe_import_settings const& settings_;
  std::vector<caffe_layer> layers_{};
  std::vector<versioned> versions_{};
  std::vector<std::string> blob_names_{};  // by version
  std::vector<int> readers_{};             // by version: layers that need the blob, without Accuracy
  std::vector<bool> is_output_{};
  std::map<int, caffe_value> values_{};  // by version
  std::set<std::string, std::less<>> time_major_{};
  std::map<std::string, int, std::less<>> inputs_{};       // top of a data layer -> node
  std::map<std::string, extents, std::less<>> sources_{};  // top of a data layer -> extents
  std::map<std::string, std::pair<int, std::size_t>, std::less<>> shared_{};
  std::vector<caffe_parameter_blob> parameters_{};
  std::vector<std::pair<int, caffe_rates>> rates_{};
  std::vector<std::pair<caffe_parameter_blob, std::vector<float>>> filled_{};
  std::vector<std::tuple<int, std::string, std::vector<float>>> constants_{};
  std::map<int, std::pair<std::size_t, int>> norms_{};  // batch_norm node -> layer, version of its top
  std::vector<std::pair<int, caffe_target>> targets_{};
  std::vector<scored> scores_{};
  std::vector<std::string> continuations_{};
  std::map<int, std::string> names_{};
  unique_names used_names_{'_'};
  std::vector<caffe_data_layer> data_{};
  builder net_{};
  caffe_layer const* layer_ = nullptr;
  std::size_t which_ = 0;
  std::size_t computed_ = 0;    // number of values that were computed
  std::uint64_t fillings_ = 0;  // fillings whose values were computed
  prototxt_message param_{};    // settings of the current layer
};

}  // namespace cohort::detail
