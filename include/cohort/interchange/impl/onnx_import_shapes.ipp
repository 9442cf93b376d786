// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cohort/interchange/detail/onnx_importer.hpp>
#include <cohort/io/detail/permutation.hpp>
#include <cohort/layer/join.hpp>
#include <limits>
#include <numeric>
#include <utility>

namespace cohort::detail {

/// Returns the elements of each example of a constant, which are the same for all examples of the batch, with
/// the extents after the batch; nullopt for other values.
std::optional<onnx_importer::tensor_float> onnx_importer::repeated(std::size_t which) const {
  onnx_value const& value = any(which);
  if (value.fill || value.repeated) {
    auto example = !value.dims.empty() && value.dims[0] < 0 ? operand(which) : std::nullopt;
    if (example) example->dims.erase(example->dims.begin());
    return example;
  }
  if (!value.constant || value.dims.empty() || value.dims[0] < 1 || value.constant->type != onnx_type::f32)
    return std::nullopt;
  tensor_float example = numbers(which);
  auto const each = example.values.size() / static_cast<std::size_t>(value.dims[0]);
  for (std::size_t i = each; i < example.values.size(); ++i)
    if (example.values[i] != example.values[i % each]) return std::nullopt;
  example.values.resize(each);
  example.dims.erase(example.dims.begin());
  return example;
}

/// Returns the value with constants before and after it along an axis: zeros, to which the constants are
/// added.
onnx_value onnx_importer::extended(onnx_value const& value, int axis, std::vector<tensor_float> const& front,
                                   std::vector<tensor_float> const& back) {
  auto const [before, along, after] = split_at(value, axis);
  auto const place = static_cast<std::size_t>(axis);
  std::array<std::int64_t, 2> added{};
  for (std::size_t side = 0; side < 2; ++side)
    for (tensor_float const& part : side == 0 ? front : back) {
      extents expected = behind_batch_of(value);
      if (part.dims.size() == expected.size()) expected[place - 1] = part.dims[place - 1];
      if (part.dims != expected || part.values.empty())
        refuse("the inputs differ in another axis than the joined one", extents_text(expected),
               extents_text(part.dims), onnx_remedy::check);
      added[side] += part.dims[place - 1];
    }
  int const padded = append("zero_padding", {reshaped(value, checked_shape({before, along, after}))},
                            {{"sides",
                              {static_cast<double>(padding_mode::sides), static_cast<double>(added[0]),
                               static_cast<double>(added[1]), 0, 0}}});
  extents dims = behind_batch_of(value);
  std::int64_t const whole = along + added[0] + added[1];
  dims[place - 1] = whole;
  check_size(checked_shape(dims));
  tensor_float offset{dims, std::vector<float>(static_cast<std::size_t>(before * whole * after))};
  for (std::size_t side = 0; side < 2; ++side) {
    std::int64_t row = side == 0 ? 0 : added[0] + along;
    for (tensor_float const& part : side == 0 ? front : back) {
      auto const rows = static_cast<std::size_t>(part.dims[place - 1] * after);
      for (std::size_t b = 0; b < static_cast<std::size_t>(before); ++b)
        std::copy_n(part.values.begin() + static_cast<std::ptrdiff_t>(b * rows), rows,
                    offset.values.begin()
                        + static_cast<std::ptrdiff_t>(
                            (b * static_cast<std::size_t>(whole) + static_cast<std::size_t>(row))
                            * static_cast<std::size_t>(after)));
      row += part.dims[place - 1];
    }
  }
  onnx_value const whole_value = row_major(reshaped(padded, collapsed(dims)), dims, value.dims[0]);
  onnx_value const sum = affine(whole_value, nullptr, &offset);
  if (std::ranges::find(frozen_, layer_) == frozen_.end()) freeze();
  return sum;
}

void onnx_importer::concat() {
  std::size_t first = 0, last = node_->inputs.size();
  std::vector<tensor_float> front, back;  // constants before and after the other inputs
  for (; first < last; ++first) {
    auto constant = repeated(first);
    if (!constant) break;
    front.push_back(std::move(*constant));
  }
  for (; last > first; --last) {
    auto constant = repeated(last - 1);
    if (!constant) break;
    back.insert(back.begin(), std::move(*constant));
  }
  if (first == last) first = 0, last = node_->inputs.size(), front.clear(), back.clear();
  std::vector<onnx_value> from;
  for (std::size_t x = first; x < last; ++x) from.push_back(data(x));
  if (from.empty()) refuse("the node has no inputs", "at least 1", "0", onnx_remedy::check);
  for (std::size_t x = 0; x < node_->inputs.size(); ++x)
    if ((x < first || x >= last) && any(x).dims[0] != from[0].dims[0])
      refuse("a constant has another batch than the other inputs", extents_text(from[0].dims), input_text(x),
             onnx_remedy::batch_first);
  int const axis = axis_of(integer("axis", 1), from[0].dims.size());
  onnx_value joined = joined_along(from, axis);
  set(front.empty() && back.empty() ? std::move(joined) : extended(joined, axis, front, back));
}

/// Returns values one after the other along an axis.
onnx_value onnx_importer::joined_along(std::vector<onnx_value> from, int axis) {
  if (from.size() == 1) return from[0];
  if (constexpr std::size_t most = concatenate::max_inputs; from.size() > most) {
    std::vector<onnx_value> groups;
    for (auto first = from.begin(); first != from.end();) {
      auto const last = first + std::min<std::ptrdiff_t>(most, from.end() - first);
      groups.push_back(joined_along({std::exchange(first, last), last}, axis));
    }
    return joined_along(std::move(groups), axis);
  }
  std::size_t const rank = from[0].dims.size();
  auto const place = static_cast<std::size_t>(axis);
  std::vector<int> ids;
  std::int64_t total = 0;
  bool is_sequence = true, is_middle = false;  // an axis with others before and after it
  for (onnx_value const& part : from) {
    if (part.dims.size() != rank)
      refuse("the inputs have different numbers of axes", extents_text(from[0].dims), extents_text(part.dims),
             onnx_remedy::check);
    for (std::size_t a = 0; a < rank; ++a)
      if (a != place && part.dims[a] != from[0].dims[a])
        refuse("the inputs differ in another axis than the joined one", extents_text(from[0].dims),
               extents_text(part.dims), onnx_remedy::check);
    total += part.dims[place];
    is_sequence =
        is_sequence && part.axes == from[0].axes && shape_of(part.id).rank == 2 && part.axes[place] == 1;
  }
  if (is_sequence) {  // the columns of sequences, N×T×C or T×N×C
    for (onnx_value const& part : from) ids.push_back(part.id);
    onnx_value columns = like(from[0], append("concatenate", ids));
    columns.dims[place] = total;
    return columns;
  }
  std::size_t const batch = batch_axis(from[0]);
  bool const is_same_batch =
      std::ranges::all_of(from, [&](onnx_value const& part) { return batch_axis(part) == batch; });
  if (batch > 0 && batch != place && is_same_batch) {
    for (onnx_value& part : from) part = moved(std::move(part), batch, 0);
    return moved(joined_along(std::move(from), place < batch ? axis + 1 : axis), 0, batch);
  }
  for (onnx_value const& part : from) {
    auto const [before, along, after] = split_at(part, axis);
    is_middle = before > 1 && after > 1;
    ids.push_back(is_middle ? reshaped(moved(part, place, 1), checked_shape({along, before * after, 1}))
                            : reshaped(part, after > 1    ? checked_shape({along, after, 1})
                                             : before > 1 ? checked_shape({before, along})
                                                          : checked_shape({along})));
  }
  onnx_value joined = is_middle ? moved(from[0], place, 1) : from[0];
  joined.dims[is_middle ? 1 : place] = total;
  joined = row_major(append("concatenate", ids), behind_batch_of(joined), joined.dims[0]);
  return is_middle ? moved(std::move(joined), 1, place) : joined;
}

void onnx_importer::slice() {
  onnx_value x = viewed(0);
  std::optional<extents> starts = list(1, "starts"), ends = list(2, "ends", 1), axes = list(3, "axes"),
                         steps = list(4, nullptr);
  if (!starts || !ends || starts->size() != ends->size())
    refuse("starts and ends are missing or have different lengths", "two lists of equal length",
           {starts ? text_of({starts->size()}) : "none", " and ", ends ? text_of({ends->size()}) : "none"},
           onnx_remedy::check);
  if (!axes) {
    axes.emplace(starts->size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (axes->size() != starts->size() || (steps && steps->size() != starts->size()))
    refuse("axes or steps have another length than starts", {starts->size()},
           {axes->size(), " and ", steps ? steps->size() : starts->size()}, onnx_remedy::check);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    int const axis = axis_of((*axes)[i], x.dims.size());
    std::int64_t const extent = x.dims[static_cast<std::size_t>(axis)];
    std::int64_t const step = steps ? (*steps)[i] : 1;
    if (step == 0) refuse("a step is 0", "another step", "0", onnx_remedy::check);
    std::int64_t first = (*starts)[i], last = (*ends)[i];
    if (x.axes[static_cast<std::size_t>(axis)] == onnx_value::batch) {
      bool const is_all = first == 0 && step == 1
                          && (last >= std::numeric_limits<std::int32_t>::max() || last == batch_extent
                              || (extent > 0 && last >= extent));
      if (!is_all)
        refuse("the node selects a part of the batch", "all examples", {first, " to ", last},
               onnx_remedy::replace);
      continue;
    }
    if (last == batch_extent)
      refuse("the end along another axis is the batch size", "a constant", input_text(2),
             onnx_remedy::dynamic);
    if (step > 0) {
      first = slice_bound(first, extent), last = slice_bound(last, extent);
      x = step == 1 ? sliced(x, axis, first, last) : every(x, axis, first, last, step);
      continue;
    }
    auto const [from_last, end] = reverse_bounds(first, last, extent);
    extents indices;
    for (std::int64_t index = from_last; index > end && indices.size() <= max_onnx_runs;
         index += std::max(step, -extent))
      indices.push_back(index);
    x = selected(x, axis, indices);
  }
  set(x);
}

/// Returns the elements first, first + step, … below `last` along an axis: one element of each block of
/// `step` elements.
onnx_value onnx_importer::every(onnx_value const& x, int axis, std::int64_t first, std::int64_t last,
                                std::int64_t step) {
  std::int64_t const extent = x.dims[static_cast<std::size_t>(axis)],
                     count = first < last ? (last - first - 1) / step + 1 : 0;
  if (count <= 1) return sliced(x, axis, first, std::min(last, first + 1));
  // The blocks may begin before `first`, so that the last one ends within the axis.
  std::int64_t const offset = std::max<std::int64_t>(first + count * step - extent, 0);
  if (offset > first) {
    extents indices;
    for (std::int64_t i = 0; i < count && indices.size() <= max_onnx_runs; ++i)
      indices.push_back(first + i * step);
    return selected(x, axis, indices);
  }
  std::size_t const batch = batch_axis(x);
  std::size_t place = static_cast<std::size_t>(axis);
  if (batch > place) ++place;
  onnx_value part = moved(sliced(x, axis, first - offset, first - offset + count * step), batch, 0);
  extents dims = behind_batch_of(part), blocks = dims;
  blocks[place - 1] = count;
  blocks.insert(blocks.begin() + static_cast<std::ptrdiff_t>(place), step);
  onnx_value view = in_view(reshaped(part, collapsed(dims)), std::move(blocks), part.dims[0]);
  view = sliced(view, static_cast<int>(place) + 1, offset, offset + 1);
  view.dims.erase(view.dims.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  view.axes.erase(view.axes.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  return moved(std::move(view), 0, batch);
}

/// Returns `count` copies of the value along an axis, one after the other: each of them is a row of an image
/// that is enlarged by repeating rows.
onnx_value onnx_importer::tiled(onnx_value const& x, int axis, std::int64_t count) {
  if (count == 1) return x;
  if (std::size_t const batch = batch_axis(x); batch > 0 && static_cast<std::size_t>(axis) != batch) {
    int const place = static_cast<std::size_t>(axis) < batch ? axis + 1 : axis;
    return moved(tiled(moved(x, batch, 0), place, count), 0, batch);
  }
  auto const [before, along, after] = split_at(x, axis);
  if (count < 1 || count > max_onnx_window)
    refuse("a number of copies is out of range", {"1 to ", max_onnx_window}, {count}, onnx_remedy::replace);
  extents dims = behind_batch_of(x);
  dims[static_cast<std::size_t>(axis) - 1] *= count;
  checked_shape({before, count, along * after});
  int const copies = append("upsampling", {reshaped(x, checked_shape({before, 1, along * after}))},
                            {{"factor", {static_cast<double>(count), 1}}});
  return row_major(copies, dims, x.dims[0]);
}

void onnx_importer::tile() {
  onnx_value x = viewed(0);
  std::optional<extents> const repeats = list(1, nullptr);
  if (!repeats || repeats->size() != x.dims.size())
    refuse("repeats has another length than the axes of the input", {x.dims.size()},
           {repeats ? text_of({repeats->size()}) : "none"}, onnx_remedy::check);
  for (std::size_t axis = 0; axis < repeats->size(); ++axis)
    x = tiled(x, static_cast<int>(axis), (*repeats)[axis]);
  set(std::move(x));
}

void onnx_importer::expand() {
  onnx_value x = viewed(0);
  std::optional<extents> const wanted = list(1, nullptr, 1);
  if (!wanted || wanted->size() > x.dims.size())
    refuse("the node adds axes to a value, or has no shape", {"at most ", x.dims.size(), " extents"},
           wanted ? extents_text(*wanted) : "none", onnx_remedy::replace);
  std::size_t const first = x.dims.size() - wanted->size();
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    std::int64_t const extent = x.dims[first + i], target = (*wanted)[i];
    bool const is_batch = x.axes[first + i] == onnx_value::batch;
    if (target == extent || target == 1 || (is_batch && target == batch_extent)) continue;
    if (extent != 1 || is_batch)
      refuse("the node expands an axis whose extent is not 1", extents_text(x.dims), extents_text(*wanted),
             onnx_remedy::check);
    x = tiled(x, static_cast<int>(first + i), target);
  }
  set(std::move(x));
}

/// Returns the sizes of the parts of Split along an axis of this extent.
onnx_importer::extents onnx_importer::split_sizes(std::int64_t extent) {
  std::optional<extents> sizes = list(1, "split");
  auto const parts = static_cast<std::int64_t>(node_->outputs.size());
  if (parts < 1) refuse("the node has no outputs", "at least 1", "0", onnx_remedy::check);
  if (std::int64_t const given = integer("num_outputs", parts); given != parts)
    refuse("num_outputs differs from the number of outputs", {parts}, {given}, onnx_remedy::check);
  if (!sizes) {
    std::int64_t const each = (extent + parts - 1) / parts;
    sizes.emplace(static_cast<std::size_t>(parts), each);
    sizes->back() = extent - each * (parts - 1);
  }
  if (static_cast<std::int64_t>(sizes->size()) != parts)
    refuse("split has another length than the outputs", {parts}, {sizes->size()}, onnx_remedy::check);
  std::int64_t sum = 0;
  for (std::int64_t const size : *sizes) {
    if (size < 0 || size > extent - sum)
      refuse("the sizes do not fit the input", {"a sum of ", extent}, extents_text(*sizes, ", "),
             onnx_remedy::check);
    sum += size;
  }
  return *sizes;
}

void onnx_importer::split() {
  onnx_value const& x = viewed(0);
  int const axis = axis_of(integer("axis", 0), x.dims.size());
  extents const sizes = split_sizes(x.dims[static_cast<std::size_t>(axis)]);
  std::int64_t first = 0;
  for (std::size_t part = 0; part < sizes.size(); first += sizes[part++])
    if (is_used(part)) set(sliced(x, axis, first, first + sizes[part]), part);
}

/// Returns elements along an axis, in the order of these indices from 0: runs of consecutive elements, one
/// after the other.
onnx_value onnx_importer::selected(onnx_value const& x, int axis, extents const& indices) {
  if (x.axes[static_cast<std::size_t>(axis)] == onnx_value::batch)
    refuse("the node selects a part of the batch", "all examples", extents_text(indices, ", "),
           onnx_remedy::replace);
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;  // first element, and the one after the last
  for (std::int64_t const index : indices) {
    if (!runs.empty() && runs.back().second == index)
      ++runs.back().second;
    else
      runs.emplace_back(index, index + 1);
    if (runs.size() > max_onnx_runs) break;
  }
  if (runs.empty() || runs.size() > max_onnx_runs)
    refuse("the node selects no elements, or too many runs of consecutive elements",
           {"1 to ", max_onnx_runs, " runs"}, {runs.empty() ? "none" : "more"}, onnx_remedy::replace);
  if (runs.size() == 1) return sliced(x, axis, runs[0].first, runs[0].second);
  if ((runs_ += runs.size()) > max_onnx_runs_in_all)
    refuse("the nodes select too many runs of consecutive elements",
           {"at most ", max_onnx_runs_in_all, " runs in all"}, {runs_}, onnx_remedy::replace);
  // The axis becomes the first one after the batch.
  std::size_t const batch = batch_axis(x), place = static_cast<std::size_t>(axis);
  std::size_t const behind = place < batch ? place + 1 : place;
  onnx_value const turned = moved(moved(x, batch, 0), behind, 1);
  extents const dims = behind_batch_of(turned);
  onnx_value const leading = row_major(reshaped(turned, collapsed(dims)), dims, turned.dims[0]);
  std::vector<onnx_value> parts;
  for (auto const& [first, last] : runs) parts.push_back(sliced(leading, 1, first, last));
  return moved(moved(joined_along(std::move(parts), 1), 1, behind), 0, batch);
}

/// Returns the value with several axes in place of one, whose elements are in row-major order.
onnx_value onnx_importer::divided(onnx_value const& x, std::size_t axis, extents const& into) {
  std::size_t const batch = batch_axis(x), place = axis < batch ? axis + 1 : axis;
  onnx_value const turned = moved(x, batch, 0);
  extents dims = behind_batch_of(turned);
  int const id = reshaped(turned, collapsed(dims));
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(place) - 1);
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(place) - 1, into.begin(), into.end());
  return moved(row_major(id, dims, turned.dims[0]), 0, axis < batch ? batch + into.size() - 1 : batch);
}

void onnx_importer::gather() {
  std::int64_t const axis = integer("axis", 0);
  if (!is_constant(0) && is_constant(1)) {  // one element along an axis
    onnx_value const x = viewed(0);
    std::optional<extents> const index = list(1, nullptr);
    int at = axis_of(axis, x.dims.size() - x.joined + 1);
    int const joined_axis = static_cast<int>(x.first_joined), more = static_cast<int>(x.joined) - 1;
    if (at == joined_axis && more > 0)
      refuse("the node reads an axis that joins the batch with other axes", "another axis", {"axis ", axis},
             onnx_remedy::batch_first);
    if (at > joined_axis) at += more;
    std::int64_t const extent = x.dims[static_cast<std::size_t>(at)];
    if (!index || (x.joined > 1 && (index->size() != 1 || any(1).dims.size() > 1)))
      refuse("the node selects several elements of a value", "one list of constant indices", input_text(1),
             onnx_remedy::replace);
    extents places;
    for (std::int64_t const given : *index) {
      places.push_back(given < 0 ? given + extent : given);
      if (places.back() < 0 || places.back() >= extent)
        refuse("the index does not exist", {-extent, " to ", extent - 1}, {given}, onnx_remedy::check);
    }
    onnx_value made = selected(x, at, places);
    made.first_joined = x.first_joined, made.joined = x.joined;
    if (any(1).dims.empty()) {
      made.dims.erase(made.dims.begin() + at);
      made.axes.erase(made.axes.begin() + at);
      if (at < joined_axis) --made.first_joined;
    } else if (any(1).dims.size() > 1) {
      made = divided(made, static_cast<std::size_t>(at), any(1).dims);
    }
    return set(made);
  }
  tensor_float table = numbers(0);
  onnx_value const& x = tensor(1);
  if (!x.is_integer)
    refuse("the indices are not integers", "int32 or int64", input_text(1), onnx_remedy::replace);
  if (axis_of(axis, table.dims.size()) != 0 || table.dims.size() != 2)
    refuse("the node does not look up rows of a table", "a table with two axes, and axis 0",
           {input_text(0), ", axis ", axis}, onnx_remedy::replace);
  if (x.axes[0] != onnx_value::batch || x.dims.size() > 3)
    refuse("no embedding reads indices of this shape", "N, N x T or N x H x W", input_text(1),
           onnx_remedy::batch_first);
  ::cohort::shape const dims = checked_shape(table.dims);
  bool const is_map = x.dims.size() == 3;
  int const from = reshaped(x, x.dims.size() == 1 ? ::cohort::shape{1} : checked_shape(behind_batch_of(x)));
  int const made =
      append("embedding", {from},
             {{"vocabulary", {static_cast<double>(dims[0])}}, {"width", {static_cast<double>(dims[1])}}});
  store("weights", dims, std::move(table.values));
  onnx_value value{.id = made, .dims = x.dims, .axes = {onnx_value::batch}};
  value.dims.push_back(dims[1]);
  if (x.dims.size() == 1) value.axes = {onnx_value::batch, 1};
  if (x.dims.size() == 2) value.axes = {onnx_value::batch, 0, 1};
  if (is_map) value.axes = {onnx_value::batch, 1, 2, 0};
  set(value);
}

void onnx_importer::flatten() {
  onnx_value const& x = viewed(0);
  extents const dims = file_extents(x);
  std::int64_t const given = integer("axis", 1);
  auto const rank = static_cast<std::int64_t>(dims.size());
  std::int64_t const axis = given == rank ? rank : axis_of(given, dims.size());
  if (axis < 1 || x.axes[0] != onnx_value::batch || axis > rank)
    refuse("the node mixes examples of the batch", "axis 1, and the batch as first axis",
           {"axis ", given, " of ", input_text(0)}, onnx_remedy::batch_first);
  std::int64_t inside = 1, after = 1;  // of the axes that are joined with the batch
  for (std::size_t a = 1; a < x.dims.size(); ++a)
    (a < static_cast<std::size_t>(axis) + x.joined - 1 ? inside : after) *= x.dims[a];
  if (inside > 1 || x.joined > 1)
    return set_reshaped(x, {x.dims[0] < 0 ? batch_multiple(inside) : inside * x.dims[0], after}, 0, inside);
  onnx_value const& rows = data(0);
  if (shape_of(rows.id).rank < 2 || !is_row_major(rows))
    return set(row_major(reshaped(rows, checked_shape({after})), {after}, rows.dims[0]));
  set(row_major(append("flatten", {rows.id}), {after}, rows.dims[0]));
}

void onnx_importer::reshape() {
  std::optional<extents> wanted =
      fused() ? fused()->result : list(1, version_ < 5 ? "shape" : nullptr, max_onnx_extent);
  bool const allows_zero = integer("allowzero", 0) != 0;
  if (!wanted) refuse("the target shape is missing", "a constant", "none", onnx_remedy::fold);
  onnx_value const& x = tensor(0);
  if (x.constant) {
    if (std::ranges::any_of(*wanted, [](std::int64_t extent) { return batches_in(extent) > 0; }))
      refuse("a constant is reshaped to the batch", "constant extents", extents_text(*wanted, ", "),
             onnx_remedy::dynamic);
    onnx_tensor made = *x.constant;
    std::int64_t known = 1, unknown = -1;
    for (std::size_t i = 0; i < wanted->size(); ++i) {
      if ((*wanted)[i] == 0 && !allows_zero) (*wanted)[i] = i < x.dims.size() ? x.dims[i] : 0;
      if ((*wanted)[i] < 0)
        unknown = static_cast<std::int64_t>(i);
      else if ((*wanted)[i] > max_onnx_extent || (known *= (*wanted)[i]) > max_onnx_layer_elements)
        refuse("the target shape is too large", {"at most ", max_onnx_layer_elements, " elements"},
               extents_text(*wanted), onnx_remedy::reduce);
    }
    if (unknown >= 0)
      (*wanted)[static_cast<std::size_t>(unknown)] = known == 0 ? 0 : x.constant->elements() / known;
    made.dims = *wanted;
    checked_shape(made.dims);
    if (made.elements() != x.constant->elements())
      refuse("the target shape does not fit the constant", {x.constant->elements(), " elements"},
             extents_text(made.dims), onnx_remedy::check);
    return set_constant(std::move(made));
  }
  if (x.is_integer) refuse("the input consists of integers", "float", input_text(0), onnx_remedy::replace);
  // The axes before the batch and those after it are reshaped separately.
  std::size_t const batch = batch_axis(x);
  std::int64_t const count = x.dims[batch];
  std::int64_t before = 1, after = 1;
  for (std::size_t a = 0; a < x.dims.size(); ++a)
    if (a != batch) (a < batch ? before : after) *= x.dims[a];
  auto const refuse_mixture = [&] {
    refuse("the node mixes examples of the batch", "a shape that keeps the batch",
           {extents_text(*wanted), " from ", input_text(0)}, onnx_remedy::batch_first);
  };
  auto const refuse_elements = [&] {
    refuse("the target shape does not fit the input", {before * after, " elements for each example"},
           extents_text(*wanted), onnx_remedy::check);
  };
  extents target = *wanted;
  extents const given = file_extents(x);
  std::int64_t known = 1, unknown = -1, of_batch = 0;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == 0 && !allows_zero && i < given.size()) target[i] = given[i];
    if (target[i] == -1 && unknown < 0) {
      unknown = static_cast<std::int64_t>(i);
      continue;
    }
    std::int64_t const multiple = batches_in(target[i]);
    if (multiple > 0) ++of_batch;
    std::int64_t const factor = multiple > 0 ? multiple : target[i];
    if (factor < 1 || factor > max_onnx_extent || (known *= factor) > max_onnx_layer_elements)
      refuse_mixture();
  }
  if (unknown >= 0) {  // the batch, unless another extent contains it
    std::int64_t const total = before * after * (of_batch == 0 && count > 0 ? count : 1);
    if (total % known != 0) refuse_elements();
    std::int64_t const rest = total / known;
    if (rest > max_onnx_extent) refuse_mixture();
    target[static_cast<std::size_t>(unknown)] = of_batch == 0 && count < 0 ? batch_multiple(rest) : rest;
  }
  // Finds the axis of the batch, or else an axis that joins the batch with others: k elements outside the
  // batch, and `inside` elements within each example.
  for (bool const joins : {false, true}) {
    std::int64_t prefix = 1;
    for (std::size_t i = 0; i < target.size() && prefix <= before; ++i) {
      bool const is_multiple = count > 0 ? target[i] % count == 0 : batches_in(target[i]) > 0;
      std::int64_t const multiple = count > 0 ? target[i] / count : batches_in(target[i]);
      if (is_multiple && before % prefix == 0) {
        std::int64_t const outside = before / prefix;
        if (joins ? multiple % outside == 0 : multiple == 1 && outside == 1)
          return set_reshaped(x, target, i, multiple / outside);
      }
      if (batches_in(target[i]) > 0) break;
      prefix *= target[i];
    }
  }
  refuse_mixture();
}

