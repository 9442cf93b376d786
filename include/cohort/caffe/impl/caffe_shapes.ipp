// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/caffe/detail/caffe_importer.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/layer/built_in_kinds.hpp>
#include <cohort/tensor/finite.hpp>

namespace cohort::detail {

// ---- nodes ----
int caffe_importer::append(std::string_view kind_name, std::vector<int> const& inputs, fields const& with,
                           layer_settings const& settings, int owner) {
  if (net_.view().size() >= max_caffe_nodes)
    refuse("the network needs too many layers of Cohort", {"at most ", max_caffe_nodes},
           "more; import a smaller network");
  auto const found = std::ranges::find(built_in_kinds(), kind_name, &kind::name);
  std::int64_t elements = 0;
  for (int const id : inputs) elements += shape_of(id).elements();
  if (elements > max_caffe_elements)
    refuse("the bottoms have too many elements", {"at most ", max_caffe_elements},
           {elements, "; import a smaller network"});
  std::vector<double> values((*found)->defaults, (*found)->defaults + (*found)->slots);
  for (auto const& [name, numbers] : with) {
    auto const info = std::ranges::find((*found)->fields, name, &field_info::name);
    bool const is_window = info->type == field_type::extent || info->type == field_type::padding;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      expect_f32(numbers[i], name);
      double const most = static_cast<double>(is_window ? max_caffe_window : max_caffe_extent);
      if (info->type != field_type::real && !(std::abs(numbers[i]) <= most))
        refuse({"field ", name, " of the layer ", kind_name, " is out of range"}, {"at most ", most},
               {numbers[i]});
      values[static_cast<std::size_t>(info->first_slot) + i] = numbers[i];
    }
  }
  int const id = net_.append(**found, values.data(), inputs, {}, settings, source_line{}, owner);
  if (net_.problem().found())
    refuse({"the layer ", kind_name, " cannot be built"}, "bottoms and settings that fit",
           {std::string_view(net_.problem().text().view()), "; check the layer"});
  auto const check = [&](shape const& dims) {
    std::int64_t product = 1;
    for (int axis = 0; axis < dims.rank; ++axis) {
      product = dims[axis] < 1 ? 0 : product * dims[axis];
      if (product < 1 || product > max_caffe_elements)
        refuse("a tensor is too large, or empty", {"1 to ", max_caffe_elements, " elements"},
               to_string(dims));
    }
  };
  check(shape_of(id));
  for (parameter_spec const& spec : net_.view().parameters(id)) check(spec.dims);
  return id;
}

shape caffe_importer::checked_shape(extents const& dims) const {
  shape result;
  std::int64_t product = 1;
  if (dims.size() > 3)
    refuse("a blob has too many axes for the layer", "at most 3 axes besides the batch", dims_text(dims));
  for (std::int64_t const extent : dims) {
    product = extent < 1 || extent > max_caffe_extent ? 0 : product * extent;
    if (product < 1 || product > max_caffe_elements)
      refuse("a tensor is too large, or empty", {"1 to ", max_caffe_elements, " elements"}, dims_text(dims));
    result.extents[static_cast<std::size_t>(result.rank++)] = static_cast<int>(extent);
  }
  if (result.rank == 0) result = shape{1};
  return result;
}

std::size_t caffe_importer::batch_of(extents const& dims) {
  return static_cast<std::size_t>(std::ranges::find(dims, -1) - dims.begin());
}
std::int64_t caffe_importer::elements_of(extents const& dims) {
  std::int64_t product = 1;
  for (std::int64_t const extent : dims) product *= extent == -1 ? 1 : extent;
  return product;
}
caffe_importer::extents caffe_importer::inner(caffe_value const& value) const {
  extents result = value.dims;
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(batch_of(result)));
  return result;
}

/// Returns the node of a blob. A top of a data layer becomes an input of the network.
int caffe_importer::node(caffe_value const& value) {
  if (value.id >= 0) return value.id;
  extents const& dims = sources_.find(value.source)->second;
  if (dims.empty())
    refuse({"the extents of the data top ", quote_for_error(value.source), " are not in the file"},
           "extents without the batch", "none; set caffe_import_settings::inputs (cohort import: --input)");
  auto const [found, is_new] = inputs_.try_emplace(value.source, -1);
  if (is_new) {
    extents own = inner({.dims = dims});
    if (own.size() > 3) own = {elements_of(dims)};
    found->second = net_.input(checked_shape(own), {}, source_line{}).id();
    names_[found->second] = used_names_.add(value.source);
  }
  return found->second;
}

/// Returns a node with the elements of the blob and these extents.
int caffe_importer::as(caffe_value const& value, extents const& dims) { return as(node(value), dims); }
int caffe_importer::as(int id, extents const& dims) {
  shape const wanted = checked_shape(dims), have = shape_of(id);
  if (have == wanted) return id;
  fields with{{"extents", {static_cast<double>(wanted.rank)}}};
  for (int axis = 0; axis < wanted.rank; ++axis) with[0].second.push_back(wanted[axis]);
  return append("reshape", {id}, with);
}

