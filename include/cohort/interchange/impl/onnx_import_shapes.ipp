// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/interchange/detail/onnx_importer.hpp>
#include <cohort/io/detail/permutation.hpp>
#include <limits>
#include <numeric>

namespace cohort::detail {

void onnx_importer::concat() {
  std::vector<onnx_value> from;
  for (std::size_t x = 0; x < node_->inputs.size(); ++x) from.push_back(data(x));
  if (from.empty()) refuse("the node has no inputs", "at least 1", "0", onnx_remedy::check);
  std::size_t const rank = from[0].dims.size();
  int const axis = axis_of(integer("axis", 1), rank);
  auto const at = static_cast<std::size_t>(axis);
  std::vector<int> ids;
  std::int64_t total = 0;
  bool is_sequence = from.size() > 1;
  for (onnx_value const& one : from) {
    if (one.dims.size() != rank)
      refuse("the inputs have different numbers of axes", extents_text(from[0].dims), extents_text(one.dims),
             onnx_remedy::check);
    for (std::size_t a = 0; a < rank; ++a)
      if (a != at && one.dims[a] != from[0].dims[a])
        refuse("the inputs differ in another axis than the joined one", extents_text(from[0].dims),
               extents_text(one.dims), onnx_remedy::check);
    total += one.dims[at];
    is_sequence = is_sequence && one.axes == from[0].axes && shape_of(one.id).rank == 2 && one.axes[at] == 1;
  }
  if (from.size() == 1) return set(from[0]);
  if (is_sequence) {  // the columns of sequences, N×T×C or T×N×C
    for (onnx_value const& one : from) ids.push_back(one.id);
    onnx_value made = like(from[0], append("concatenate", ids));
    made.dims[at] = total;
    return set(made);
  }
  for (onnx_value const& one : from) {
    auto const [before, along, after] = split_at(one, axis);
    if (before > 1 && after > 1)
      refuse("the inputs are joined along a middle axis", "the first or last axis after the batch",
             {"axis ", axis, " of ", extents_text(one.dims)}, onnx_remedy::replace);
    ids.push_back(reshaped(one, after > 1    ? checked_shape({along, after, 1})
                                : before > 1 ? checked_shape({before, along})
                                             : checked_shape({along})));
  }
  extents dims = behind_batch_of(from[0]);
  dims[at - 1] = total;
  set(row_major(append("concatenate", ids), dims, from[0].dims[0]));
}

void onnx_importer::slice() {
  onnx_value x = data(0);
  std::optional<extents> starts = list(1, "starts"), ends = list(2, "ends", true), axes = list(3, "axes"),
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
    if (steps && (*steps)[i] != 1) refuse("a step is not 1", "1", {(*steps)[i]}, onnx_remedy::replace);
    std::int64_t first = (*starts)[i], last = (*ends)[i];
    if (x.axes[static_cast<std::size_t>(axis)] == onnx_value::batch) {
      bool const is_all = first == 0
                          && (last >= std::numeric_limits<std::int32_t>::max() || last == batch_extent
                              || (extent > 0 && last >= extent));
      if (!is_all)
        refuse("the node selects a part of the batch", "all examples", {first, " to ", last},
               onnx_remedy::replace);
      continue;
    }
    x = sliced(x, axis, slice_bound(first, extent), slice_bound(last, extent));
  }
  set(x);
}

void onnx_importer::split() {
  onnx_value const& x = data(0);
  int const axis = axis_of(integer("axis", 0), x.dims.size());
  std::optional<extents> sizes = list(1, "split");
  std::int64_t const extent = x.dims[static_cast<std::size_t>(axis)];
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
  std::int64_t first = 0;
  for (std::size_t part = 0; part < sizes->size(); ++part) {
    std::int64_t const size = (*sizes)[part];
    if (size < 0 || size > extent - first)
      refuse("the sizes do not fit the input", {"a sum of ", extent}, extents_text(*sizes, ", "),
             onnx_remedy::check);
    if (is_used(part)) set(sliced(x, axis, first, first + size), part);
    first += size;
  }
}

