// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cohort/detail/json_string.hpp>
#include <cohort/interchange/detail/onnx_importer.hpp>
#include <cohort/io/detail/permutation.hpp>

namespace cohort::detail {

sliding_window onnx_importer::window(std::size_t spatial, extents size, bool has_dilation) {
  extents const given = integers("kernel_shape"), strides = integers("strides");
  extents const dilations = has_dilation ? integers("dilations") : extents();
  if (spatial < 1 || spatial > 2)
    refuse("the number of spatial axes is not supported", "1 or 2", {spatial, " in ", input_text(0)},
           onnx_remedy::replace);
  if (size.empty()) size = given;
  if (!given.empty() && given != size)
    refuse("kernel_shape differs from the extents of the weights", extents_text(size), extents_text(given),
           onnx_remedy::check);
  if (size.size() != spatial)
    refuse("kernel_shape has another length than the spatial axes of the input", {spatial}, {size.size()},
           onnx_remedy::check);
  auto const two = [&](extents const& list) {
    if (list.empty()) return extent2(1);
    if (list.size() != spatial)
      refuse("strides or dilations have another length than the spatial axes of the input", {spatial},
             {list.size()}, onnx_remedy::check);
    for (std::int64_t const one : list)
      if (one < 1 || one > max_onnx_window)
        refuse("an extent of the window is out of range", {"1 to ", max_onnx_window}, {one},
               onnx_remedy::reduce);
    return extent2(spatial == 1 ? 1 : static_cast<int>(list[0]), static_cast<int>(list.back()));
  };
  return {two(size), two(strides), two(dilations), {}};
}
padding onnx_importer::pads(extents const& given, std::size_t spatial, sliding_window const& w,
                            shape const& image, std::string const& automatic) const {
  padding made(0, 0, 0, 0);
  if (!given.empty() && given.size() != 2 * spatial)
    refuse("pads has another length than twice the spatial axes of the input", {2 * spatial}, {given.size()},
           onnx_remedy::check);
  for (std::int64_t const one : given)
    if (one < 0 || one > max_onnx_window)
      refuse("a padding is out of range", {"0 to ", max_onnx_window}, {one}, onnx_remedy::replace);
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    sliding_window same = w;
    same.padding = padding::same;
    border v = vertical_border(same, image[1]), h = horizontal_border(same, image[2]);
    if (automatic == "SAME_LOWER") std::swap(v.before, v.after), std::swap(h.before, h.after);
    made = padding(v.before, v.after, h.before, h.after);
  } else if (automatic != "NOTSET" && automatic != "VALID") {
    refuse("auto_pad is unknown", "NOTSET, VALID, SAME_UPPER or SAME_LOWER", quote_for_error(automatic),
           onnx_remedy::check);
  } else if (automatic == "NOTSET" && !given.empty()) {
    made.left = static_cast<int>(given[spatial - 1]), made.right = static_cast<int>(given.back());
    if (spatial == 2) made.top = static_cast<int>(given[0]), made.bottom = static_cast<int>(given[2]);
  }
  return made;
}

