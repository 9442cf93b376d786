// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cohort/caffe/detail/caffe_importer.hpp>
#include <cohort/layer/detail/encoded_window.hpp>

namespace cohort::detail {

// ---- activations ----
template <int Kind>
void caffe_importer::pointwise_layer() {
  static constexpr std::string_view kinds[]{"softplus", "sigmoid", "tanh"};
  expect_bottoms(1, 1);
  set(bottom(0), append(kinds[Kind], {node(bottom(0))}));
}

void caffe_importer::abs_val() {
  expect_bottoms(1, 1);
  int const id = node(bottom(0));
  set(bottom(0), append("add", {append("relu", {id}), append("relu", {affine(id, -1, 0)})}));
}

void caffe_importer::relu() {
  expect_bottoms(1, 1);
  double const slope = param_.number("negative_slope", 0);
  if (!(slope >= 0 && slope < 1))
    refuse("no layer has this negative_slope", "0 to 1, without 1", {slope, "; use PReLU with lr_mult 0"});
  int const id = node(bottom(0));
  set(bottom(0), slope == 0 ? append("relu", {id}) : append("leaky_relu", {id}, {{"slope", {slope}}}));
}

void caffe_importer::elu() {
  expect_bottoms(1, 1);
  set(bottom(0), append("elu", {node(bottom(0))}, {{"alpha", {param_.number("alpha", 1)}}}));
}

void caffe_importer::swish() {
  expect_bottoms(1, 1);
  double const beta = param_.number("beta", 1);
  int const id = node(bottom(0));
  set(bottom(0),
      beta == 1 ? append("swish", {id}) : append("multiply", {id, append("sigmoid", {affine(id, beta, 0)})}));
}

/// min + width·(clip of x to [−1, 1] around the middle).
void caffe_importer::clip() {
  expect_bottoms(1, 1);
  double const least = param_.number("min", 0), most = param_.number("max", 0);
  if (!(least < most) || !(most - least < 1e30)) refuse("min is not below max", {"below ", most}, {least});
  double const radius = (most - least) / 2, middle = least + radius;
  int const id = affine(node(bottom(0)), 1 / radius, -middle / radius);
  set(bottom(0), affine(append("hard_tanh", {id}), radius, middle));
}

void caffe_importer::power() {
  expect_bottoms(1, 1);
  double const exponent = param_.number("power", 1), factor = param_.number("scale", 1),
               shift = param_.number("shift", 0);
  if (!(exponent >= 1 && exponent <= 8) || exponent != std::floor(exponent))
    refuse("no layer computes this power", "an integer from 1 to 8", {exponent, "; replace the layer"});
  int const id = affine(node(bottom(0)), factor, shift);
  set(bottom(0), exponent == 1
                     ? (id == node(bottom(0)) ? append("identity", {id}) : id)
                     : append("multiply", std::vector<int>(static_cast<std::size_t>(exponent), id)));
}

void caffe_importer::dropout() {
  expect_bottoms(1, 1);
  set(bottom(0), append("dropout", {node(bottom(0))}, {{"rate", {param_.number("dropout_ratio", 0.5)}}}));
}

void caffe_importer::softmax() {
  expect_bottoms(1, 1);
  caffe_value const& value = bottom(0);
  set(value,
      append("softmax", {over_channels(value, axis_of(param_.integer("axis", 1), value.dims.size()))}));
}

// ---- windows ----
namespace {

/// Reads a setting for height and width: a repeated field, or one field for each.
extent2 window_setting(prototxt_message const& param, std::string const& name, std::string const& short_name,
                       int otherwise) {
  auto const checked = [&](std::string const& field, std::int64_t value) {
    if (value < 0 || value > max_caffe_window)
      param.refuse(field, "the value is out of range", {"0 to ", max_caffe_window}, {value});
    return static_cast<int>(value);
  };
  bool const has_height = param.has(short_name + "_h"), has_width = param.has(short_name + "_w");
  if (has_height || has_width) {
    if (param.has(name))
      param.refuse(name, "the value is given twice", {name, ", or ", short_name, "_h and ", short_name, "_w"},
                   "all");
    return {checked(short_name + "_h", param.integer(short_name + "_h", otherwise)),
            checked(short_name + "_w", param.integer(short_name + "_w", otherwise))};
  }
  std::vector<std::int64_t> const all = param.integers(name);
  if (all.size() > 2)
    param.refuse(name, "there are too many values", "1 or 2, of height and width", {all.size()});
  if (all.empty()) return otherwise;
  return {checked(name, all[0]), checked(name, all.back())};
}

}  // namespace

void caffe_importer::convolution() {
  expect_bottoms(1, 64);
  if (param_.integer("axis", 1) != 1)
    refuse("the channels are not axis 1", "axis 1", {param_.integer("axis", 1)});
  bool const has_bias = param_.boolean("bias_term", true), transposed = layer_->type == "Deconvolution";
  extent2 const kernel = window_setting(param_, "kernel_size", "kernel", 0),
                stride = window_setting(param_, "stride", "stride", 1),
                pad = window_setting(param_, "pad", "pad", 0),
                dilation = window_setting(param_, "dilation", "dilation", 1);
  std::int64_t const filters = param_.integer("num_output", 0), groups = param_.integer("group", 1);
  int first = -1;
  for (std::size_t b = 0; b < bottoms(); ++b) {
    caffe_value const value = bottom(b);
    int const from = image(value);
    std::int64_t const channels = value.dims[1];
    if (groups < 1 || filters < 1 || filters > max_caffe_extent || channels % groups != 0
        || filters % groups != 0)
      refuse("num_output or group does not fit the channels",
             {"multiples of the groups, with ", channels, " channels"},
             {filters, " filters in ", groups, " groups"});
    std::int64_t const area = std::int64_t{kernel.height} * kernel.width;
    extents const dims = transposed ? extents{channels, filters / groups, kernel.height, kernel.width}
                                    : extents{filters, channels / groups, kernel.height, kernel.width};
    if (area < 1 || area > max_caffe_elements / (channels * filters))
      refuse("the kernel is too large, or empty", {"1 to ", max_caffe_elements, " weights"}, dims_text(dims));
    filling const weights = filled(param_.message("weight_filler"), dims),
                  bias = filled(param_.message("bias_filler"), {filters});
    int const owner = b == 0 ? shared_owner(has_bias ? 2 : 1, transposed) : first;
    layer_settings const settings =
        owner >= 0 ? layer_settings{} : layer_settings{.weights = initial(weights), .bias = initial(bias)};
    int const result = append(transposed ? "conv2d_transposed" : "conv2d", {from},
                              {{"filters", {static_cast<double>(filters)}},
                               {"kernel", encoded_extent(kernel)},
                               {"stride", encoded_extent(stride)},
                               {"padding", encoded_padding({pad.height, pad.height, pad.width, pad.width})},
                               {"dilation", encoded_extent(dilation)},
                               {"groups", {static_cast<double>(groups)}},
                               {"bias", {has_bias ? 1.0 : 0.0}}},
                              settings, owner);
    if (b == 0) first = owner >= 0 ? owner : result;
    if (b == 0 && owner < 0) {
      caffe_parameter_blob form;
      if (transposed)
        form = {.rows = filters,
                .columns = channels / groups,
                .total = channels / groups,
                .groups = groups,
                .inner = area,
                .transposed = true};
      parameter(result, "weights", 0, dims, weights, form);
      if (has_bias) parameter(result, "bias", 1, {filters}, bias);
      rates(result, {false, true});
    }
    shape const out = shape_of(result);
    set({.id = result, .dims = {-1, out[0], out[1], out[2]}}, b);
  }
}

void caffe_importer::deconvolution() { convolution(); }

/// Caffe's pooling. With `ceil`, windows may extend beyond the padding; with padding, the last window begins
/// in the image or in the padding before it. AVE counts the padding, but not what is beyond it.
int caffe_importer::pool(int from, bool is_max, sliding_window const& window, bool ceil) {
  shape const in = shape_of(from);
  std::array<int, 2> const size{window.size.height, window.size.width},
      stride{window.stride.height, window.stride.width}, pad{window.padding.top, window.padding.left};
  std::array<int, 2> beyond{};  // elements after the image: padding for MAX, after the padding for AVE
  for (std::size_t axis = 0; axis < 2; ++axis) {
    std::int64_t const extent = in[static_cast<int>(axis) + 1], step = stride[axis];
    if (size[axis] < 1 || step < 1 || pad[axis] >= size[axis])
      refuse("the window, its stride or its padding is out of range", "a padding below the window",
             {"window ", size[axis], ", stride ", stride[axis], ", padding ", pad[axis]});
    std::int64_t const room = extent + 2 * std::int64_t{pad[axis]} - size[axis];
    std::int64_t const steps =
        room < 0 ? -((-room + (ceil ? 0 : step - 1)) / step) : (room + (ceil ? step - 1 : 0)) / step;
    std::int64_t last = steps * step;
    bool const has_padding = pad[0] > 0 || pad[1] > 0;
    if (has_padding && last >= extent + pad[axis]) last -= step;
    if (last < 0 || last >= extent + pad[axis])
      refuse("the pooling has an empty window, or no window", "windows that begin in the image",
             {"window ", size[axis], " and stride ", stride[axis], " for the extent ", extent});
    std::int64_t const end =
        last + size[axis] - pad[axis];  // of the last window, from the start of the image
    beyond[axis] = static_cast<int>(std::max<std::int64_t>(end - extent - (is_max ? 0 : pad[axis]), 0));
  }
  padding sides(0, beyond[0], 0, beyond[1]);
  if (is_max) {
    sides.top = pad[0], sides.left = pad[1];
  } else if (pad[0] > 0 || pad[1] > 0) {
    from = append("zero_padding", {from}, {{"sides", encoded_padding({pad[0], pad[0], pad[1], pad[1]})}});
  }
  return append(is_max ? "max_pool" : "avg_pool", {from},
                {{"window", encoded_extent(window.size)},
                 {"stride", encoded_extent(window.stride)},
                 {"padding", encoded_padding(sides)}});
}

void caffe_importer::pooling() {
  expect_bottoms(1, 1);
  caffe_value const value = bottom(0);
  int const from = image(value), method = choice("pool", {"MAX", "AVE", "STOCHASTIC"}, 0);
  if (method == 2) refuse("no layer pools at random", "MAX or AVE", "STOCHASTIC; use MAX");
  if (layer_->tops.size() > 1 && (is_used(1) || layer_->tops.size() > 2))
    refuse("the indices of the maxima are read", "one top", {layer_->tops.size()});
  bool const ceil = choice("round_mode", {"CEIL", "FLOOR"}, 0) == 0;
  extent2 const stride = window_setting(param_, "stride", "stride", 1),
                pad = window_setting(param_, "pad", "pad", 0);
  if (param_.boolean("global_pooling", false)) {
    if (param_.has("kernel_size") || param_.has("kernel_h") || param_.has("kernel_w") || !(pad == extent2(0))
        || !(stride == extent2(1)))
      refuse("global_pooling has a window", "no kernel_size, pad 0 and stride 1", "other values");
    int const result = append(method == 0 ? "global_max_pool" : "global_avg_pool", {from});
    return set({.id = result, .dims = {-1, value.dims[1], 1, 1}});
  }
  extent2 const kernel = window_setting(param_, "kernel_size", "kernel", 0);
  int const result = pool(from, method == 0,
                          {kernel, stride, 1, padding(pad.height, pad.height, pad.width, pad.width)}, ceil);
  shape const out = shape_of(result);
  set({.id = result, .dims = {-1, out[0], out[1], out[2]}});
}

/// Spatial pyramid pooling: SPPLayer::GetPoolingParam of Caffe.
void caffe_importer::spp() {
  expect_bottoms(1, 1);
  caffe_value const value = bottom(0);
  int const from = image(value), method = choice("pool", {"MAX", "AVE", "STOCHASTIC"}, 0);
  std::int64_t const levels = param_.integer("pyramid_height", 0);
  if (method == 2) refuse("no layer pools at random", "MAX or AVE", "STOCHASTIC; use MAX");
  if (levels < 1 || levels > 10) refuse("pyramid_height is out of range", "1 to 10", {levels});
  std::vector<int> parts;
  std::int64_t elements = 0;
  for (std::int64_t level = 0; level < levels; ++level) {
    int const bins = 1 << level;
    auto const part = [&](std::int64_t extent) {
      int const size = static_cast<int>((extent + bins - 1) / bins);
      return std::array<int, 2>{size, static_cast<int>((size * std::int64_t{bins} - extent + 1) / 2)};
    };
    auto const [height, top] = part(value.dims[2]);
    auto const [width, left] = part(value.dims[3]);
    extent2 const size(height, width);
    int const result = pool(from, method == 0, {size, size, 1, padding(top, top, left, left)}, true);
    parts.push_back(as(result, {shape_of(result).elements()}));
    elements += shape_of(result).elements();
  }
  int const result = parts.size() == 1 ? parts[0] : append("concatenate", parts);
  if (levels == 1) return set({.id = result, .dims = {-1, value.dims[1], 1, 1}});  // Caffe only pools
  set({.id = result, .dims = {-1, elements}});
}

void caffe_importer::lrn() {
  expect_bottoms(1, 1);
  caffe_value const value = bottom(0);
  int const from = image(value);
  std::int64_t const size = param_.integer("local_size", 5);
  double const alpha = param_.number("alpha", 1), beta = param_.number("beta", 0.75),
               k = param_.number("k", 1);
  if (size < 1 || size > max_caffe_window || size % 2 == 0)
    refuse("local_size is even, or out of range", "odd", {size});
  bool const within = choice("norm_region", {"ACROSS_CHANNELS", "WITHIN_CHANNEL"}, 0) == 1;
  if (!within)
    return set(value, append("lrn", {from},
                             {{"k", {k}},
                              {"n", {static_cast<double>(size)}},
                              {"alpha", {alpha / static_cast<double>(size)}},
                              {"beta", {beta}}}));
  // y = x·(1 + α·mean of x² in the window)^−β. A convolution with constant weights copies the elements of
  // each window to channels, so that LRN over these channels has the same sum; the middle channel is y.
  std::int64_t const area = size * size, channels = value.dims[1], places = value.dims[2] * value.dims[3];
  if (size > 31 || area * value.dims[1] > max_caffe_extent)
    refuse("the window of LRN within a channel is too large", "at most 31", {size});
  double const side = static_cast<double>(size / 2);
  int const copies = append("conv2d", {from},
                            {{"filters", {static_cast<double>(channels * area)}},
                             {"kernel", {static_cast<double>(size), static_cast<double>(size)}},
                             {"padding", encoded_padding(padding(static_cast<int>(side)))},
                             {"groups", {static_cast<double>(channels)}},
                             {"bias", {0}}});
  count_computed(static_cast<std::size_t>(channels * area * area));
  std::vector<float> weights(static_cast<std::size_t>(channels * area * area));
  for (std::int64_t i = 0; i < channels * area; ++i)
    weights[static_cast<std::size_t>(i * area + i % area)] = 1;
  constant(copies, "weights", std::move(weights));
  set_rates(copies,
            {.weights_rate = 0, .weights_decay = 0, .bias_rate = 0, .bias_decay = 0, .is_constant = true});
  int const normed = append("lrn", {copies},
                            {{"k", {1}},
                             {"n", {static_cast<double>(area)}},
                             {"alpha", {alpha / static_cast<double>(area)}},
                             {"beta", {beta}}});
  double const middle = static_cast<double>(area / 2 * places);
  int const result = append("subset", {as(normed, {channels, area * places})},
                            {{"first", {middle}}, {"last", {middle + static_cast<double>(places)}}});
  set(value, as(result, inner(value)));
}

// ---- products ----
void caffe_importer::inner_product() {
  expect_bottoms(1, 1);
  caffe_value const value = bottom(0);
  if (value.dims.empty()) node(value);  // refuses with advice
  int const axis = axis_of(param_.integer("axis", 1), value.dims.size());
  around const part = split(value, axis, static_cast<int>(value.dims.size()));
  std::int64_t const units = param_.integer("num_output", 0);
  bool const has_bias = param_.boolean("bias_term", true), transposed = param_.boolean("transpose", false);
  if (units < 1 || units > max_caffe_elements / part.along)
    refuse("num_output is out of range", {"1 to ", max_caffe_elements / part.along}, {units});
  int from = node(value);
  if (part.before > 1)
    from = as(from, {part.before, part.along});
  else if (shape_of(from).rank == 2)
    from = as(from, {part.along});
  extents const dims = transposed ? extents{part.along, units} : extents{units, part.along};
  filling const weights = filled(param_.message("weight_filler"), dims),
                bias = filled(param_.message("bias_filler"), {units});
  int const owner = shared_owner(has_bias ? 2 : 1, transposed);
  int const result = append(
      "dense", {from}, {{"units", {static_cast<double>(units)}}, {"bias", {has_bias ? 1.0 : 0.0}}},
      owner >= 0 ? layer_settings{} : layer_settings{.weights = initial(weights), .bias = initial(bias)},
      owner);
  if (owner < 0) {
    caffe_parameter_blob form;
    if (transposed) form = {.rows = units, .columns = part.along, .total = part.along, .transposed = true};
    parameter(result, "weights", 0, dims, weights, form);
    if (has_bias) parameter(result, "bias", 1, {units}, bias);
    rates(result, {false, true});
  }
  extents out(value.dims.begin(), value.dims.begin() + axis);
  out.push_back(units);
  set({.id = result, .dims = std::move(out)});
}

void caffe_importer::embed() {
  expect_bottoms(1, 1);
  caffe_value const value = bottom(0);
  std::int64_t const units = param_.integer("num_output", 0), words = param_.integer("input_dim", 0);
  if (units < 1 || words < 1 || words > max_caffe_extent || units > max_caffe_elements / words)
    refuse("num_output or input_dim is out of range", {"1 to ", max_caffe_elements, " weights"},
           {words, " x ", units});
  std::int64_t const indices = split(value, 0, 0).after;
  filling const weights = filled(param_.message("weight_filler"), {words, units});
  bool const has_bias = param_.boolean("bias_term", true);
  if (has_bias && shared_owner(2) >= 0)
    refuse("the layer shares an embedding with a bias", "bias_term false, or parameters of its own",
           "shared");
  int const owner = has_bias ? -1 : shared_owner(1);
  int result = append("embedding", {as(value, {indices})},
                      {{"vocabulary", {static_cast<double>(words)}}, {"width", {static_cast<double>(units)}}},
                      owner >= 0 ? layer_settings{} : layer_settings{.weights = initial(weights)}, owner);
  if (owner < 0) {
    parameter(result, "weights", 0, {words, units}, weights);
    rates(result, {false});
  }
  if (has_bias) {
    filling const bias = filled(param_.message("bias_filler"), {units});
    result = append("permute", {result}, {{"order", {2, 1, 0}}});
    result = append("conv2d", {as(result, {units, indices, 1})},
                    {{"filters", {static_cast<double>(units)}},
                     {"kernel", {1, 1}},
                     {"groups", {static_cast<double>(units)}}},
                    {.bias = initial(bias)});
    constant(result, "weights", 1);
    parameter(result, "bias", 1, {units}, bias);
    caffe_rates own{.weights_rate = 0, .weights_decay = 0};
    if (auto const params = layer_->message.messages("param"); params.size() > 1) {
      own.bias_rate = params[1]->number("lr_mult", 1);
      own.bias_decay = params[1]->number("decay_mult", 1);
    }
    set_rates(result, own);
    result = append("permute", {as(result, {units, indices})}, {{"order", {2, 1, 0}}});
  }
  extents dims = value.dims;
  dims.push_back(units);
  set({.id = result, .dims = std::move(dims)});
}

void caffe_importer::eltwise() {
  expect_bottoms(2, 64);
  int const operation = choice("operation", {"PROD", "SUM", "MAX"}, 1);
  std::vector<double> const factors = param_.numbers("coeff");
  if (!factors.empty() && (operation != 1 || factors.size() != bottoms()))
    refuse("coeff does not fit the bottoms", {"none, or ", bottoms(), " values for SUM"}, {factors.size()});
  std::vector<int> parts;
  for (std::size_t b = 0; b < bottoms(); ++b) {
    if (bottom(b).dims != bottom(0).dims)
      refuse("the bottoms have different extents", dims_text(bottom(0).dims), dims_text(bottom(b).dims));
    int part = node(bottom(b));
    if (b > 0 && !(shape_of(part) == shape_of(parts[0]))) {
      extents like;
      for (int axis = 0; axis < shape_of(parts[0]).rank; ++axis) like.push_back(shape_of(parts[0])[axis]);
      part = as(part, like);
    }
    parts.push_back(part);
  }
  for (std::size_t b = 0; b < factors.size(); ++b) parts[b] = affine(parts[b], factors[b], 0);
  static constexpr std::string_view kinds[]{"multiply", "add", "maximum"};
  set(bottom(0), append(kinds[operation], parts));
}

}  // namespace cohort::detail