void onnx_importer::gather() {
  std::int64_t const axis = integer("axis", 0);
  if (!is_constant(0) && is_constant(1)) {  // one element along an axis
    onnx_value const& x = data(0);
    std::optional<extents> const index = list(1, nullptr);
    int const at = axis_of(axis, x.dims.size());
    std::int64_t const extent = x.dims[static_cast<std::size_t>(at)];
    if (!index || index->size() != 1 || any(1).dims.size() > 1)
      refuse("the node selects several elements of a value", "one constant index", input_text(1),
             onnx_remedy::replace);
    std::int64_t const first = (*index)[0] < 0 ? (*index)[0] + extent : (*index)[0];
    if (first < 0 || first >= extent)
      refuse("the index does not exist", {-extent, " to ", extent - 1}, {(*index)[0]}, onnx_remedy::check);
    onnx_value made = sliced(x, at, first, first + 1);
    if (any(1).dims.empty()) {
      made.dims.erase(made.dims.begin() + at);
      made.axes.erase(made.axes.begin() + at);
    }
    return set(made);
  }
  tensor_float table = numbers(0);
  onnx_value const& x = any(1);
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
  onnx_value const& x = data(0);
  std::int64_t const given = integer("axis", 1);
  auto const rank = static_cast<std::int64_t>(x.dims.size());
  std::int64_t const axis = given == rank ? rank : axis_of(given, x.dims.size());
  if (axis < 1 || x.axes[0] != onnx_value::batch)
    refuse("the node mixes examples of the batch", "axis 1, and the batch as first axis",
           {"axis ", given, " of ", input_text(0)}, onnx_remedy::batch_first);
  std::int64_t before = 1, after = 1;
  for (std::int64_t a = 1; a < rank; ++a) (a < axis ? before : after) *= x.dims[static_cast<std::size_t>(a)];
  if (before > 1)
    refuse("the node adds an axis to the batch", "axis 1", {"axis ", given, " of ", input_text(0)},
           onnx_remedy::batch_first);
  if (shape_of(x.id).rank < 2 || !is_row_major(x))
    return set(row_major(reshaped(x, checked_shape({after})), {after}, x.dims[0]));
  set(row_major(append("flatten", {x.id}), {after}, x.dims[0]));
}