void onnx_importer::conv() {
  onnx_value const& x = data(0);
  tensor_float weights = numbers(1);
  if (weights.dims.size() < 3 || weights.dims.size() != x.dims.size())
    refuse("the weights have another number of axes than the input, or fewer than three",
           {input_text(0), " and weights with as many axes"}, input_text(1), onnx_remedy::check);
  std::size_t const spatial = weights.dims.size() - 2;
  sliding_window moving = window(spatial, {weights.dims.begin() + 2, weights.dims.end()}, true);
  auto const groups = static_cast<double>(integer("group", 1));
  std::string const automatic = text("auto_pad", "NOTSET");
  extents const explicit_pads = integers("pads");
  auto const filters = static_cast<double>(weights.dims[0]);
  bool const bias = has_input(2);
  // A sequence T×C, viewed as C×T.
  bool const is_sequence =
      spatial == 1 && shape_of(x.id).rank == 2 && x.axes == std::vector<int>{onnx_value::batch, 1, 0};
  int from = is_sequence ? x.id : image(x);
  ::cohort::shape const in =
      is_sequence ? ::cohort::shape{shape_of(from)[1], 1, shape_of(from)[0]} : shape_of(from);
  padding sides = pads(explicit_pads, spatial, moving, in, automatic);
  // A window that reads only padding requires a layer of padding.
  if (!is_sequence
      && (std::max(sides.top, sides.bottom) >= dilated(moving.size.height, moving.dilation.height)
          || std::max(sides.left, sides.right) >= dilated(moving.size.width, moving.dilation.width))) {
    from = append("zero_padding", {from}, {{"sides", encoded_padding(sides)}});
    sides = padding(0, 0, 0, 0);
  }
  ::cohort::shape kernel = checked_shape(weights.dims);
  int made = -1;
  if (is_sequence) {
    made = append("conv1d", {from},
                  {{"filters", {filters}},
                   {"kernel", {static_cast<double>(moving.size.width)}},
                   {"stride", {static_cast<double>(moving.stride.width)}},
                   {"padding", encoded_padding(sides)},
                   {"dilation", {static_cast<double>(moving.dilation.width)}},
                   {"groups", {groups}},
                   {"bias", {bias ? 1.0 : 0.0}}});
  } else {
    made = append("conv2d", {from},
                  {{"filters", {filters}},
                   {"kernel", encoded_extent(moving.size)},
                   {"stride", encoded_extent(moving.stride)},
                   {"padding", encoded_padding(sides)},
                   {"dilation", encoded_extent(moving.dilation)},
                   {"groups", {groups}},
                   {"bias", {bias ? 1.0 : 0.0}}});
    if (spatial == 1) kernel = {kernel[0], kernel[1], 1, kernel[2]};
  }
  ::cohort::shape const wanted = net_.view().parameters(made).specs[0].dims;
  if (!(wanted == kernel))
    refuse("the weights do not fit the input", to_string(wanted), to_string(kernel), onnx_remedy::check);
  store("weights", kernel, std::move(weights.values));
  if (bias) store("bias", {kernel[0]}, numbers(2).values);
  ::cohort::shape const out = shape_of(made);
  if (is_sequence)
    return set({.id = made, .dims = {x.dims[0], out[1], out[0]}, .axes = {onnx_value::batch, 1, 0}});
  extents dims{out[0], out[1], out[2]};
  if (spatial == 1) dims = {out[0], out[2]};
  set(row_major(made, dims, x.dims[0]));
}

