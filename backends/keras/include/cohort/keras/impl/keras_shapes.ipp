// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cohort/keras/detail/keras_translation.hpp>
#include <cohort/layer/layers.hpp>
#include <functional>
#include <numeric>

namespace cohort::detail {

namespace keras_windows {

/// Padding of one axis, in elements.
struct sides {
  int before = 0, after = 0;
};

/// Reads paddings of the axes: {{1, 2}, {3, 4}}, {1, 3} or 2.
inline std::vector<sides> read_sides(std::optional<io::json_value> from, std::size_t axes, sides otherwise) {
  std::vector<sides> made(axes, otherwise);
  if (!from) return made;
  auto const number = [](io::json_value one) { return static_cast<int>(one.integer(0, 1 << 16)); };
  if (from->kind() == io::json_kind::number) {
    made.assign(axes, {number(*from), number(*from)});
    return made;
  }
  if (axes == 1 && from->size() == 2 && from->at(std::size_t{0}).kind() == io::json_kind::number)
    return {{number(from->at(std::size_t{0})), number(from->at(std::size_t{1}))}};
  if (from->size() != axes) from->refuse(std::to_string(axes) + " entries");
  for (std::size_t axis = 0; axis < axes; ++axis) {
    io::json_value const one = from->at(axis);
    if (one.kind() == io::json_kind::number)
      made[axis] = {number(one), number(one)};
    else
      made[axis] = {number(one.at(std::size_t{0})), number(one.at(std::size_t{1}))};
  }
  return made;
}

/// Refuses extents outside 1 … `most`. With the callers' values of `most`, no sum or product overflows.
inline void check(keras_fields const& of, char const* what, std::vector<int> const& extents, int most) {
  for (int const one : extents)
    if (one < 1 || one > most)
      of.refuse(std::string(what) + " is out of range", "1 to " + std::to_string(most) + " along each axis",
                keras_text(extents));
}
inline void check(keras_fields const& of, std::vector<int> const& kernel, std::vector<int> const& stride,
                  std::vector<int> const& dilation) {
  check(of, "the kernel", kernel, 4096);
  check(of, "the stride", stride, keras_limits::largest_window);
  check(of, "the dilation", dilation, keras_limits::largest_window);
}

}  // namespace keras_windows

// ---- convolutions ----------------------------------------------------------------------------------------

/// With Theano, the number of elements before the input depends on the window only: half of it for a
/// convolution; for pooling all but one, or all but two if the window is odd.
///
/// Source    keras/backend/theano_backend.py of Keras 2.2: conv2d, pool2d.
padding keras_translation::same_padding(extent2 image, extent2 window, extent2 stride, bool pools) const {
  if (!is_theano_) return padding::same;
  auto const along = [&](int extent, int size, int step) {
    int const before = !pools ? size / 2 : size > 2 && size % 2 == 1 ? size - 2 : size - 1;
    int const last = (extent - 1) / step * step + size - before;  // end of the last window
    return keras_windows::sides{before, std::max(last - extent, 0)};
  };
  keras_windows::sides const v = along(image.height, window.height, stride.height),
                             h = along(image.width, window.width, stride.width);
  return padding(v.before, v.after, h.before, h.after);
}

keras_translation::values keras_translation::convolution(call const& c) {
  keras_value const& x = only(c);
  keras_fields const& f = c.fields;
  bool const is_sequence = c.class_name.find("1D") != std::string::npos;
  bool const is_depthwise = c.class_name.starts_with("Depthwise");
  std::size_t const axes = is_sequence ? 1 : 2;
  expect_rank(c, axes + 1);
  if (is_sequence && images_first_)
    refuse("Cohort's sequences are T×C", "data_format channels_last", "channels_first");

  std::vector<int> kernel;
  if (version_ == 1 && is_sequence)
    kernel = {f.integer({"filter_length"})};
  else if (version_ == 1)
    kernel = {f.integer({"nb_row"}), f.integer({"nb_col"})};
  else
    kernel = f.numbers({"kernel_size"}, axes, {});
  if (kernel.size() != axes) refuse("the configuration has no field kernel_size", "a value", "none");
  std::vector<int> const stride =
      f.numbers({"strides", "subsample", "subsample_length"}, axes, std::vector<int>(axes, 1));
  std::vector<int> const dilation =
      f.numbers({"dilation_rate", "atrous_rate"}, axes, std::vector<int>(axes, 1));
  keras_windows::check(f, kernel, stride, dilation);
  std::string const mode = f.text({"padding", "border_mode"}, "valid");
  padding pad = padding::valid;
  auto const dilated_by = [&](std::size_t axis) { return (kernel[axis] - 1) * dilation[axis] + 1; };
  if (mode == "same") {
    shape const image = extents_of(x);  // T×C or C×H×W
    pad = is_sequence ? same_padding({1, image[0]}, {1, dilated_by(0)}, {1, stride[0]}, false)
                      : same_padding({image[1], image[2]}, {dilated_by(0), dilated_by(1)},
                                     {stride[0], stride[1]}, false);
  } else if (mode == "causal" && is_sequence) {
    pad = padding(0, 0, (kernel[0] - 1) * dilation[0], 0);
  } else if (mode != "valid") {
    refuse("the padding is unknown", "valid, same or causal", mode);
  }
  int const channels = channels_of(x);
  int const multiplier = is_depthwise ? f.integer({"depth_multiplier"}, 1) : 1;
  int const given_groups = f.integer({"groups"}, 1), groups = is_depthwise ? channels : given_groups;
  if (is_depthwise && given_groups != 1)
    refuse("a depthwise convolution has one group for each channel", "groups 1",
           std::to_string(given_groups));
  expect_elements(static_cast<double>(channels) * multiplier);
  if (groups < 1 || channels % groups != 0)
    refuse("the channels must be a multiple of the groups", std::to_string(channels), std::to_string(groups));
  int const filters = is_depthwise ? channels * multiplier : f.integer({"filters", "nb_filter"});
  bool const bias = f.flag({"use_bias", "bias"}, true);
  if (is_depthwise && !is_sequence && stride[0] != stride[1])
    refuse("Keras' depthwise convolution needs equal strides", "equal strides", keras_text(stride));

  int id = 0;
  if (is_sequence)
    id = record(conv1d{.filters = filters,
                       .kernel = kernel[0],
                       .stride = stride[0],
                       .padding = pad,
                       .dilation = dilation[0],
                       .groups = groups,
                       .bias = bias},
                {id_of(x)});
  else
    id = record(conv2d{.filters = filters,
                       .kernel = extent2(kernel[0], kernel[1]),
                       .stride = {stride[0], stride[1]},
                       .padding = pad,
                       .dilation = {dilation[0], dilation[1]},
                       .groups = groups,
                       .bias = bias},
                {id_of(x)});
  override_layer(id, f, is_depthwise ? "depthwise" : "kernel", "bias");

  int const area = std::accumulate(kernel.begin(), kernel.end(), 1, std::multiplies<>());
  if (version_ == 1 && !is_sequence && images_first_) {
    weigh_kernels(id, {filters, channels, kernel[0], kernel[1]}, {}, area);
  } else {
    std::vector<int> dims = kernel;
    if (version_ == 1 && is_sequence) dims.push_back(1);  // Keras 1: (length, 1, channels, filters)
    dims.push_back(is_depthwise ? channels : channels / groups);
    dims.push_back(is_depthwise ? multiplier : filters);
    std::vector<int> order;
    int const rank = static_cast<int>(dims.size());
    // (R, S, C, K) → K×C×R×S; depthwise (R, S, C, M) → (C·M)×1×R×S.
    if (is_depthwise)
      order = {rank - 2, rank - 1};
    else
      order = {rank - 1, rank - 2};
    for (int axis = 0; axis < rank - 2; ++axis) order.push_back(axis);
    if (is_depthwise)
      weigh(id, "weights", {}, dims, order);  // Theano does not flip these kernels
    else
      weigh_kernels(id, dims, order, area);
  }
  if (bias) weigh(id, "bias", {.index = 1}, {filters});

  shape const made = net_.view()[id].output;
  keras_value result = value(id, {});
  result.dims = is_sequence     ? std::vector<int>{made[0], made[1]}
                : images_first_ ? std::vector<int>{made[0], made[1], made[2]}
                                : std::vector<int>{made[1], made[2], made[0]};
  return {activate(result, f.object({"activation"}), c)};
}

keras_translation::values keras_translation::transposed_convolution(call const& c) {
  keras_value const& x = only(c);
  keras_fields const& f = c.fields;
  expect_rank(c, 3);
  auto const kernel = f.numbers({"kernel_size"}, 2, {}), stride = f.numbers({"strides"}, 2, {1, 1}),
             dilation = f.numbers({"dilation_rate"}, 2, {1, 1});
  if (kernel.size() != 2) refuse("the configuration has no field kernel_size", "a value", "none");
  keras_windows::check(f, kernel, stride, dilation);
  if (f.has("output_padding"))
    refuse("output_padding of a transposed convolution is not imported", "None", "a value");
  if (f.integer({"groups"}, 1) != 1)
    refuse("groups of a transposed convolution are not imported", "1", std::to_string(f.integer({"groups"})));
  if (dilation != std::vector<int>{1, 1})
    refuse("a dilated transposed convolution is not imported", "dilation_rate 1", keras_text(dilation));
  std::string const mode = f.text({"padding"}, "valid");
  if (mode != "valid" && mode != "same") refuse("the padding is unknown", "valid or same", mode);
  if (is_theano_ && mode == "same")
    refuse("Theano pads a transposed convolution in another way than TensorFlow", "padding valid", mode);
  for (std::size_t axis = 0; axis < 2; ++axis)
    if (kernel[axis] < stride[axis])
      refuse(
          "Keras adds rows behind the output of a transposed convolution whose kernel is smaller than its "
          "stride",
          "kernel_size ≥ strides", keras_text(kernel));
  int const filters = f.integer({"filters"}), channels = channels_of(x);
  bool const bias = f.flag({"use_bias"}, true);
  shape const input = extents_of(x);
  for (int axis = 1; axis < 3; ++axis)
    expect_elements(static_cast<double>(input[axis]) * stride[static_cast<std::size_t>(axis - 1)]);
  int const id = record(conv2d_transposed{.filters = filters,
                                          .kernel = extent2(kernel[0], kernel[1]),
                                          .stride = {stride[0], stride[1]},
                                          .padding = mode == "same" ? padding::same : padding::valid,
                                          .bias = bias},
                        {id_of(x)});
  override_layer(id, f, "kernel", "bias");
  weigh_kernels(id, {kernel[0], kernel[1], filters, channels}, {2, 3, 0, 1}, kernel[0] * kernel[1]);
  if (bias) weigh(id, "bias", {.index = 1}, {filters});
  shape const made = net_.view()[id].output;
  keras_value result = value(id, images_first_ ? std::vector<int>{made[0], made[1], made[2]}
                                               : std::vector<int>{made[1], made[2], made[0]});
  return {activate(result, f.object({"activation"}), c)};
}

keras_translation::values keras_translation::separable_convolution(call const& c) {
  keras_value const& x = only(c);
  keras_fields const& f = c.fields;
  bool const is_sequence = c.class_name.find("1D") != std::string::npos;
  std::size_t const axes = is_sequence ? 1 : 2;
  expect_rank(c, axes + 1);
  if (is_sequence && images_first_)
    refuse("Cohort's sequences are T×C", "data_format channels_last", "channels_first");
  auto const kernel = f.numbers({"kernel_size"}, axes, {}),
             stride = f.numbers({"strides"}, axes, std::vector<int>(axes, 1)),
             dilation = f.numbers({"dilation_rate"}, axes, std::vector<int>(axes, 1));
  if (kernel.size() != axes) refuse("the configuration has no field kernel_size", "a value", "none");
  keras_windows::check(f, kernel, stride, dilation);
  if (int const groups = f.integer({"groups"}, 1); groups != 1)
    refuse("a separable convolution has one group for each channel", "groups 1", std::to_string(groups));
  std::string const mode = f.text({"padding"}, "valid");
  padding pad = padding::valid;
  if (is_theano_ && mode == "same")
    refuse("Theano pads a separable convolution in another way than TensorFlow", "padding valid", mode);
  if (mode == "same")
    pad = padding::same;
  else if (mode == "causal" && is_sequence)
    pad = padding(0, 0, (kernel[0] - 1) * dilation[0], 0);
  else if (mode != "valid")
    refuse("the padding is unknown", "valid, same or causal", mode);
  int const channels = channels_of(x), multiplier = f.integer({"depth_multiplier"}, 1),
            filters = f.integer({"filters"});
  expect_elements(static_cast<double>(channels) * multiplier);
  int const between = channels * multiplier;
  bool const bias = f.flag({"use_bias"}, true);
  int depthwise = 0, pointwise = 0;
  if (is_sequence) {
    depthwise = record(conv1d{.filters = between,
                              .kernel = kernel[0],
                              .stride = stride[0],
                              .padding = pad,
                              .dilation = dilation[0],
                              .groups = channels,
                              .bias = false},
                       {id_of(x)}, "depthwise");
    pointwise = record(conv1d{.filters = filters, .kernel = 1, .bias = bias}, {depthwise});
    weigh(depthwise, "weights", {}, {kernel[0], channels, multiplier}, {1, 2, 0});
    weigh(pointwise, "weights", {.index = 1}, {1, between, filters}, {2, 1, 0});
  } else {
    depthwise = record(conv2d{.filters = between,
                              .kernel = extent2(kernel[0], kernel[1]),
                              .stride = {stride[0], stride[1]},
                              .padding = pad,
                              .dilation = {dilation[0], dilation[1]},
                              .groups = channels,
                              .bias = false},
                       {id_of(x)}, "depthwise");
    pointwise = record(conv2d{.filters = filters, .kernel = 1, .bias = bias}, {depthwise});
    weigh(depthwise, "weights", {}, {kernel[0], kernel[1], channels, multiplier}, {2, 3, 0, 1});
    weigh(pointwise, "weights", {.index = 1}, {1, 1, between, filters}, {3, 2, 0, 1});
  }
  if (bias) weigh(pointwise, "bias", {.index = 2}, {filters});
  override_layer(depthwise, f, "depthwise", "");
  override_layer(pointwise, f, "pointwise", "bias");
  shape const made = net_.view()[pointwise].output;
  keras_value result = value(pointwise, {});
  result.dims = is_sequence     ? std::vector<int>{made[0], made[1]}
                : images_first_ ? std::vector<int>{made[0], made[1], made[2]}
                                : std::vector<int>{made[1], made[2], made[0]};
  return {activate(result, f.object({"activation"}), c)};
}

// ---- pooling ---------------------------------------------------------------------------------------------

keras_translation::values keras_translation::pooling(call const& c) {
  keras_value const& x = only(c);
  keras_fields const& f = c.fields;
  bool const is_sequence = c.class_name.find("1D") != std::string::npos;
  std::size_t const axes = is_sequence ? 1 : 2;
  expect_rank(c, axes + 1);
  if (is_sequence && images_first_)
    refuse("Cohort's sequences are T×C", "data_format channels_last", "channels_first");
  std::vector<int> const size = f.numbers({"pool_size", "pool_length"}, axes, std::vector<int>(axes, 2));
  std::vector<int> const stride = f.numbers({"strides", "stride"}, axes, size);
  keras_windows::check(f, "the window", size, keras_limits::largest_extent);
  keras_windows::check(f, "the stride", stride, keras_limits::largest_extent);
  std::string const mode = f.text({"padding", "border_mode"}, "valid");
  if (mode != "valid" && mode != "same") refuse("the padding is unknown", "valid or same", mode);
  bool const is_max = c.class_name.starts_with("Max");
  // A sequence T×C is pooled as an image 1×T×C with windows of one column.
  extent2 const window = is_sequence ? extent2(size[0], 1) : extent2(size[0], size[1]);
  extent2 const step = is_sequence ? extent2(stride[0], 1) : extent2(stride[0], stride[1]);
  int from = id_of(x);
  if (is_sequence) from = reshaped(from, {1, x.dims[0], x.dims[1]}, "image");
  shape const image = net_.view()[from].output;
  padding const pad =
      mode == "same" ? same_padding({image[1], image[2]}, window, step, true) : padding::valid;
  int id = is_max ? record(max_pool{.window = window, .stride = step, .padding = pad}, {from})
                  : record(avg_pool{.window = window, .stride = step, .padding = pad}, {from});
  shape const made = net_.view()[id].output;
  if (is_sequence) return {value(reshaped(id, {made[1], made[2]}, "sequence"), {made[1], made[2]})};
  return {value(id, images_first_ ? std::vector<int>{made[0], made[1], made[2]}
                                  : std::vector<int>{made[1], made[2], made[0]})};
}

keras_translation::values keras_translation::adaptive_pooling(call const& c) {
  keras_value const& x = only(c);
  bool const is_sequence = c.class_name.find("1D") != std::string::npos;
  std::size_t const axes = is_sequence ? 1 : 2;
  expect_rank(c, axes + 1);
  if (is_sequence && images_first_)
    refuse("Cohort's sequences are T×C", "data_format channels_last", "channels_first");
  std::vector<int> const wanted = c.fields.numbers({"output_size"}, axes, {});
  if (wanted.size() != axes) refuse("the configuration has no field output_size", "a value", "none");
  shape const input = is_sequence ? shape{1, x.dims[0], x.dims[1]} : extents_of(x);
  extent2 window(1, 1);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    int const extent = input[static_cast<int>(axis) + 1];
    if (wanted[axis] < 1 || extent % wanted[axis] != 0)
      refuse("adaptive pooling is imported only if the input is a multiple of the output",
             "a divisor of " + std::to_string(extent), std::to_string(wanted[axis]));
    (axis == 0 ? window.height : window.width) = extent / wanted[axis];
  }
  int from = id_of(x);
  if (is_sequence) from = reshaped(from, input, "image");
  bool const is_max = c.class_name.starts_with("AdaptiveMax");
  int const id =
      is_max ? record(max_pool{.window = window}, {from}) : record(avg_pool{.window = window}, {from});
  shape const made = net_.view()[id].output;
  if (is_sequence) return {value(reshaped(id, {made[1], made[2]}, "sequence"), {made[1], made[2]})};
  return {value(id, images_first_ ? std::vector<int>{made[0], made[1], made[2]}
                                  : std::vector<int>{made[1], made[2], made[0]})};
}