int caffe_importer::axis_of(std::int64_t axis, std::size_t rank) const {
  std::int64_t const canonical = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
  if (canonical < 0 || canonical >= static_cast<std::int64_t>(rank))
    refuse("the axis does not exist", {"-", rank, " to ", static_cast<std::int64_t>(rank) - 1}, {axis});
  return static_cast<int>(canonical);
}

/// Products of the extents before, in and after a range of axes, without the batch.
caffe_importer::around caffe_importer::split(caffe_value const& value, int first, int last) const {
  if (value.dims.empty())
    refuse("the extents of a bottom are not known", "extents in the file or in the settings", "none");
  around result;
  for (int axis = 0; axis < static_cast<int>(value.dims.size()); ++axis) {
    std::int64_t const extent = value.dims[static_cast<std::size_t>(axis)];
    if (extent == -1) {
      if (axis >= first && axis < last)
        refuse("the layer works along the batch", "an axis after the batch",
               {"axis ", axis, " of ", dims_text(value.dims)});
      continue;
    }
    std::int64_t& part = axis < first ? result.before : axis < last ? result.along : result.after;
    if (part > max_caffe_elements / extent)
      refuse("a blob is too large", {"at most ", max_caffe_elements, " elements"}, dims_text(value.dims));
    part *= extent;
  }
  return result;
}

int caffe_importer::image(caffe_value const& value) {
  if (value.dims.size() != 4 || value.dims[0] != -1) {
    if (value.dims.empty()) node(value);  // refuses with advice
    refuse("the bottom is no image", "N x C x H x W", dims_text(value.dims));
  }
  return as(value, inner(value));
}

/// Returns a node whose channels are an axis of the blob: C, C×H×W or T×C.
int caffe_importer::over_channels(caffe_value const& value, int axis) {
  around const part = split(value, axis);
  if (part.before == 1 && part.after == 1) return as(value, {part.along});
  if (part.before == 1)
    return value.dims.size() == 4 ? as(value, inner(value)) : as(value, {part.along, part.after, 1});
  if (part.after == 1) return as(value, {part.before, part.along});
  refuse("the axis has axes before and after it", "the first or the last axis besides the batch",
         {"axis ", axis, " of ", dims_text(value.dims)});
}

/// Returns the extents in which a range of the axis is a range of channels: rows × (along·after).
caffe_importer::extents caffe_importer::row_form(caffe_value const& value, int axis) const {
  around const part = split(value, axis);
  if (part.before > 1) return {part.before, part.along * part.after};
  if (value.dims.size() == 4 && value.dims[0] == -1 && axis == 1) return inner(value);
  return {part.along * part.after};
}

int caffe_importer::sliced(caffe_value const& value, int axis, std::int64_t first, std::int64_t last) {
  extents const form = row_form(value, axis);
  std::int64_t const after = form.size() == 3 ? 1 : split(value, axis).after;
  return append(
      "subset", {as(value, form)},
      {{"first", {static_cast<double>(first * after)}}, {"last", {static_cast<double>(last * after)}}});
}

void caffe_importer::expect_f32(double number, std::string_view name) const {
  if (!is_finite(number) || !fits_f32(number))
    refuse({"the number for ", name, " is not a finite number of 32 bits"}, "-3.4e38 to 3.4e38", {number});
}

/// Adds a number, by a convolution with constant parameters: x + shift.
int caffe_importer::shifted(int id, double shift) {
  if (shift == 0) return id;
  expect_f32(shift, "shift");
  shape const whole = shape_of(id);
  int const result =
      append("conv2d", {as(id, {1, 1, whole.elements()})}, {{"filters", {1}}, {"kernel", {1, 1}}});
  constant(result, "weights", 1);
  constant(result, "bias", static_cast<float>(shift));
  set_rates(result,
            {.weights_rate = 0, .weights_decay = 0, .bias_rate = 0, .bias_decay = 0, .is_constant = true});
  extents back;
  for (int axis = 0; axis < whole.rank; ++axis) back.push_back(whole[axis]);
  return as(result, back);
}

int caffe_importer::affine(int id, double factor, double shift) {
  if (factor != 1) id = append("scale", {id}, {{"factor", {factor}}});
  return shifted(id, shift);
}

// ---- layers that change extents ----
void caffe_importer::alias() {
  expect_bottoms(1, 1);
  for (std::size_t t = 0; t < layer_->tops.size(); ++t) set(bottom(0), t);
}
void caffe_importer::silence() {}

