// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/data/arrays.hpp>
#include <cohort/tensor/finite.hpp>
#include <limits>
#include <utility>

namespace cohort::detail {

bool not_finite(float value) { return (std::bit_cast<std::uint32_t>(value) & 0x7f800000U) == 0x7f800000U; }

bool not_finite(double value) {
  return (std::bit_cast<std::uint64_t>(value) & 0x7ff0000000000000U) == 0x7ff0000000000000U;
}

std::string location_in(array_view const& a, std::size_t element) {
  auto const per_example = static_cast<std::size_t>(a.values.dims.example().elements());
  std::string text = a.name + ", example " + std::to_string(element / per_example);
  if (per_example > 1) text += ", element " + std::to_string(element % per_example);
  return text;
}

/// Checks class labels, and returns the smallest one.
template <class T>
int require_labels(array_view const& a) {
  std::span<T const> const values = a.values.as<T>();
  T const smallest = values.empty() ? T(0) : *std::ranges::min_element(values);
  auto const bad = std::find_if(values.begin(), values.end(), [&](T label) {
    return static_cast<std::int64_t>(label) < 0 || static_cast<std::int64_t>(label) >= a.classes;
  });
  if (bad != values.end())
    throw data_error({.what = "a class label is out of range",
                      .where = location_in(a, static_cast<std::size_t>(bad - values.begin())),
                      .expected = {"0 to ", a.classes - 1},
                      .got = {*bad, static_cast<std::int64_t>(smallest) == 1
                                        ? "; no example has class 0: if the labels begin at 1, subtract 1"
                                        : ""}});
  return static_cast<int>(smallest);
}

void require_fit_f32(array_view const& a) {
  std::span<double const> const values = a.values.as<double>();
  auto const bad = std::find_if(values.begin(), values.end(), [](double value) { return !fits_f32(value); });
  if (bad != values.end())
    throw data_error({.what = "a number is out of the range of f32, its type in the batch",
                      .where = location_in(a, static_cast<std::size_t>(bad - values.begin())),
                      .expected = {"a magnitude of at most ", std::numeric_limits<float>::max()},
                      .got = {*bad}});
}

tensor_description checked_part(array_view const& a, bool input) {
  using enum element_type;
  if (a.values.dims.rank < 1)
    throw shape_error({.what = "the array has no dimension for the examples",
                       .where = a.name,
                       .expected = "count x example",
                       .got = to_string(a.values.dims)});
  int smallest = 0;
  if (a.classes > 0) {
    if (a.values.dims.rank > 2)
      throw shape_error({.what = "class labels have too many dimensions",
                         .where = a.name,
                         .expected = "one per example (scalar) or one per step (T)",
                         .got = to_string(a.values.dims.example())});
    if (!a.label_names.empty() && a.label_names.size() != static_cast<std::size_t>(a.classes))
      throw data_error({.what = "the number of label names differs from the number of classes",
                        .where = a.name,
                        .expected = {a.classes, " label names"},
                        .got = {a.label_names.size()}});
    switch (a.values.type) {
      case u8:
        smallest = require_labels<std::uint8_t>(a);
        break;
      case i32:
        smallest = require_labels<std::int32_t>(a);
        break;
      case i64:
        smallest = require_labels<std::int64_t>(a);
        break;
      default:
        throw data_error({.what = "class labels are not integers",
                          .where = a.name,
                          .expected = "u8, i32 or i64",
                          .got = {name_of(a.values.type)}});
    }
  } else if (a.values.type == f32) {
    require_finite<float>(a);
  } else if (a.values.type == f64) {
    require_finite<double>(a);
  }
  element_type const default_type = a.classes > 0                  ? i32
                                    : a.values.type == u8 && input ? f32
                                    : a.values.type == i64         ? i32
                                                                   : a.values.type;
  bool const labels = a.classes > 0 && a.values.dims.example().elements() == 1;  // one per example
  tensor_description part{.name = a.name,
                          .example = labels ? shape() : a.values.dims.example(),
                          .stored = a.values.type,
                          .type = a.as.value_or(default_type),
                          .scale = a.scale,
                          .offset = a.offset,
                          .classes = a.classes,
                          .smallest_class = smallest,
                          .label_names = a.label_names,
                          .features = a.features,
                          .feature_names = a.feature_names,
                          .pipeline = a.pipeline};
  transform_of(part);
  if (part.stored == f64 && part.type == f32) require_fit_f32(a);
  return part;
}

}  // namespace cohort::detail

namespace cohort {

arrays::arrays(std::vector<array_view> const& inputs, std::vector<array_view> const& targets,
               std::shared_ptr<void const> owner)
    : owner_(std::move(owner)) {
  if (inputs.empty())
    throw shape_error(
        {.what = "a data set has no input", .where = "arrays", .expected = "at least 1 input", .got = "0"});
  size_ = inputs[0].values.dims.rank > 0 ? inputs[0].values.dims[0] : 0;
  for (array_view const& a : inputs) description_.inputs.push_back(add_part(a, true));
  for (array_view const& a : targets) description_.targets.push_back(add_part(a, false));
}

std::span<example_rows const> arrays::rows() const& { return rows_; }

void arrays::get(std::int64_t i, example_view& out) const {
  for (std::size_t part = 0; part < rows_.size(); ++part)
    out.point(part, rows_[part].first + static_cast<std::size_t>(i) * rows_[part].stride_bytes);
}

int arrays::checked_class_count(int classes) {
  if (classes < 1)
    throw setting_error({.what = "the number of classes is not positive",
                         .where = "classes",
                         .expected = "at least 1",
                         .got = {classes}});
  return classes;
}

tensor_description arrays::add_part(array_view const& a, bool input) {
  tensor_description part = detail::checked_part(a, input);
  if (a.values.dims[0] != size_)
    throw shape_error({.what = "the arrays differ in their number of examples",
                       .where = a.name,
                       .expected = {size_, " examples"},
                       .got = {a.values.dims[0]}});
  rows_.push_back({a.values.data,
                   static_cast<std::size_t>(a.values.dims.example().elements()) * bytes_of(a.values.type)});
  return part;
}

}  // namespace cohort