keras_translation::values keras_translation::global_pooling(call const& c) {
  keras_value const& x = only(c);
  bool const is_sequence = c.class_name.find("1D") != std::string::npos;
  bool const is_max = c.class_name.starts_with("GlobalMax");
  expect_rank(c, is_sequence ? 2 : 3);
  if (is_sequence && images_first_)
    refuse("Cohort's sequences are T×C", "data_format channels_last", "channels_first");
  int const channels = channels_of(x);
  int id = is_max ? record(global_max_pool{}, {id_of(x)}) : record(global_avg_pool{}, {id_of(x)});
  if (!c.fields.flag({"keepdims"}, false)) return {value(id, {channels})};
  if (is_sequence) return {value(reshaped(id, {1, channels}, "kept"), {1, channels})};
  return {value(reshaped(id, {channels, 1, 1}, "kept"),
                images_first_ ? std::vector<int>{channels, 1, 1} : std::vector<int>{1, 1, channels})};
}

// ---- reshaping -------------------------------------------------------------------------------------------

namespace keras_orders {

/// Returns whether H×W×C and C×H×W have the same order of elements.
inline bool is_same(std::vector<int> const& dims) {
  return dims.size() != 3 || dims[2] == 1 || dims[0] * dims[1] == 1;
}

/// Largest total number of elements of all orders (256 MiB).
inline constexpr std::int64_t most_elements = std::int64_t{1} << 26;

}  // namespace keras_orders