void caffe_importer::flatten() {
  expect_bottoms(1, 1);
  caffe_value value = bottom(0);
  if (value.dims.empty()) return set(value);  // a target: only the order of the elements matters
  std::size_t const rank = value.dims.size();
  int const first = axis_of(param_.integer("axis", 1), rank),
            last = axis_of(param_.integer("end_axis", -1), rank);
  if (first > last) refuse("end_axis is before axis", {"at least ", first}, {last});
  around const part = split(value, first, last + 1);
  extents result(value.dims.begin(), value.dims.begin() + first);
  result.push_back(part.along);
  result.insert(result.end(), value.dims.begin() + last + 1, value.dims.end());
  value.dims = std::move(result);
  set(std::move(value));
}

void caffe_importer::reshape() {
  expect_bottoms(1, 1);
  caffe_value value = bottom(0);
  if (value.dims.empty()) return set(value);
  std::int64_t const rank = static_cast<std::int64_t>(value.dims.size());
  std::int64_t axis = param_.integer("axis", 0), axes = param_.integer("num_axes", -1);
  if (axis < 0) axis += rank + 1;
  std::int64_t const end = axes == -1 ? rank : axis + axes;
  if (axis < 0 || axis > rank || end < axis || end > rank)
    refuse("axis and num_axes are out of range", {"axes of ", dims_text(value.dims)}, {axis, " and ", axes});
  extents const given = param_.message("shape").integers("dim");
  extents result(value.dims.begin(), value.dims.begin() + axis);
  std::int64_t known = elements_of(extents(value.dims.begin(), value.dims.begin() + axis))
                       * elements_of(extents(value.dims.begin() + end, value.dims.end()));
  std::size_t free = given.size();
  bool has_batch = batch_of(result) < result.size();
  std::size_t const batch = batch_of(value.dims);
  for (std::size_t d = 0; d < given.size(); ++d) {
    std::size_t const from = static_cast<std::size_t>(axis) + d;
    std::int64_t extent = given[d];
    if (extent == 0) {
      if (from >= value.dims.size())
        refuse("shape copies an axis that does not exist", {"at most ", rank, " axes"}, {"axis ", from});
      extent = value.dims[from];
      has_batch = has_batch || extent == -1;
    } else if (extent == -1) {
      if (free < given.size()) refuse("shape has two axes to be computed", "one -1", "two");
      free = d;
      extent = 1;
    } else if (extent < 1 || extent > max_caffe_extent) {
      refuse("an extent is out of range", {"1 to ", max_caffe_extent}, {extent});
    }
    if (extent != -1 && known > max_caffe_elements / extent)
      refuse("the shape is too large", {"at most ", max_caffe_elements, " elements"}, "more");
    if (extent != -1) known *= extent;
    result.push_back(extent);
  }
  result.insert(result.end(), value.dims.begin() + end, value.dims.end());
  if (result.size() > max_caffe_axes)
    refuse("a blob has too many axes", {"at most ", max_caffe_axes}, {result.size()});
  has_batch = has_batch || (batch >= static_cast<std::size_t>(end) && batch < value.dims.size());
  std::int64_t const elements = elements_of(value.dims);
  if (free < given.size()) {
    std::size_t const place = static_cast<std::size_t>(axis) + free;
    if (!has_batch && known == elements) {
      result[place] = -1;
      has_batch = true;
    } else if (has_batch && elements % known == 0) {
      result[place] = elements / known;
    }
  }
  // With other elements before the batch, the row-major order would mix the examples.
  auto const before_batch = [](extents const& dims) {
    return elements_of(extents(dims.begin(), std::ranges::find(dims, -1)));
  };
  if (!has_batch || elements_of(result) != elements || before_batch(result) != before_batch(value.dims))
    refuse("the shape does not keep the batch as one axis",
           {"0 or -1 for the batch of ", dims_text(value.dims)}, dims_text(given));
  value.dims = std::move(result);
  set(std::move(value));
}

void caffe_importer::concat() {
  expect_bottoms(1, 64);
  if (bottoms() == 1) return set(bottom(0));
  int const axis = axis_of(param_.integer("axis", param_.integer("concat_dim", 1)), bottom(0).dims.size());
  caffe_value result{.dims = bottom(0).dims};
  auto const a = static_cast<std::size_t>(axis);
  result.dims[a] = 0;
  std::vector<int> parts;
  for (std::size_t b = 0; b < bottoms(); ++b) {
    caffe_value const& value = bottom(b);
    extents other = value.dims;
    if (other.size() == result.dims.size()) other[a] = bottom(0).dims[a];
    if (other != bottom(0).dims)
      refuse("the bottoms differ in another axis", dims_text(bottom(0).dims), dims_text(value.dims));
    result.dims[a] += value.dims[a];
    parts.push_back(as(value, row_form(value, axis)));
  }
  result.id = append("concatenate", parts);
  set(std::move(result));
}