void onnx_importer::conv_transposed() {
  onnx_value const& x = data(0);
  tensor_float const weights = numbers(1);
  if (weights.dims.size() < 3 || weights.dims.size() != x.dims.size())
    refuse("the weights have another number of axes than the input, or fewer than three",
           {input_text(0), " and weights with as many axes"}, input_text(1), onnx_remedy::check);
  std::size_t const spatial = weights.dims.size() - 2;
  sliding_window moving = window(spatial, {weights.dims.begin() + 2, weights.dims.end()}, true);
  std::int64_t const groups = integer("group", 1);
  std::string const automatic = text("auto_pad", "NOTSET");
  extents given = integers("pads"), more = integers("output_padding"), wanted = integers("output_shape");
  int const from = image(x);
  ::cohort::shape const in = shape_of(from);
  checked_shape(weights.dims);
  if (groups < 1 || groups > weights.dims[0] || weights.dims[0] != in[0] || in[0] % groups != 0)
    refuse("the weights do not fit the input",
           {"weights of ", in[0], " channels, and groups that divide them"},
           {input_text(1), " in ", groups, " groups"}, onnx_remedy::check);
  bool const same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (automatic != "NOTSET" && automatic != "VALID" && !same)
    refuse("auto_pad is unknown", "NOTSET, VALID, SAME_UPPER or SAME_LOWER", quote_for_error(automatic),
           onnx_remedy::check);
  for (extents* const list : {&more, &wanted})
    if (!list->empty() && list->size() != spatial)
      refuse("output_padding or output_shape has another length than the spatial axes of the input",
             {spatial}, {list->size()}, onnx_remedy::check);
  if (!given.empty() && given.size() != 2 * spatial)
    refuse("pads has another length than twice the spatial axes of the input", {2 * spatial}, {given.size()},
           onnx_remedy::check);
  for (extents* const list : {&given, &more, &wanted})
    for (std::int64_t const one : *list)
      if (one < 0 || one > max_onnx_window)
        refuse("a value of pads, output_padding or output_shape is out of range", {"0 to ", max_onnx_window},
               {one}, onnx_remedy::replace);
  // Elements to cut from the whole output before and after; negative: elements to add.
  std::array<std::int64_t, 2> before{}, after{};
  for (std::size_t a = 0; a < spatial; ++a) {
    std::size_t const axis = 2 - spatial + a;
    int const k = axis == 0 ? dilated(moving.size.height, moving.dilation.height)
                            : dilated(moving.size.width, moving.dilation.width);
    std::int64_t const s = axis == 0 ? moving.stride.height : moving.stride.width;
    std::int64_t const extra = more.empty() ? 0 : more[a];
    std::int64_t const inner = in[static_cast<int>(axis) + 1];
    if (!wanted.empty() || same) {
      std::int64_t const total =
          std::max<std::int64_t>(s * (inner - 1) + extra + k - (wanted.empty() ? inner * s : wanted[a]), 0);
      std::int64_t const missing = (wanted.empty() ? inner * s : wanted[a]) - (s * (inner - 1) + k - total);
      before[axis] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      after[axis] = total - before[axis] - missing;
    } else if (automatic == "NOTSET" && !given.empty()) {
      before[axis] = given[a];
      after[axis] = given[a + spatial] - extra;
    } else {
      after[axis] = -extra;
    }
  }
  for (std::size_t axis = 0; axis < 2; ++axis)
    if (std::max(std::abs(before[axis]), std::abs(after[axis])) > max_onnx_window)
      refuse("the output is cut or extended by too many elements", {"at most ", max_onnx_window},
             {std::max(std::abs(before[axis]), std::abs(after[axis]))}, onnx_remedy::replace);
  checked_shape(
      {weights.dims[1] * groups,
       in[1] * std::int64_t{moving.stride.height} + dilated(moving.size.height, moving.dilation.height),
       in[2] * std::int64_t{moving.stride.width} + dilated(moving.size.width, moving.dilation.width)});
  bool const bias = has_input(2);
  std::int64_t const filters = weights.dims[1], channels = in[0] / groups,
                     area = moving.size.height * std::int64_t{moving.size.width};
  padding const sides(static_cast<int>(std::max<std::int64_t>(before[0], 0)),
                      static_cast<int>(std::max<std::int64_t>(after[0], 0)),
                      static_cast<int>(std::max<std::int64_t>(before[1], 0)),
                      static_cast<int>(std::max<std::int64_t>(after[1], 0)));
  int made = append("conv2d_transposed", {from},
                    {{"filters", {static_cast<double>(filters * groups)}},
                     {"kernel", encoded_extent(moving.size)},
                     {"stride", encoded_extent(moving.stride)},
                     {"padding", encoded_padding(sides)},
                     {"dilation", encoded_extent(moving.dilation)},
                     {"groups", {static_cast<double>(groups)}},
                     {"bias", {bias ? 1.0 : 0.0}}});
  store("weights", checked_shape({filters * groups, channels, moving.size.height, moving.size.width}),
        permute_axes(weights.values, {groups, channels, filters, area}, {0, 2, 1, 3}));
  if (bias) store("bias", checked_shape({filters * groups}), numbers(2).values);
  if (after[0] < 0 || after[1] < 0) {
    if (bias)
      refuse("the output is larger than the windows reach, and the node has a bias",
             "no bias, or a smaller output_padding", input_text(2), "add the bias by a node Add");
    made = append("zero_padding", {made},
                  {{"sides",
                    {static_cast<double>(padding_mode::sides), 0,
                     static_cast<double>(std::max<std::int64_t>(-after[0], 0)), 0,
                     static_cast<double>(std::max<std::int64_t>(-after[1], 0))}}});
  }
  ::cohort::shape const out = shape_of(made);
  set(row_major(made, spatial == 1 ? extents{out[0], out[2]} : extents{out[0], out[1], out[2]}, x.dims[0]));
}