bool keras_translation::has_keras_order(std::vector<int> const& dims) const {
  return images_first_ || keras_orders::is_same(dims);
}

keras_order keras_translation::order_of_image(std::vector<int> const& dims) {
  std::int64_t const area = std::int64_t{dims[0]} * dims[1], channels = dims[2];
  if ((order_elements_ += area * channels) > keras_orders::most_elements)
    refuse("the flattened images are too large, because their elements are in another order in Cohort",
           "at most 2^26 elements of all flattened images together", keras_text(dims));
  std::vector<int> order(static_cast<std::size_t>(area * channels));
  for (std::int64_t place = 0; place < area; ++place)
    for (std::int64_t k = 0; k < channels; ++k)
      order[static_cast<std::size_t>(place * channels + k)] = static_cast<int>(k * area + place);
  return keras_order(std::move(order));
}

keras_translation::values keras_translation::flatten_layer(call const& c) {
  keras_value const& x = only(c);
  if (x.dims.size() == 1) return {x};
  int const count = std::accumulate(x.dims.begin(), x.dims.end(), 1, std::multiplies<>());
  keras_value made = value(record(flatten{}, {id_of(x)}), {count});
  if (x.dims.size() == 3 && !images_first_ && !keras_orders::is_same(x.dims))
    made.order = order_of_image(x.dims);
  // With channels_first, Keras moves the channels to the end before it flattens.
  bool const moves = x.dims.size() == 3 && images_first_
                     && c.fields.text({"data_format"}, "channels_last") == "channels_first";
  if (moves) {
    std::vector<int> const dims{x.dims[1], x.dims[2], x.dims[0]};
    if (!keras_orders::is_same(dims)) made.order = order_of_image(dims);
  }
  return {made};
}