void caffe_importer::slice() {
  expect_bottoms(1, 1);
  caffe_value const value = bottom(0);
  int const axis = axis_of(param_.integer("axis", param_.integer("slice_dim", 1)), value.dims.size());
  std::int64_t const whole = value.dims[static_cast<std::size_t>(axis)];
  std::size_t const tops = layer_->tops.size();
  std::vector<std::int64_t> ends = param_.integers("slice_point");
  split(value, axis);  // refuses the batch
  if (ends.empty()) {
    if (whole % static_cast<std::int64_t>(tops) != 0)
      refuse("the tops do not divide the axis", {"a divisor of ", whole}, {tops});
    for (std::size_t t = 1; t < tops; ++t)
      ends.push_back(whole / static_cast<std::int64_t>(tops) * static_cast<std::int64_t>(t));
  }
  if (ends.size() + 1 != tops)
    refuse("slice_point does not fit the tops", {tops - 1, " values"}, {ends.size()});
  ends.push_back(whole);
  std::int64_t begin = 0;
  for (std::size_t t = 0; t < tops; ++t) {
    if (ends[t] <= begin || ends[t] > whole)
      refuse("the values of slice_point do not increase", {begin + 1, " to ", whole}, {ends[t]});
    caffe_value part{.dims = value.dims};
    part.dims[static_cast<std::size_t>(axis)] = ends[t] - begin;
    if (is_used(t)) {
      part.id = tops == 1 ? node(value) : sliced(value, axis, begin, ends[t]);
      set(std::move(part), t);
    }
    begin = ends[t];
  }
}

void caffe_importer::crop() {
  expect_bottoms(2, 2);
  caffe_value value = bottom(0);
  extents const wanted = bottom(1).dims;
  int const first = axis_of(param_.integer("axis", 2), value.dims.size());
  std::vector<std::int64_t> const offsets = param_.integers("offset");
  std::size_t const axes = value.dims.size() - static_cast<std::size_t>(first);
  if (wanted.size() != value.dims.size() || (offsets.size() > 1 && offsets.size() != axes))
    refuse("the bottoms or offsets have another number of axes", {dims_text(value.dims)},
           {dims_text(wanted), " with ", offsets.size(), " offsets"});
  for (std::size_t a = static_cast<std::size_t>(first); a < value.dims.size(); ++a) {
    std::int64_t const offset = offsets.empty()       ? 0
                                : offsets.size() == 1 ? offsets[0]
                                                      : offsets[a - static_cast<std::size_t>(first)];
    if (value.dims[a] == -1 || wanted[a] == -1)
      refuse("the layer crops the batch", "axes after the batch",
             {"axis ", a, " of ", dims_text(value.dims)});
    if (offset < 0 || offset > value.dims[a] - wanted[a])
      refuse("the offset does not fit", {"0 to ", value.dims[a] - wanted[a]}, {offset});
    if (wanted[a] == value.dims[a]) continue;
    value.id = sliced(value, static_cast<int>(a), offset, offset + wanted[a]);
    value.source.clear();
    value.dims[a] = wanted[a];
  }
  set(std::move(value));
}

void caffe_importer::tile() {
  expect_bottoms(1, 1);
  caffe_value value = bottom(0);
  int const axis = axis_of(param_.integer("axis", 1), value.dims.size());
  std::int64_t const tiles = param_.integer("tiles", 0);
  if (tiles < 1 || tiles > 64) refuse("tiles is out of range", "1 to 64", {tiles});
  if (tiles > 1) {
    around const part = split(value, axis);
    extents const form =
        part.before > 1 ? extents{part.before, part.along * part.after} : extents{part.along * part.after};
    value.id = append("concatenate", std::vector<int>(static_cast<std::size_t>(tiles), as(value, form)));
    value.source.clear();
    value.dims[static_cast<std::size_t>(axis)] *= tiles;
  }
  set(std::move(value));
}

void caffe_importer::reduction() {
  expect_bottoms(1, 1);
  caffe_value const value = bottom(0);
  int const axis = axis_of(param_.integer("axis", 0), value.dims.size());
  int const operation = choice("operation", {"", "SUM", "ASUM", "SUMSQ", "MEAN"}, 1);
  double const coefficient = param_.number("coeff", 1);
  around const part = split(value, axis, static_cast<int>(value.dims.size()));
  int id = node(value);
  if (operation == 2) id = append("add", {append("relu", {id}), append("relu", {affine(id, -1, 0)})});
  if (operation == 3) id = append("multiply", {id, id});
  id = append("global_avg_pool", {as(id, {part.before, part.along, 1})});
  double const factor = operation == 4 ? coefficient : coefficient * static_cast<double>(part.along);
  set({.id = affine(id, factor, 0), .dims = extents(value.dims.begin(), value.dims.begin() + axis)});
}

}  // namespace cohort::detail