/// Sets the output of a Reshape node. Axis `place` of the target contains the batch, with `inside` elements
/// for each example.
void onnx_importer::set_reshaped(onnx_value const& x, extents const& target, std::size_t place,
                                 std::int64_t inside) {
  std::size_t const batch = batch_axis(x);
  std::int64_t const count = x.dims[batch];
  std::int64_t outside = 1, elements = 1, wanted = inside;
  extents dims;  // extents after the batch; Cohort stores the batch first
  for (std::size_t a = 0; a < x.dims.size(); ++a)
    if (a != batch) elements *= x.dims[a], outside *= a < batch ? x.dims[a] : 1;
  for (std::size_t i = 0; i < place; ++i) {
    dims.push_back(target[i]);
    outside /= target[i];
    wanted *= target[i];
  }
  wanted *= outside;
  onnx_value result;
  result.first_joined = place;
  if (outside > 1) dims.push_back(outside), ++result.joined;
  std::size_t const front = dims.size();
  if (inside > 1) dims.push_back(inside), ++result.joined;
  for (std::size_t i = place + 1; i < target.size(); ++i) {
    dims.push_back(target[i]);
    wanted *= target[i];
  }
  if (wanted != elements)
    refuse("the target shape does not fit the input", {elements, " elements for each example"},
           extents_text(target), onnx_remedy::check);
  onnx_value const turned = moved(x, batch, 0);
  std::size_t const first_joined = result.first_joined, joined = result.joined;
  if (without_units(checked_shape(dims)).rank <= 3 && joined == 1) {
    int const id = is_row_major(turned) ? x.id : permuted(turned, layer_shape(dims));
    result = row_major(id, dims, count);
  } else {
    result = in_view(reshaped(turned, shape_of(x.id)), dims, count);
  }
  result = moved(std::move(result), 0, front);
  result.first_joined = first_joined, result.joined = joined;
  set(std::move(result));
}