keras_translation::values keras_translation::reshape_layer(call const& c) {
  keras_value const& x = only(c);
  auto const target = c.fields.find({"target_shape", "dims"});
  if (!target) refuse("the configuration has no field target_shape", "a value", "none");
  std::vector<int> dims;
  std::int64_t known = 1, count = 1;
  int open = -1;
  for (io::json_value const one : target->items()) {
    int const extent = static_cast<int>(one.integer(-1, keras_limits::largest_extent));
    if (extent == -1)
      open = static_cast<int>(dims.size());
    else
      known *= extent;
    dims.push_back(extent);
    if (dims.size() > 3 || known > (std::int64_t{1} << 30))
      refuse("Cohort has tensors of one to three axes besides the batch",
             "1 to 3 axes with at most 2^30 elements", keras_text(dims));
  }
  for (int const extent : x.dims) count *= extent;
  if (open >= 0 && known > 0 && count % known == 0)
    dims[static_cast<std::size_t>(open)] = static_cast<int>(count / known), known = count;
  if (dims.empty() || known != count)
    refuse("a reshape keeps the number of elements", std::to_string(count), keras_text(dims));
  if (dims == x.dims) return {x};
  keras_value made{.dims = dims};
  bool const to_image = !has_keras_order(dims), from_image = !has_keras_order(x.dims);
  bool const is_back = to_image && !x.order.empty() && x.order == order_of_image(dims);
  if (from_image && dims.size() == 1) {
    made = value(record(flatten{}, {id_of(x)}), dims);
    made.order = order_of_image(x.dims);
    return {made};
  }
  shape const extents = extents_of(made);
  if (is_back) return {value(record(reshape{.extents = extents}, {id_of(x)}), dims)};
  if (!x.order.empty())
    refuse("a flattened image gets other extents, but its elements are in another order in Cohort",
           "the extents of the image, or Reshape instead of Flatten", keras_text(dims));
  // Keras reshapes the elements of an image in the order H×W×C.
  int id = id_of(x);
  if (from_image) {
    permute to_keras{.order = {1, 2, 0}};
    if (!to_image) to_keras.extents = extents;
    id = record(to_keras, {id});
  }
  if (to_image)
    id = record(permute{.order = {2, 0, 1}, .view = {dims[0], dims[1], dims[2]}}, {id});
  else if (!from_image)
    id = record(reshape{.extents = extents}, {id});
  return {value(id, dims)};
}