void onnx_importer::reshape() {
  std::optional<extents> wanted = list(1, version_ < 5 ? "shape" : nullptr, true);
  bool const allows_zero = integer("allowzero", 0) != 0;
  if (!wanted) refuse("the target shape is missing", "a constant", "none", onnx_remedy::fold);
  onnx_value const& x = tensor(0);
  if (x.constant) {
    if (std::ranges::find(*wanted, batch_extent) != wanted->end())
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
  auto const batch = static_cast<std::size_t>(std::ranges::find(x.axes, onnx_value::batch) - x.axes.begin());
  std::int64_t before = 1, after = 1;
  for (std::size_t a = 0; a < x.dims.size(); ++a)
    if (a != batch) (a < batch ? before : after) *= x.dims[a];
  std::int64_t const count = x.dims[batch];
  extents const& target = *wanted;
  std::size_t at = target.size();
  extents dims;
  std::int64_t prefix = 1;
  for (std::size_t i = 0; i < target.size() && prefix <= before; ++i) {
    std::int64_t const one = target[i] == 0 && !allows_zero ? (i < x.dims.size() ? x.dims[i] : 0) : target[i];
    bool const copies = target[i] == batch_extent || (target[i] == 0 && i == batch && !allows_zero);
    // −1 is the batch if the product of the other extents is the number of elements of an example.
    std::int64_t others = 1;
    for (std::size_t k = 0; k < target.size(); ++k)
      if (k != i) {
        std::int64_t const other = target[k] == 0 && k < x.dims.size() ? x.dims[k] : target[k];
        others =
            other < 0 || other > max_onnx_extent || others > max_onnx_layer_elements ? -1 : others * other;
        if (others < 0) break;
      }
    bool const infers = target[i] == -1 && others == before * after;
    if (prefix == before && (copies || infers || (count > 0 && one == count))) {
      at = i;
      break;
    }
    if (one < 1 || one > max_onnx_extent) break;
    prefix *= one;
    dims.push_back(one);
  }
  if (at == target.size())
    refuse("the node mixes examples of the batch", "a shape that keeps the batch",
           {extents_text(target), " from ", input_text(0)}, onnx_remedy::batch_first);
  std::size_t const front = dims.size();
  std::int64_t known = 1;
  std::optional<std::size_t> unknown;
  for (std::size_t i = at + 1; i < target.size(); ++i) {
    std::int64_t const one = target[i] == 0 && !allows_zero ? (i < x.dims.size() ? x.dims[i] : 0) : target[i];
    if (one == -1 && !unknown)
      unknown = dims.size();
    else if (one < 1 || one > max_onnx_extent || (known *= one) > max_onnx_layer_elements)
      refuse("the node mixes examples of the batch", "a shape that keeps the batch",
             {extents_text(target), " from ", input_text(0)}, onnx_remedy::batch_first);
    dims.push_back(one);
  }
  if (unknown) dims[*unknown] = after / known;
  std::int64_t product = 1;
  for (std::int64_t const one : dims) product *= one;
  if (product != before * after)
    refuse("the target shape does not fit the input", {before * after, " elements for each example"},
           extents_text(target), onnx_remedy::check);
  // Cohort stores the batch axis first, so the ONNX axes before the batch axis become the first axes of an
  // example.
  onnx_value turned = x;
  std::rotate(turned.dims.begin(), turned.dims.begin() + static_cast<std::ptrdiff_t>(batch),
              turned.dims.begin() + static_cast<std::ptrdiff_t>(batch) + 1);
  std::rotate(turned.axes.begin(), turned.axes.begin() + static_cast<std::ptrdiff_t>(batch),
              turned.axes.begin() + static_cast<std::ptrdiff_t>(batch) + 1);
  if (!is_row_major(turned)) refuse_transposed(turned);
  onnx_value made = row_major(x.id, dims, count);
  made.dims.erase(made.dims.begin());
  made.axes.erase(made.axes.begin());
  made.dims.insert(made.dims.begin() + static_cast<std::ptrdiff_t>(front), count);
  made.axes.insert(made.axes.begin() + static_cast<std::ptrdiff_t>(front), onnx_value::batch);
  set(made);
}

void onnx_importer::squeeze() {
  onnx_value x = tensor(0);
  std::optional<extents> axes = list(1, "axes");
  std::vector<bool> removed(x.dims.size());
  if (axes)
    for (std::int64_t const one : *axes)
      removed[static_cast<std::size_t>(axis_of(one, x.dims.size()))] = true;
  else
    for (std::size_t a = 0; a < removed.size(); ++a) removed[a] = x.dims[a] == 1;
  onnx_value made = x;
  made.dims.clear(), made.axes.clear();
  for (std::size_t a = 0; a < removed.size(); ++a) {
    if (removed[a] && x.dims[a] != 1)
      refuse("the node removes an axis whose extent is not 1", "1", {x.dims[a], " at axis ", a},
             onnx_remedy::check);
    if (removed[a] && !x.constant && x.axes[a] == onnx_value::batch)
      refuse("the node removes the batch", "axes after the batch", {"axis ", a, " of ", input_text(0)},
             onnx_remedy::batch_first);
    if (removed[a]) continue;
    made.dims.push_back(x.dims[a]);
    if (!x.constant) made.axes.push_back(x.axes[a]);
  }
  if (!x.constant) return set(made);
  onnx_tensor tensor = *x.constant;
  tensor.dims = made.dims;
  set_constant(std::move(tensor));
}

void onnx_importer::unsqueeze() {
  onnx_value x = tensor(0);
  std::optional<extents> const axes = list(1, "axes");
  constexpr std::size_t most = 16;
  if (!axes || axes->size() > most || x.dims.size() + axes->size() > most)
    refuse("the axes are missing, or the result has too many axes", {"at most ", most, " axes"},
           {x.dims.size(), " and ", axes ? text_of({axes->size()}) : "no", " added ones"},
           onnx_remedy::check);
  std::size_t const rank = x.dims.size() + axes->size();
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
    made.dims.push_back(added[a] ? 1 : x.dims[next]);
    if (!x.constant) made.axes.push_back(added[a] ? onnx_value::unit : x.axes[next]);
    if (!added[a]) ++next;
  }
  if (!x.constant) return set(made);
  onnx_tensor tensor = *x.constant;
  tensor.dims = made.dims;
  set_constant(std::move(tensor));
}

void onnx_importer::transpose() {
  onnx_value const& x = tensor(0);
  extents order = integers("perm");
  if (order.empty()) {
    order.resize(x.dims.size());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  std::vector<bool> seen(x.dims.size());
  if (order.size() != x.dims.size())
    refuse("perm has another length than the axes of the input", {x.dims.size()}, {order.size()},
           onnx_remedy::check);
  onnx_value made = x;
  for (std::size_t a = 0; a < order.size(); ++a) {
    if (order[a] < 0 || order[a] >= static_cast<std::int64_t>(seen.size())
        || seen[static_cast<std::size_t>(order[a])])
      refuse("perm is not a permutation",
             {"each of 0 to ", static_cast<std::int64_t>(order.size()) - 1, " once"},
             extents_text(order, ", "), onnx_remedy::check);
    seen[static_cast<std::size_t>(order[a])] = true;
    made.dims[a] = x.dims[static_cast<std::size_t>(order[a])];
    if (!x.constant) made.axes[a] = x.axes[static_cast<std::size_t>(order[a])];
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