/// ReverseSequence whose lengths are all steps.
void onnx_importer::reverse_sequence() {
  onnx_value const x = viewed(0);
  int const steps = axis_of(integer("time_axis", 0), x.dims.size()),
            batch = axis_of(integer("batch_axis", 1), x.dims.size());
  std::int64_t const extent = x.dims[static_cast<std::size_t>(steps)];
  onnx_value const& lengths = any(1);
  auto const constant = lengths.constant ? lengths.constant->integers() : std::nullopt;
  bool const is_whole = lengths.fill
                            ? *lengths.fill == static_cast<double>(extent)
                            : constant && std::ranges::count(*constant, extent) == std::ssize(*constant);
  if (static_cast<std::size_t>(batch) != batch_axis(x) || steps == batch || !is_whole)
    refuse("only a part of the steps is reversed, or the batch is not the axis that batch_axis names",
           {"the constant length ", extent, " for each example"}, input_text(1), onnx_remedy::replace);
  extents indices(static_cast<std::size_t>(extent));
  std::iota(indices.rbegin(), indices.rend(), 0);
  set(selected(x, steps, indices));
}

void onnx_importer::squeeze() {
  onnx_value const& x = tensor(0);
  std::optional<extents> const axes = list(1, "axes");
  extents const dims = file_extents(x);
  std::vector<bool> removed(dims.size());
  if (axes)
    for (std::int64_t const one : *axes) removed[static_cast<std::size_t>(axis_of(one, dims.size()))] = true;
  else
    for (std::size_t a = 0; a < removed.size(); ++a) removed[a] = dims[a] == 1;
  onnx_value made = x;
  made.dims.clear(), made.axes.clear();
  for (std::size_t a = 0, next = 0; a < removed.size(); ++a) {
    std::size_t const last = next + (x.joined > 1 && a == x.first_joined ? x.joined : 1);
    if (x.joined > 1 && a == x.first_joined) made.first_joined = made.dims.size();
    if (removed[a] && dims[a] != 1)
      refuse("the node removes an axis whose extent is not 1", "1", {x.dims[next], " at axis ", a},
             onnx_remedy::check);
    for (; next < last; ++next) {
      if (removed[a] && !x.constant && x.axes[next] == onnx_value::batch)
        refuse("the node removes the batch", "axes after the batch", {"axis ", a, " of ", input_text(0)},
               onnx_remedy::batch_first);
      if (removed[a]) continue;
      made.dims.push_back(x.dims[next]);
      if (!x.constant) made.axes.push_back(x.axes[next]);
    }
  }
  if (!x.constant) return set(made);
  onnx_tensor tensor = *x.constant;
  tensor.dims = made.dims;
  set_constant(std::move(tensor));
}

