// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/interchange/detail/deeplearning4j_translation.hpp>
#include <cohort/layer/layers.hpp>

namespace cohort::detail {

namespace deeplearning4j_windows {

inline constexpr int largest = 4096;

/// A window of a convolution or pooling layer.
struct window {
  extent2 kernel = 1, stride = 1, dilation = 1;
  cohort::padding padding{};
};

/// Reads the window of a layer. `is_sequence`: the window is along the steps, and its second extents are
/// ignored.
inline window read_window(deeplearning4j_object const& of, extent2 default_stride, bool is_sequence) {
  window result{of.extents("kernelSize", 1), of.extents("stride", default_stride), of.extents("dilation", 1)};
  extent2 pad = of.extents("padding", 0);
  if (is_sequence)
    for (extent2* const pair : {&result.kernel, &result.stride, &result.dilation}) pair->width = 1;
  if (is_sequence) pad.width = 0;
  for (extent2 const pair : {result.kernel, result.stride, result.dilation})
    if (pair.height < 1 || pair.width < 1 || pair.height > largest || pair.width > largest)
      of.refuse("a window is out of range", "extents from 1 to 4096",
                std::to_string(pair.height) + "x" + std::to_string(pair.width));
  if (pad.height < 0 || pad.width < 0 || pad.height > largest || pad.width > largest)
    of.refuse("a padding is out of range", "0 to 4096",
              std::to_string(pad.height) + "x" + std::to_string(pad.width));
  std::string const mode = of.text("convolutionMode", "Truncate");
  int const reach = (result.kernel.height - 1) * result.dilation.height;
  if (mode == "Same")
    result.padding = padding::same;
  else if (mode == "Causal" && is_sequence)
    result.padding = cohort::padding(reach, 0, 0, 0);
  else if (mode != "Truncate" && mode != "Strict")
    of.refuse("the convolutionMode is not imported", "Truncate, Strict, Same, or Causal of sequences", mode);
  else if (pad != extent2(0))
    result.padding = cohort::padding(pad.height, pad.height, pad.width, pad.width);
  return result;
}

/// Returns the padding along the steps of a sequence, as for conv1d.
inline padding along_steps(padding const& by) {
  return by.mode == padding_mode::sides ? padding(0, 0, by.top, by.bottom) : by;
}

inline std::size_t product(std::initializer_list<int> extents) {
  std::size_t result = 1;
  for (int const extent : extents) result *= static_cast<std::size_t>(extent);
  return result;
}

}  // namespace deeplearning4j_windows

/// T×C as an image of one channel, 1×T×C.
int deeplearning4j_translation::as_image(int x) { return reshaped(x, {1, dims(x)[0], dims(x)[1]}, "image"); }

int deeplearning4j_translation::as_sequence(int x) {
  return reshaped(x, {dims(x)[1], dims(x)[2]}, "sequence");
}

void deeplearning4j_translation::expect_channels(int x, int channels) const {
  if (channels_of(dims(x)) != channels)
    refuse("the layer reads " + std::to_string(channels) + " channels", std::to_string(channels),
           to_string(dims(x)));
}

/// Convolutions have the bias first, then the weights.
void deeplearning4j_translation::add_bias(object const& of, int node, int filters, bool has_bias) {
  if (has_bias)
    add_array(of, static_cast<std::size_t>(filters), {{.node = node, .parameter = "bias", .dims = {filters}}},
              true, true);
}

int deeplearning4j_translation::convolution(object const& of, int x) {
  using namespace deeplearning4j_windows;
  expect_rank(x, 3, of);
  x = dropped(of, x);
  int const channels = of.count("nin"), filters = of.count("nout");
  expect_channels(x, channels);
  window const w = read_window(of, 1, false);
  bool const has_bias = of.flag("hasBias", true);
  int id = record(conv2d{.filters = filters,
                         .kernel = w.kernel,
                         .stride = w.stride,
                         .padding = w.padding,
                         .dilation = w.dilation,
                         .bias = has_bias},
                  {x});
  add_bias(of, id, filters, has_bias);
  add_array(
      of, product({filters, channels, w.kernel.height, w.kernel.width}),
      {{.node = id, .parameter = "weights", .dims = {filters, channels, w.kernel.height, w.kernel.width}}});
  train(of, id);
  id = activate(of, id);
  of.expect_read(settings_.training);
  return id;
}

int deeplearning4j_translation::convolution_1d(object const& of, int x) {
  using namespace deeplearning4j_windows;
  expect_rank(x, 2, of);
  x = dropped(of, x);
  int const channels = of.count("nin"), filters = of.count("nout");
  expect_channels(x, channels);
  window const w = read_window(of, 1, true);
  bool const has_bias = of.flag("hasBias", true);
  int id = record(conv1d{.filters = filters,
                         .kernel = w.kernel.height,
                         .stride = w.stride.height,
                         .padding = along_steps(w.padding),
                         .dilation = w.dilation.height,
                         .bias = has_bias},
                  {x});
  add_bias(of, id, filters, has_bias);
  add_array(of, product({filters, channels, w.kernel.height}),
            {{.node = id, .parameter = "weights", .dims = {filters, channels, w.kernel.height}}});
  train(of, id);
  id = activate(of, id);
  of.expect_read(settings_.training);
  return id;
}

int deeplearning4j_translation::deconvolution(object const& of, int x) {
  using namespace deeplearning4j_windows;
  expect_rank(x, 3, of);
  x = dropped(of, x);
  int const channels = of.count("nin"), filters = of.count("nout");
  expect_channels(x, channels);
  window const w = read_window(of, 1, false);
  bool const has_bias = of.flag("hasBias", true);
  if (w.padding.mode == padding_mode::same
      && (w.kernel.height < w.stride.height || w.kernel.width < w.stride.width || w.dilation != extent2(1)))
    of.refuse("Deconvolution2D with convolutionMode Same is imported only for kernels that cover the stride",
              "a kernel of at least the stride, without dilation", "another one");
  int id = record(conv2d_transposed{.filters = filters,
                                    .kernel = w.kernel,
                                    .stride = w.stride,
                                    .padding = w.padding,
                                    .dilation = w.dilation,
                                    .bias = has_bias},
                  {x});
  add_bias(of, id, filters, has_bias);
  std::vector<std::int64_t> const stored{channels, filters, w.kernel.height, w.kernel.width};
  add_array(of, product({filters, channels, w.kernel.height, w.kernel.width}),
            {{.node = id,
              .parameter = "weights",
              .dims = {filters, channels, w.kernel.height, w.kernel.width},
              .convert = [stored](std::span<float const> from) {
                return permute_axes(from, stored, {1, 0, 2, 3});
              }}});
  train(of, id);
  id = activate(of, id);
  of.expect_read(settings_.training);
  return id;
}

/// The file has the kernels as R×S×C×M, with the output channels c·M + m.
int deeplearning4j_translation::depthwise(object const& of, int x) {
  using namespace deeplearning4j_windows;
  expect_rank(x, 3, of);
  x = dropped(of, x);
  int const channels = of.count("nin"), multiplier = of.integer("depthMultiplier", 1);
  expect_channels(x, channels);
  if (multiplier < 1 || multiplier > largest)
    of.refuse("the depthMultiplier is out of range", "1 to 4096", "another");
  window const w = read_window(of, 1, false);
  bool const has_bias = of.flag("hasBias", true);
  int const filters = channels * multiplier;
  int id = record(conv2d{.filters = filters,
                         .kernel = w.kernel,
                         .stride = w.stride,
                         .padding = w.padding,
                         .dilation = w.dilation,
                         .groups = channels,
                         .bias = has_bias},
                  {x});
  add_bias(of, id, filters, has_bias);
  std::vector<std::int64_t> const stored{w.kernel.height, w.kernel.width, channels, multiplier};
  add_array(of, product({filters, w.kernel.height, w.kernel.width}),
            {{.node = id,
              .parameter = "weights",
              .dims = {filters, 1, w.kernel.height, w.kernel.width},
              .convert = [stored](std::span<float const> from) {
                return permute_axes(from, stored, {2, 3, 0, 1});
              }}});
  train(of, id);
  id = activate(of, id);
  of.expect_read(settings_.training);
  return id;
}

/// The file has the bias, the kernels of the depthwise convolution as M×C×R×S, then those of the 1×1
/// convolution.
int deeplearning4j_translation::separable(object const& of, int x) {
  using namespace deeplearning4j_windows;
  expect_rank(x, 3, of);
  x = dropped(of, x);
  int const channels = of.count("nin"), filters = of.count("nout"),
            multiplier = of.integer("depthMultiplier", 1);
  expect_channels(x, channels);
  if (multiplier < 1 || multiplier > largest)
    of.refuse("the depthMultiplier is out of range", "1 to 4096", "another");
  window const w = read_window(of, 1, false);
  bool const has_bias = of.flag("hasBias", true);
  int const middle = channels * multiplier;
  int const depth = record(conv2d{.filters = middle,
                                  .kernel = w.kernel,
                                  .stride = w.stride,
                                  .padding = w.padding,
                                  .dilation = w.dilation,
                                  .groups = channels,
                                  .bias = false},
                           {x}, "depthwise");
  int id = record(conv2d{.filters = filters, .kernel = 1, .bias = has_bias}, {depth});
  add_bias(of, id, filters, has_bias);
  std::vector<std::int64_t> const stored{multiplier, channels, w.kernel.height, w.kernel.width};
  add_array(of, product({middle, w.kernel.height, w.kernel.width}),
            {{.node = depth,
              .parameter = "weights",
              .dims = {middle, 1, w.kernel.height, w.kernel.width},
              .convert = [stored](std::span<float const> from) {
                return permute_axes(from, stored, {1, 0, 2, 3});
              }}});
  add_array(of, product({filters, middle}),
            {{.node = id, .parameter = "weights", .dims = {filters, middle, 1, 1}}});
  train(of, depth, weights_as::parts);
  train(of, id, weights_as::parts);
  id = activate(of, id);
  of.expect_read(settings_.training);
  return id;
}

// ---- pooling ---------------------------------------------------------------------------------------------

int deeplearning4j_translation::pooled(object const& of, int x, bool is_sequence) {
  using namespace deeplearning4j_windows;
  std::string const kind = of.text("poolingType", "MAX");
  window const w = read_window(of, 2, is_sequence);
  (void)of.integer("pnorm", 0);
  bool const counts_padding = of.flag("avgPoolIncludePadInDivisor", true);
  if (w.dilation != extent2(1)) of.refuse("Cohort has no pooling with dilation", "dilation 1", "another one");
  x = dropped(of, x);
  if (kind == "MAX")
    return record(max_pool{.window = w.kernel, .stride = w.stride, .padding = w.padding}, {x});
  if (kind != "AVG" && kind != "SUM") of.refuse("the poolingType is not imported", "MAX, AVG or SUM", kind);
  sliding_window const moving{w.kernel, w.stride, 1, w.padding};
  border const rows = vertical_border(moving, dims(x)[1]), columns = horizontal_border(moving, dims(x)[2]);
  bool const has_padding = rows.before > 0 || rows.after > 0 || columns.before > 0 || columns.after > 0;
  if (has_padding && (kind == "SUM" || counts_padding))
    of.refuse("Cohort's means do not count padding", "avgPoolIncludePadInDivisor false, or no padding",
              kind + " with padding");
  int const id = record(avg_pool{.window = w.kernel, .stride = w.stride, .padding = w.padding}, {x});
  if (kind == "AVG") return id;
  return record(scale{.factor = static_cast<double>(w.kernel.height) * w.kernel.width}, {id}, "sum");
}

int deeplearning4j_translation::subsampling(object const& of, int x) {
  expect_rank(x, 3, of);
  x = pooled(of, x, false);
  of.expect_read(settings_.training);
  return x;
}

int deeplearning4j_translation::subsampling_1d(object const& of, int x) {
  expect_rank(x, 2, of);
  x = as_sequence(pooled(of, as_image(x), true));
  of.expect_read(settings_.training);
  return x;
}

int deeplearning4j_translation::global_pooling(object const& of, int x) {
  std::string const kind = of.text("poolingType", "MAX");
  (void)of.integer("pnorm", 0);
  if (dims(x).rank < 2)
    refuse("GlobalPoolingLayer reads sequences or images", "2 or 3 axes", to_string(dims(x)));
  if (!of.flag("collapseDimensions", true))
    of.refuse("Cohort's global pooling returns vectors", "collapseDimensions true", "false");
  std::vector<int> const axes = of.integers("poolingDimensions");
  bool const is_image = dims(x).rank == 3;
  if (!axes.empty() && axes != (is_image ? std::vector<int>{2, 3} : std::vector<int>{2})
      && axes != (is_image ? std::vector<int>{1, 2} : std::vector<int>{1}))
    of.refuse("Cohort's global pooling is over all positions", "all positions", "other poolingDimensions");
  double const positions = static_cast<double>(dims(x).elements()) / channels_of(dims(x));
  x = dropped(of, x);
  int id = -1;
  if (kind == "MAX")
    id = record(global_max_pool{}, {x});
  else if (kind == "AVG")
    id = record(global_avg_pool{}, {x});
  else if (kind == "SUM")
    id = record(scale{.factor = positions}, {record(global_avg_pool{}, {x})}, "sum");
  else
    of.refuse("the poolingType is not imported", "MAX, AVG or SUM", kind);
  of.expect_read(settings_.training);
  return id;
}

// ---- shapes ----------------------------------------------------------------------------------------------

int deeplearning4j_translation::upsample(object const& of, int x) {
  bool const is_sequence = of.class_name() == "Upsampling1D";
  expect_rank(x, is_sequence ? 2 : 3, of);
  extent2 factor = of.extents("size", is_sequence ? 2 : 2);
  if (is_sequence) factor.width = 1;
  if (factor.height < 1 || factor.width < 1 || factor.height > 1024 || factor.width > 1024)
    of.refuse("a factor is out of range", "1 to 1024", "another one");
  x = dropped(of, x);
  x = record(upsampling{.factor = factor}, {is_sequence ? as_image(x) : x});
  if (is_sequence) x = as_sequence(x);
  of.expect_read(settings_.training);
  return x;
}

/// Returns the four sides of a padding or cropping; of sequences: before and after the steps.
padding deeplearning4j_translation::sides_of(object const& of, std::string_view field,
                                             bool is_sequence) const {
  std::vector<int> sides = of.integers(field);
  for (int const side : sides)
    if (side < 0 || side > 1 << 16) of.refuse("a side is out of range", "0 to 65536", std::to_string(side));
  if (is_sequence && sides.size() == 1) sides.push_back(sides[0]);
  if (sides.size() != (is_sequence ? 2U : 4U))
    of.refuse("the number of sides is wrong", is_sequence ? "2" : "4", std::to_string(sides.size()));
  return is_sequence ? padding(sides[0], sides[1], 0, 0) : padding(sides[0], sides[1], sides[2], sides[3]);
}

int deeplearning4j_translation::pad(object const& of, int x) {
  bool const is_sequence = of.class_name() == "ZeroPadding1DLayer";
  expect_rank(x, is_sequence ? 2 : 3, of);
  x = dropped(of, x);
  x = record(zero_padding{.sides = sides_of(of, "padding", is_sequence)}, {is_sequence ? as_image(x) : x});
  if (is_sequence) x = as_sequence(x);
  of.expect_read(settings_.training);
  return x;
}

int deeplearning4j_translation::crop(object const& of, int x) {
  bool const is_sequence = of.class_name() == "Cropping1D";
  expect_rank(x, is_sequence ? 2 : 3, of);
  x = dropped(of, x);
  x = record(cropping{.sides = sides_of(of, "cropping", is_sequence)}, {is_sequence ? as_image(x) : x});
  if (is_sequence) x = as_sequence(x);
  of.expect_read(settings_.training);
  return x;
}

int deeplearning4j_translation::repeat(object const& of, int x) {
  expect_rank(x, 1, of);
  int const times = of.count("n");
  if (times > 1 << 16)
    of.refuse("the number of repetitions is out of range", "1 to 65536", std::to_string(times));
  x = dropped(of, x);
  int const width = dims(x)[0];
  int const row = reshaped(x, {1, 1, width}, "row");
  x = reshaped(record(upsampling{.factor = extent2(times, 1)}, {row}, "rows"), {times, width}, "sequence");
  of.expect_read(settings_.training);
  return x;
}

}  // namespace cohort::detail