keras_translation::values keras_translation::permute_layer(call const& c) {
  keras_value const& x = only(c);
  auto const axes = c.fields.numbers({"dims"}, x.dims.size(), {});
  if (axes.size() != x.dims.size()) refuse("the configuration has no field dims", "a value", "none");
  std::vector<int> dims;
  for (int const axis : axes) {
    if (axis < 1 || axis > static_cast<int>(x.dims.size()))
      refuse("dims is out of range", "1 to " + std::to_string(x.dims.size()), std::to_string(axis));
    dims.push_back(x.dims[static_cast<std::size_t>(axis - 1)]);
  }
  if (std::ranges::is_sorted(axes)) return {x};
  // Axis k of the network's image is axis stored[k] of Keras' image.
  bool const is_turned = x.dims.size() == 3 && !images_first_;
  std::array<int, 3> const stored = is_turned ? std::array{2, 0, 1} : std::array{0, 1, 2};
  axis_order order;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    int const axis = axes[static_cast<std::size_t>(stored[k])] - 1;
    order[order.rank++] = static_cast<int>(std::ranges::find(stored, axis) - stored.begin());
  }
  return {value(record(permute{.order = order}, {id_of(x)}), dims)};
}

keras_translation::values keras_translation::repeat_vector(call const& c) {
  keras_value const& x = only(c);
  expect_rank(c, 1);
  expect_plain_order(x);
  int const times = c.fields.integer({"n"}), width = x.dims[0];
  if (times < 1 || times > 1 << 16) refuse("n is out of range", "1 to 65536", std::to_string(times));
  expect_elements(static_cast<double>(times) * width);
  // Repeats the vector as the only row of an image.
  int const image = reshaped(id_of(x), {1, 1, width}, "image");
  int const repeated = record(upsampling{.factor = extent2(times, 1)}, {image});
  return {value(reshaped(repeated, {times, width}, "sequence"), {times, width})};
}