void onnx_importer::unsqueeze() {
  onnx_value const& x = tensor(0);
  std::optional<extents> const axes = list(1, "axes");
  constexpr std::size_t most = 16;
  if (!axes || axes->size() > most || x.dims.size() + axes->size() > most)
    refuse("the axes are missing, or the result has too many axes", {"at most ", most, " axes"},
           {x.dims.size(), " and ", axes ? text_of({axes->size()}) : "no", " added ones"},
           onnx_remedy::check);
  std::size_t const rank = x.dims.size() - x.joined + 1 + axes->size();
  std::vector<bool> added(rank);
  for (std::int64_t const one : *axes) {
    auto const at = static_cast<std::size_t>(axis_of(one, rank));
    if (added[at])
      refuse("an axis is added twice", "different axes", extents_text(*axes, ", "), onnx_remedy::check);
    added[at] = true;
  }
  onnx_value made = x;
  made.dims.clear(), made.axes.clear();
  for (std::size_t a = 0, next = 0; a < rank; ++a) {
    if (added[a]) {
      made.dims.push_back(1);
      if (!x.constant) made.axes.push_back(onnx_value::unit);
      continue;
    }
    bool const is_joined = x.joined > 1 && next == x.first_joined;
    if (is_joined) made.first_joined = made.dims.size();
    for (std::size_t const last = next + (is_joined ? x.joined : 1); next < last; ++next) {
      made.dims.push_back(x.dims[next]);
      if (!x.constant) made.axes.push_back(x.axes[next]);
    }
  }
  if (!x.constant) return set(made);
  onnx_tensor tensor = *x.constant;
  tensor.dims = made.dims;
  set_constant(std::move(tensor));
}