void onnx_importer::pool() {
  onnx_value const& x = data(0);
  bool const is_max = node_->op == "MaxPool";
  std::size_t const spatial = x.dims.size() < 3 ? 0 : x.dims.size() - 2;
  sliding_window const moving = window(spatial, {}, true);
  std::string const automatic = text("auto_pad", "NOTSET");
  extents const given = integers("pads");
  bool const ceil = integer("ceil_mode", 0) != 0;
  bool const counts_padding = !is_max && integer("count_include_pad", 0) != 0;
  integer("storage_order", 0);
  if (is_used(1))
    refuse("the indices of the maxima are read", "no reader",
           {"readers of ", quote_for_error(node_->outputs[1])}, onnx_remedy::replace);
  if (!(moving.dilation == extent2(1)))
    refuse("no pooling layer has dilation", "dilations of 1",
           {moving.dilation.height, " x ", moving.dilation.width}, onnx_remedy::replace);
  int from = image(x);
  ::cohort::shape in = shape_of(from);
  padding sides = pads(given, spatial, moving, in, automatic);
  // ceil_mode: adds padding at the end, so that one more window fits. This window must begin before that
  // padding.
  auto const extend = [&](int size, int stride, int extent, int begin, int& end) {
    int const room = extent + begin + end - size;
    if (room < 0 || room % stride == 0) return;
    int const steps = room / stride + 1;
    if (steps * stride >= extent + begin) return;
    end += steps * stride - room;
  };
  padding const before = sides;
  if (ceil) {
    extend(moving.size.height, moving.stride.height, in[1], sides.top, sides.bottom);
    extend(moving.size.width, moving.stride.width, in[2], sides.left, sides.right);
  }
  if (automatic == "VALID" && !(before == sides))  // only some runtimes add windows here
    refuse("auto_pad is VALID, and ceil_mode adds windows", "ceil_mode 0, or pads", "ceil_mode 1",
           onnx_remedy::replace);
  if (counts_padding) {
    if (!(before == sides))
      refuse("padding is counted, and ceil_mode adds windows", "count_include_pad 0 or ceil_mode 0",
             "1 and 1", onnx_remedy::replace);
    if (encoded_padding(sides)[0] != 0)
      from = append("zero_padding", {from}, {{"sides", encoded_padding(sides)}});
    sides = padding(0, 0, 0, 0);
  }
  int const made = append(is_max ? "max_pool" : "avg_pool", {from},
                          {{"window", encoded_extent(moving.size)},
                           {"stride", encoded_extent(moving.stride)},
                           {"padding", encoded_padding(sides)}});
  ::cohort::shape const out = shape_of(made);
  set(row_major(made, spatial == 1 ? extents{out[0], out[2]} : extents{out[0], out[1], out[2]}, x.dims[0]));
}

void onnx_importer::global_pool() {
  onnx_value const& x = data(0);
  if (x.dims.size() < 3)
    refuse("the input has no spatial axes", "N x C x L or more axes", input_text(0), onnx_remedy::check);
  std::string_view const kind = node_->op == "GlobalMaxPool" ? "global_max_pool" : "global_avg_pool";
  extents dims(x.dims.size() - 1, 1);
  dims[0] = x.dims[1];
  if (shape_of(x.id).rank == 2 && x.axes == std::vector<int>{onnx_value::batch, 1, 0})
    return set(row_major(append(kind, {x.id}), dims, x.dims[0]));
  around const part = split_at(x, 1);
  set(row_major(append(kind, {reshaped(x, checked_shape({part.along, part.after, 1}))}), dims, x.dims[0]));
}

void onnx_importer::reduce() {
  onnx_value const& x = data(0);
  std::optional<extents> axes = list(1, "axes");
  bool const keeps = integer("keepdims", 1) != 0;
  if (integer("noop_with_empty_axes", 0) != 0 && !axes) return set(x);
  if (!axes || axes->empty())
    refuse("the node reduces the batch", "axes after the batch", {"all axes of ", input_text(0)},
           onnx_remedy::replace);
  std::vector<bool> reduced(x.dims.size());
  for (std::int64_t const one : *axes) reduced[static_cast<std::size_t>(axis_of(one, x.dims.size()))] = true;
  if (x.axes[0] != onnx_value::batch || reduced[0])
    refuse("the node reduces the batch, or the batch is not the first axis", "axes after the batch",
           {"axes ", extents_text(*axes, ", "), " of ", input_text(0)}, onnx_remedy::batch_first);
  std::int64_t others = 1, along = 1;
  extents dims;
  onnx_value turned = x;  // with the reduced axes behind the others
  turned.dims.resize(1), turned.axes.resize(1);
  for (bool const of_reduced : {false, true})
    for (std::size_t axis = 1; axis < x.dims.size(); ++axis) {
      if (!of_reduced && (!reduced[axis] || keeps)) dims.push_back(reduced[axis] ? 1 : x.dims[axis]);
      if (reduced[axis] != of_reduced) continue;
      (of_reduced ? along : others) *= x.dims[axis];
      turned.dims.push_back(x.dims[axis]);
      turned.axes.push_back(x.axes[axis]);
    }
  std::string const& op = node_->op;
  std::string_view const kind =
      op == "ReduceMax" || op == "ReduceMin" ? "global_max_pool" : "global_avg_pool";
  // If the reduced axes are the first axes, these axes are the steps of a sequence, else the positions of an
  // image.
  auto const last = std::find(reduced.rbegin(), reduced.rend(), true).base();
  bool const is_masked = fused() && !fused()->masked_by.empty();
  bool const leads = (others > 1 || is_masked) && std::find(reduced.begin() + 1, last, false) == last;
  if (is_masked) check_mask(x);
  int from = leads ? reshaped(x, checked_shape({along, others}))
                   : reshaped(turned, checked_shape({others, along, 1}));
  if (op == "ReduceMin") from = append("scale", {from}, {{"factor", {-1}}});
  onnx_value const result = row_major(append(kind, {from}), dims, x.dims[0]);
  set(op == "ReduceMin"   ? scaled(result, -1)
      : op == "ReduceSum" ? scaled(result, static_cast<double>(along))
                          : result);
}