keras_translation::values keras_translation::upsampling_layer(call const& c) {
  keras_value const& x = only(c);
  bool const is_sequence = c.class_name == "UpSampling1D";
  expect_rank(c, is_sequence ? 2 : 3);
  std::string const how = c.fields.text({"interpolation"}, "nearest");
  if (how != "nearest" && how != "bilinear")
    refuse("Cohort has no such interpolation", "nearest or bilinear", how);
  std::vector<int> const size =
      c.fields.numbers({"size", "length"}, is_sequence ? 1 : 2, std::vector<int>(is_sequence ? 1 : 2, 2));
  for (int const one : size)
    if (one < 1 || one > 1024) refuse("the factor is out of range", "1 to 1024", keras_text(size));
  double elements = 1;
  for (int const extent : x.dims) elements *= extent;
  for (int const one : size) elements *= one;
  expect_elements(elements);
  int from = id_of(x);
  if (is_sequence) from = reshaped(from, {1, x.dims[0], x.dims[1]}, "image");
  extent2 const factor = is_sequence ? extent2(size[0], 1) : extent2(size[0], size[1]);
  int const id = how == "nearest" ? record(upsampling{.factor = factor}, {from})
                                  : record(bilinear_upsampling{.factor = factor}, {from});
  shape const made = net_.view()[id].output;
  if (is_sequence) return {value(reshaped(id, {made[1], made[2]}, "sequence"), {made[1], made[2]})};
  return {value(id, images_first_ ? std::vector<int>{made[0], made[1], made[2]}
                                  : std::vector<int>{made[1], made[2], made[0]})};
}

keras_translation::values keras_translation::padding_layer(call const& c) {
  keras_value const& x = only(c);
  bool const is_sequence = c.class_name == "ZeroPadding1D";
  expect_rank(c, is_sequence ? 2 : 3);
  auto const sides = keras_windows::read_sides(c.fields.find({"padding"}), is_sequence ? 1 : 2, {1, 1});
  int from = id_of(x);
  if (is_sequence) from = reshaped(from, {1, x.dims[0], x.dims[1]}, "image");
  padding const by = is_sequence ? padding(sides[0].before, sides[0].after, 0, 0)
                                 : padding(sides[0].before, sides[0].after, sides[1].before, sides[1].after);
  int const id = record(zero_padding{.sides = by}, {from});
  shape const made = net_.view()[id].output;
  if (is_sequence) return {value(reshaped(id, {made[1], made[2]}, "sequence"), {made[1], made[2]})};
  return {value(id, images_first_ ? std::vector<int>{made[0], made[1], made[2]}
                                  : std::vector<int>{made[1], made[2], made[0]})};
}