void onnx_importer::transpose() {
  onnx_value const& x = tensor(0);
  extents order = integers("perm");
  std::size_t const rank = x.dims.size() - x.joined + 1;
  if (order.empty()) {
    order.resize(rank);
    std::iota(order.rbegin(), order.rend(), 0);
  }
  std::vector<bool> seen(rank);
  if (order.size() != rank)
    refuse("perm has another length than the axes of the input", {rank}, {order.size()}, onnx_remedy::check);
  onnx_value made = x;
  extents axes;  // axes of the value in the new order
  for (std::int64_t const from : order) {
    if (from < 0 || from >= static_cast<std::int64_t>(rank) || seen[static_cast<std::size_t>(from)])
      refuse("perm is not a permutation", {"each of 0 to ", static_cast<std::int64_t>(rank) - 1, " once"},
             extents_text(order, ", "), onnx_remedy::check);
    auto const axis = static_cast<std::size_t>(from);
    seen[axis] = true;
    bool const is_joined = x.joined > 1 && axis == x.first_joined;
    if (is_joined) made.first_joined = axes.size();
    std::size_t const place = axis + (x.joined > 1 && axis > x.first_joined ? x.joined - 1 : 0);
    for (std::size_t i = place; i < place + (is_joined ? x.joined : 1); ++i)
      axes.push_back(static_cast<std::int64_t>(i));
  }
  for (std::size_t a = 0; a < axes.size(); ++a) {
    made.dims[a] = x.dims[static_cast<std::size_t>(axes[a])];
    if (!x.constant) made.axes[a] = x.axes[static_cast<std::size_t>(axes[a])];
  }
  if (!x.constant) return set(made);
  auto const values = x.constant->floats();
  if (!values)
    refuse("the node transposes a constant of another type", "float", name_of(x.constant->type),
           onnx_remedy::fold);
  set_constant(onnx_tensor::of("", made.dims,
                               permute_axes(*values, x.dims, std::vector<int>(order.begin(), order.end()))));
}

}  // namespace cohort::detail