/// Returns the value with copies of a number before and after it along an axis.
onnx_value onnx_importer::padded(onnx_value const& x, int axis, std::int64_t front, std::int64_t back,
                                 double with) {
  std::size_t const batch = batch_axis(x), place = static_cast<std::size_t>(axis);
  if (place == batch) refuse("the node pads the batch", "other axes", input_text(0), onnx_remedy::replace);
  if (batch > 0)
    return moved(padded(moved(x, batch, 0), place < batch ? axis + 1 : axis, front, back, with), 0, batch);
  if (with != 0) {
    auto const copies = [&](std::int64_t count) {
      tensor_float part{behind_batch_of(x), {}};
      part.dims[place - 1] = count;
      if (count == 0) return std::vector<tensor_float>();
      std::int64_t const elements = checked_shape(part.dims).elements();
      count_bytes(4 * static_cast<std::size_t>(elements));
      part.values.assign(static_cast<std::size_t>(elements), static_cast<float>(with));
      return std::vector{std::move(part)};
    };
    return extended(x, axis, copies(front), copies(back));
  }
  auto const [before, along, after] = split_at(x, axis);
  int const layer = append("zero_padding", {reshaped(x, checked_shape({before, along, after}))},
                           {{"sides",
                             {static_cast<double>(padding_mode::sides), static_cast<double>(front),
                              static_cast<double>(back), 0, 0}}});
  extents dims = behind_batch_of(x);
  dims[place - 1] += front + back;
  return row_major(reshaped(layer, collapsed(dims)), dims, x.dims[0]);
}

void onnx_importer::pad() {
  onnx_value x = viewed(0);
  std::string const mode = text("mode", "constant");
  std::optional<extents> const given = list(1, "pads");
  double const value = bound(2, "value").value_or(0);
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    refuse("the mode is unknown", "constant, reflect, edge or wrap", quote_for_error(mode),
           onnx_remedy::check);
  if (has_input(3))
    refuse("the node pads selected axes", "pads of all axes and no input 3", input_text(3),
           onnx_remedy::replace);
  std::size_t const rank = x.dims.size() - (joined_count_ - 1);
  if (!given || given->size() != 2 * rank)
    refuse("pads has another length than twice the axes of the input", {2 * rank},
           {given ? text_of({given->size()}) : "none"}, onnx_remedy::check);
  for (std::int64_t const one : *given)
    if (one < 0 || one > max_onnx_window)
      refuse("a padding is out of range", {"0 to ", max_onnx_window}, {one}, onnx_remedy::replace);
  auto const side = [&](std::size_t axis, bool end) { return (*given)[axis + (end ? rank : 0)]; };
  bool const is_image = mode == "constant" && value == 0 && rank == 4 && joined_count_ == 1
                        && x.axes[0] == onnx_value::batch
                        && side(2, false) + side(2, true) + side(3, false) + side(3, true) > 0;
  if (is_image) {
    int const layer = append("zero_padding", {image(x)},
                             {{"sides",
                               {static_cast<double>(padding_mode::sides), static_cast<double>(side(2, false)),
                                static_cast<double>(side(2, true)), static_cast<double>(side(3, false)),
                                static_cast<double>(side(3, true))}}});
    extents dims = behind_batch_of(x);
    for (std::size_t const axis : {2, 3}) dims[axis - 1] += side(axis, false) + side(axis, true);
    x = row_major(layer, dims, x.dims[0]);
  }
  for (std::size_t place = 0; place < (is_image ? 2 : rank); ++place) {
    std::int64_t const front = side(place, false), back = side(place, true);
    if (front + back == 0) continue;
    int const axis = axis_of(static_cast<std::int64_t>(place), x.dims.size());
    if (mode == "constant") {
      x = padded(x, axis, front, back, value);
      continue;
    }
    std::int64_t const extent = x.dims[static_cast<std::size_t>(axis)],
                       period = mode == "reflect" ? std::max<std::int64_t>(2 * extent - 2, 1) : extent;
    extents indices;
    for (std::int64_t i = -front; extent > 0 && i < extent + back; ++i) {
      std::int64_t const within = (i % period + period) % period;
      indices.push_back(mode == "edge" ? std::clamp<std::int64_t>(i, 0, extent - 1)
                                       : std::min(within, period - within + (mode == "wrap" ? extent : 0)));
    }
    x = selected(x, axis, indices);
  }
  set(std::move(x));
}