keras_translation::values keras_translation::cropping_layer(call const& c) {
  keras_value const& x = only(c);
  bool const is_sequence = c.class_name == "Cropping1D";
  expect_rank(c, is_sequence ? 2 : 3);
  std::vector<keras_windows::sides> sides;
  if (c.class_name == "CenterCrop") {
    shape const input = extents_of(x);
    int const height = c.fields.integer({"height"}), width = c.fields.integer({"width"});
    if (height > input[1] || width > input[2] || height < 1 || width < 1)
      refuse("Keras resizes an image that is smaller than the crop",
             "at most " + to_string(shape{input[1], input[2]}), to_string(shape{height, width}));
    int const top = (input[1] - height) / 2, left = (input[2] - width) / 2;
    sides = {{top, input[1] - height - top}, {left, input[2] - width - left}};
  } else {
    sides = keras_windows::read_sides(c.fields.find({"cropping"}), is_sequence ? 1 : 2,
                                      is_sequence ? keras_windows::sides{1, 1} : keras_windows::sides{0, 0});
  }
  int from = id_of(x);
  if (is_sequence) from = reshaped(from, {1, x.dims[0], x.dims[1]}, "image");
  padding const by = is_sequence ? padding(sides[0].before, sides[0].after, 0, 0)
                                 : padding(sides[0].before, sides[0].after, sides[1].before, sides[1].after);
  int const id = record(cropping{.sides = by}, {from});
  shape const made = net_.view()[id].output;
  if (is_sequence) return {value(reshaped(id, {made[1], made[2]}, "sequence"), {made[1], made[2]})};
  return {value(id, images_first_ ? std::vector<int>{made[0], made[1], made[2]}
                                  : std::vector<int>{made[1], made[2], made[0]})};
}

// ---- merging ---------------------------------------------------------------------------------------------

keras_translation::values keras_translation::merge(call const& c) {
  if (c.inputs.size() < 2)
    refuse(c.class_name + " needs at least two inputs", "2", std::to_string(c.inputs.size()));
  if (c.class_name == "Merge") {
    std::string const mode = c.fields.text({"mode"}, "sum");
    call named = c;
    if (mode == "concat") {
      named.class_name = "Concatenate";
      return concatenation(named);
    }
    named.class_name = mode == "sum"   ? "Add"
                       : mode == "mul" ? "Multiply"
                       : mode == "ave" ? "Average"
                       : mode == "max" ? "Maximum"
                                       : "";
    if (named.class_name.empty())
      refuse("the mode of Merge is not imported", "sum, mul, ave, max or concat", mode);
    return merge(named);
  }
  std::vector<int> ids, dims = c.inputs[0].dims;
  bool const has_first = has_mask(c.inputs[0]);
  for (keras_value const& v : c.inputs) {
    if (v.dims.size() != dims.size())
      refuse("the inputs must have equally many axes", keras_text(dims), keras_text(v.dims));
    if (v.order != c.inputs[0].order)
      refuse("the inputs are flattened images in different orders",
             "images that were flattened in the same order", "different orders");
    if (has_mask(v) != has_first)
      refuse("Keras drops the mask if only some of the inputs have one, Cohort keeps it",
             "inputs with the same mask", "inputs with and without mask");
    for (std::size_t axis = 0; axis < dims.size(); ++axis) dims[axis] = std::max(dims[axis], v.dims[axis]);
    ids.push_back(id_of(v));
  }
  auto const made = [&](int id) {
    keras_value result = value(id, dims);
    result.order = c.inputs[0].order;
    return values{result};
  };
  std::string const& name = c.class_name;
  if (name == "Add") return made(record(add{}, ids));
  if (name == "Multiply") return made(record(multiply{}, ids));
  if (name == "Average") return made(record(average{}, ids));
  if (name == "Maximum") return made(record(maximum{}, ids));
  if (name == "Subtract") {
    if (ids.size() != 2) refuse("Subtract has two inputs", "2", std::to_string(ids.size()));
    return made(record(add{}, {ids[0], record(scale{.factor = -1}, {ids[1]}, "negated")}));
  }
  std::vector<int> negated;
  for (int const id : ids) negated.push_back(record(scale{.factor = -1}, {id}, "negated"));
  return made(record(scale{.factor = -1}, {record(maximum{}, negated, "maximum")}));
}

keras_translation::values keras_translation::concatenation(call const& c) {
  if (c.inputs.size() < 2)
    refuse("Concatenate needs at least two inputs", "2", std::to_string(c.inputs.size()));
  int axis = c.fields.integer({"axis", "concat_axis"}, -1);
  keras_value const& first = c.inputs[0];
  std::vector<int> dims = first.dims, ids;
  int const rank = static_cast<int>(dims.size());
  if (axis < 0) axis += rank + 1;
  if (axis < 1 || axis > rank)
    refuse("the axis is out of range", "1 to " + std::to_string(rank), std::to_string(axis));
  std::size_t const at = static_cast<std::size_t>(axis - 1);
  bool const has_first = has_mask(first);
  bool has_order = false;
  std::int64_t total = 0;
  for (keras_value const& v : c.inputs) {
    if (v.dims.size() != dims.size())
      refuse("the inputs must have equally many axes", keras_text(dims), keras_text(v.dims));
    if (has_mask(v) != has_first)
      refuse("Cohort needs the same mask for all inputs", "inputs with the same mask",
             "inputs with and without mask");
    for (std::size_t other = 0; other < dims.size(); ++other)
      if (other != at && v.dims[other] != dims[other])
        refuse("the inputs differ along another axis", keras_text(dims), keras_text(v.dims));
    has_order = has_order || !v.order.empty();
    total += v.dims[at];
    ids.push_back(id_of(v));
  }
  double elements = static_cast<double>(total);
  for (std::size_t other = 0; other < dims.size(); ++other)
    if (other != at) elements *= dims[other];
  expect_elements(elements);
  dims[at] = static_cast<int>(total);
  if (is_channel_axis(axis, first)) {
    keras_value made = value(record(concatenate{}, ids), dims);
    if (has_order) {
      if ((order_elements_ += total) > keras_orders::most_elements)
        refuse("the flattened images are too large, because their elements are in another order in Cohort",
               "at most 2^26 elements of all flattened images together", keras_text(dims));
      std::vector<int> order;
      int offset = 0;
      for (keras_value const& v : c.inputs) {
        for (int k = 0; k < v.dims[0]; ++k)
          order.push_back(offset + (v.order.empty() ? k : v.order[static_cast<std::size_t>(k)]));
        offset += v.dims[0];
      }
      made.order = keras_order(std::move(order));
    }
    return {made};
  }
  if (rank == 3) {                                          // the concatenated axis becomes the channel axis
    int const place = images_first_ ? axis - 1 : axis % 3;  // index of the axis in the network
    permute const turned{.order = place == 1 ? axis_order{1, 0, 2} : axis_order{2, 1, 0}};
    for (int& id : ids) id = record(turned, {id});
    return {value(record(turned, {record(concatenate{}, ids)}), dims)};
  }
  if (has_first)
    refuse("Cohort concatenates masked sequences along the channels", "the channel axis",
           std::to_string(axis));
  // The steps of a sequence are contiguous, so sequences are joined as vectors.
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = reshaped(ids[i], {c.inputs[i].dims[0] * c.inputs[i].dims[1]}, "vector");
  int const joined = record(concatenate{}, ids);
  return {value(reshaped(joined, {dims[0], dims[1]}, "sequence"), dims)};
}

keras_translation::values keras_translation::dot(call const& c) {
  if (c.inputs.size() != 2) refuse("Dot has two inputs", "2", std::to_string(c.inputs.size()));
  c.fields.expect_unset({"normalize"}, "Cohort has no cosine of two vectors");
  keras_value const &a = c.inputs[0], &b = c.inputs[1];
  expect_plain_order(a);
  expect_plain_order(b);
  auto axes = c.fields.numbers({"axes", "dot_axes"}, 2, {});
  if (axes.size() != 2) refuse("the configuration has no field axes", "a value", "none");
  for (std::size_t i = 0; i < 2; ++i)
    if (axes[i] < 0) axes[i] += static_cast<int>(c.inputs[i].dims.size()) + 1;
  if (a.dims.size() == 1 && b.dims.size() == 1) {
    int const width = a.dims[0];
    if (b.dims[0] != width)
      refuse("the vectors must have the same length", std::to_string(width), std::to_string(b.dims[0]));
    int const product =
        record(matmul{}, {reshaped(id_of(a), {1, width}, "row"), reshaped(id_of(b), {width, 1}, "column")});
    return {value(reshaped(product, {1}, "vector"), {1})};
  }
  if (a.dims.size() != 2 || b.dims.size() != 2)
    refuse("Dot is imported only for two vectors or two sequences", "1 or 2 axes besides the batch",
           keras_text(a.dims) + " and " + keras_text(b.dims));
  bool const ta = axes[0] == 1, tb = axes[1] == 2;
  int const rows = a.dims[ta ? 1 : 0], columns = b.dims[tb ? 0 : 1];
  return {value(record(matmul{.transpose_a = ta, .transpose_b = tb}, {id_of(a), id_of(b)}), {rows, columns})};
}

}  // namespace cohort::detail