void onnx_importer::resize() {
  onnx_value const& x = data(0);
  std::string const mode = text("mode", "nearest"), rounding = text("nearest_mode", "round_prefer_floor");
  bool const is_upsample = node_->op == "Upsample" || version_ < 11;
  std::string const coordinates =
      text("coordinate_transformation_mode", is_upsample ? "asymmetric" : "half_pixel");
  real("cubic_coeff_a", -0.75), integer("exclude_outside", 0), real("extrapolation_value", 0);
  integer("antialias", 0);
  std::string const policy = text("keep_aspect_ratio_policy", "stretch");
  extents const axes = integers("axes");
  bool const is_linear = mode == "linear" || mode == "bilinear";
  if (mode != "nearest" && !is_linear)
    refuse("no layer has this mode", "nearest or linear", quote_for_error(mode), onnx_remedy::replace);
  if (!axes.empty() || policy != "stretch")
    refuse("the node resizes selected axes, or keeps the aspect ratio", "no axes, and policy stretch",
           {axes.size(), " axes, and policy ", quote_for_error(policy)}, onnx_remedy::replace);
  if (x.dims.size() != 4 || x.axes[0] != onnx_value::batch)
    refuse("the input is not an image", "N x C x H x W", input_text(0), onnx_remedy::replace);
  std::vector<std::int64_t> factors;
  std::size_t const at = is_upsample ? 1 : 2;
  onnx_attribute const* const older = attribute("scales", onnx_attribute::reals);
  std::vector<float> scales = older ? older->floats : std::vector<float>();
  if (!older && has_input(at) && (any(at).constant && any(at).constant->elements() > 0))
    scales = numbers(at).values;
  if (!scales.empty()) {
    for (float const one : scales) {
      if (!(one >= 1 && one <= static_cast<float>(max_onnx_window)) || one != std::floor(one))
        refuse("a scale is not a whole number in range", {"1 to ", max_onnx_window}, {one},
               onnx_remedy::replace);
      factors.push_back(static_cast<std::int64_t>(one));
    }
  } else {
    std::optional<extents> const sizes = list(3, nullptr, 1);
    if (!sizes || sizes->size() != 4)
      refuse("scales and sizes are missing", "four constant numbers",
             {sizes ? text_of({sizes->size()}) : "none"}, onnx_remedy::fold);
    for (std::size_t a = 0; a < 4; ++a) {
      if ((*sizes)[a] == batch_extent && x.dims[a] < 0) {
        factors.push_back(1);
        continue;
      }
      std::int64_t const extent = x.dims[a] < 0 ? (*sizes)[a] : x.dims[a];
      if ((*sizes)[a] < 1 || extent < 1 || (*sizes)[a] % extent != 0)
        refuse("a size is not a multiple of the extent of the input", {"a multiple of ", extent},
               {(*sizes)[a]}, onnx_remedy::replace);
      factors.push_back((*sizes)[a] / extent);
    }
  }
  if (factors.size() != 4 || factors[0] != 1 || factors[1] != 1)
    refuse("the node resizes batch or channels", "1 x 1 x height x width", extents_text(factors),
           onnx_remedy::replace);
  bool const repeats = (coordinates == "asymmetric" && rounding == "floor")
                       || ((coordinates == "half_pixel" || coordinates == "pytorch_half_pixel")
                           && rounding.starts_with("round_prefer"))
                       || (coordinates == "tf_half_pixel_for_nn" && rounding == "floor") || is_upsample;
  if (coordinates == "tf_crop_and_resize"
      && (!is_constant(1) || numbers(1).values != std::vector<float>{0, 0, 0, 0, 1, 1, 1, 1}))
    refuse("the node crops by roi", "the constant roi (0, 0, 0, 0, 1, 1, 1, 1)",
           is_constant(1) ? "another roi" : input_text(1), onnx_remedy::replace);
  checked_shape({x.dims[1], x.dims[2] * factors[2], x.dims[3] * factors[3]});
  auto const layer = [&](std::string_view kind, double aligned) {
    fields with{{"factor", {static_cast<double>(factors[2]), static_cast<double>(factors[3])}}};
    if (is_linear) with.push_back({"align_corners", {aligned}});
    set(row_major(append(kind, {image(x)}, with), {x.dims[1], x.dims[2] * factors[2], x.dims[3] * factors[3]},
                  x.dims[0]));
  };
  if (is_linear) {
    if (coordinates != "half_pixel" && coordinates != "pytorch_half_pixel" && coordinates != "align_corners"
        && (factors[2] != 1 || factors[3] != 1))
      refuse("no layer interpolates at these coordinates", "half_pixel, pytorch_half_pixel or align_corners",
             quote_for_error(coordinates), onnx_remedy::replace);
    return layer("bilinear_upsampling", coordinates == "align_corners" ? 1 : 0);
  }
  if (!repeats && (factors[2] != 1 || factors[3] != 1))
    refuse("the coordinates do not repeat elements",
           "asymmetric or tf_half_pixel_for_nn with floor, or half_pixel with round_prefer_floor or "
           "round_prefer_ceil",
           {quote_for_error(coordinates), " with ", quote_for_error(rounding)}, onnx_remedy::replace);
  layer("upsampling", 0);
}

/// Sets the output of a node that moves elements between channels and positions. The output is the input,
/// read with the extents `view` and permuted by `order`, as an image of extents `dims`.
void onnx_importer::move_blocks(extents const& view, std::vector<int> const& order, extents const& dims) {
  onnx_value blocks{
      .id = image(data(0)), .dims = {data(0).dims[0]}, .axes = {onnx_value::batch}, .view = view};
  for (int const axis : order) {
    blocks.dims.push_back(view[static_cast<std::size_t>(axis)]);
    blocks.axes.push_back(axis);
  }
  set(row_major(reshaped(blocks, checked_shape(dims)), dims, blocks.dims[0]));
}

void onnx_importer::depth_to_space() {
  onnx_value const& x = data(0);
  std::int64_t const block = integer("blocksize", 0);
  std::string const mode = text("mode", "DCR");
  if (x.dims.size() != 4)
    refuse("the input is not an image", "N x C x H x W", input_text(0), onnx_remedy::check);
  if (block < 1 || block > max_onnx_window || x.dims[1] % (block * block) != 0)
    refuse("blocksize does not fit the channels", {"a number whose square divides ", x.dims[1]}, {block},
           onnx_remedy::check);
  if (mode != "DCR" && mode != "CRD")
    refuse("attribute mode is unknown", "DCR or CRD", quote_for_error(mode), onnx_remedy::check);
  std::int64_t const channels = x.dims[1] / (block * block), height = x.dims[2], width = x.dims[3];
  extents const dims{channels, height * block, width * block};
  if (mode == "DCR") return move_blocks({block, block, channels, height, width}, {2, 3, 0, 4, 1}, dims);
  move_blocks({channels, block, block, height, width}, {0, 3, 1, 4, 2}, dims);
}

void onnx_importer::space_to_depth() {
  onnx_value const& x = data(0);
  std::int64_t const block = integer("blocksize", 0);
  if (x.dims.size() != 4)
    refuse("the input is not an image", "N x C x H x W", input_text(0), onnx_remedy::check);
  if (block < 1 || block > max_onnx_window || x.dims[2] % block != 0 || x.dims[3] % block != 0)
    refuse("blocksize does not fit the image", {"a divisor of ", x.dims[2], " and ", x.dims[3]}, {block},
           onnx_remedy::check);
  std::int64_t const height = x.dims[2] / block, width = x.dims[3] / block;
  move_blocks({x.dims[1], height, block, width, block}, {2, 4, 0, 1, 3},
              {block * block * x.dims[1], height, width});
}

}  // namespace cohort::detail
