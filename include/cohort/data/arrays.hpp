// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cohort/data/dataset.hpp>
#include <cohort/data/description.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cohort {

/// One tensor for all examples, in memory that somebody else owns: `values` is count × example.
///
/// Units     the batch gets value · scale + offset; u8 inputs arrive as f32, labels as i32, others as they are,
///           unless `as` says otherwise.
struct array {
  std::string name{};
  tensor_view values{};
  double scale = 1;
  double offset = 0;
  int classes = 0;  ///< values are class labels 0 … classes − 1
  std::vector<std::string> label_names = {};
  std::optional<element_type> as = std::nullopt;
};

namespace detail {

/// By bits, so that it holds under -ffast-math.
inline bool not_finite(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7f800000U) == 0x7f800000U;
}
inline bool not_finite(double value) {
  return (std::bit_cast<std::uint64_t>(value) & 0x7ff0000000000000U) == 0x7ff0000000000000U;
}

inline std::string place_in(array const& a, std::size_t element) {
  auto const per_example = static_cast<std::size_t>(a.values.dims.example().elements());
  std::string text = a.name + ", example " + std::to_string(element / per_example);
  if (per_example > 1) text += ", element " + std::to_string(element % per_example);
  return text;
}

template <class T>
void require_finite(array const& a) {
  std::span<T const> const values = a.values.as<T>();
  auto const bad = std::find_if(values.begin(), values.end(), [](T value) { return not_finite(value); });
  if (bad != values.end())
    throw data_error({.what = "the data holds a number that is not finite",
                      .where = place_in(a, static_cast<std::size_t>(bad - values.begin())),
                      .expected = "a finite number",
                      .got = {*bad}});
}

template <class T>
void require_labels(array const& a) {
  std::span<T const> const values = a.values.as<T>();
  auto const bad = std::find_if(values.begin(), values.end(), [&](T label) {
    return static_cast<std::int64_t>(label) < 0 || static_cast<std::int64_t>(label) >= a.classes;
  });
  if (bad != values.end())
    throw data_error({.what = "a class label is out of range",
                      .where = place_in(a, static_cast<std::size_t>(bad - values.begin())),
                      .expected = {"0 to ", a.classes - 1},
                      .got = {*bad}});
}

inline tensor_description checked_part(array const& a, bool input) {
  using enum element_type;
  if (a.values.dims.rank < 1)
    throw shape_error({.what = "an array of examples needs an outermost extent that counts them",
                       .where = a.name,
                       .expected = "count x example",
                       .got = to_string(a.values.dims)});
  if (a.classes > 0) {
    if (a.values.dims.example().elements() != 1)
      throw shape_error({.what = "class labels are one number an example",
                         .where = a.name,
                         .expected = "scalar",
                         .got = to_string(a.values.dims.example())});
    if (!a.label_names.empty() && a.label_names.size() != static_cast<std::size_t>(a.classes))
      throw data_error({.what = "there is not one name a class",
                        .where = a.name,
                        .expected = {a.classes, " label names"},
                        .got = {a.label_names.size()}});
    switch (a.values.type) {
      case u8:
        require_labels<std::uint8_t>(a);
        break;
      case i32:
        require_labels<std::int32_t>(a);
        break;
      case i64:
        require_labels<std::int64_t>(a);
        break;
      default:
        throw data_error({.what = "class labels must be integers",
                          .where = a.name,
                          .expected = "u8, i32 or i64",
                          .got = {name_of(a.values.type)}});
    }
  } else if (a.values.type == f32) {
    require_finite<float>(a);
  } else if (a.values.type == f64) {
    require_finite<double>(a);
  }
  element_type const usual = a.classes > 0                  ? i32
                             : a.values.type == u8 && input ? f32
                             : a.values.type == i64         ? i32
                                                            : a.values.type;
  tensor_description part{.name = a.name,
                          .example = a.classes > 0 ? shape() : a.values.dims.example(),
                          .stored = a.values.type,
                          .type = a.as.value_or(usual),
                          .scale = a.scale,
                          .offset = a.offset,
                          .classes = a.classes,
                          .label_names = a.label_names};
  transform_of(part);
  return part;
}

/// A contiguous range that outlives the expression: an lvalue, or a view such as a span.
template <class R>
concept lasting_range = requires(R&& r) {
  std::data(r);
  std::size(r);
}
&&(std::is_lvalue_reference_v<R> || requires(std::remove_cvref_t<R> r) {
  []<class T, std::size_t N>(std::span<T, N>) {}(r);
  requires std::is_trivially_copyable_v<std::remove_cvref_t<R>>;
});

}  // namespace detail

/// Examples that lie in memory, used where they are: an indexed data set.
///
/// Shapes    every array has the same outermost extent, the number of examples; at most 2³¹ − 1 of them.
/// Order     the memory must outlive the data set and not change; or hand over its owner, which is then kept.
/// Errors    shape_error for arrays that do not fit together; data_error naming the example for labels that are
///           out of range and for numbers that are not finite (every element is looked at once, here).
class arrays {
 public:
  explicit arrays(std::vector<array> const& inputs, std::vector<array> const& targets = {},
                  std::shared_ptr<void const> owner = nullptr)
      : owner_(std::move(owner)) {
    if (inputs.empty())
      throw shape_error(
          {.what = "a data set needs an input", .where = "", .expected = "at least 1", .got = "0"});
    size_ = inputs[0].values.dims.rank > 0 ? inputs[0].values.dims[0] : 0;
    for (array const& a : inputs) what_.inputs.push_back(added(a, true));
    for (array const& a : targets) what_.targets.push_back(added(a, false));
  }

  /// Inputs of one shape with a class label each: arrays(pixels, {1, 28, 28}, labels, 10, 1 / 255.0).
  template <class Inputs, class Labels>
  requires(detail::lasting_range<Inputs>&& detail::lasting_range<Labels>)
      arrays(Inputs&& inputs, shape example, Labels&& labels, int classes, double scale = 1,
             double offset = 0)
      : arrays({array{.name = "input", .values = viewed(inputs, example), .scale = scale, .offset = offset}},
               {array{.name = "label", .values = viewed(labels, {}), .classes = positive(classes)}}) {}

  data_description const& describe() const { return what_; }
  std::int64_t size() const { return size_; }
  std::span<example_rows const> rows() const { return rows_; }
  void get(std::int64_t i, example_view& out) const {
    for (std::size_t part = 0; part < rows_.size(); ++part)
      out.point(part, rows_[part].first + static_cast<std::size_t>(i) * rows_[part].distance_bytes);
  }

 private:
  template <class Range>
  static tensor_view viewed(Range& range, shape example) {
    auto const per_example = static_cast<std::size_t>(std::max<std::int64_t>(example.elements(), 1));
    if (std::size(range) % per_example != 0)
      throw shape_error({.what = "the elements do not make whole examples",
                         .where = {"example ", to_string(example)},
                         .expected = {"a multiple of ", per_example},
                         .got = {std::size(range)}});
    if (std::size(range) / per_example > 0x7fffffffU)
      throw shape_error({.what = "too many examples for one array",
                         .where = "",
                         .expected = "at most 2147483647",
                         .got = {std::size(range) / per_example}});
    using element = std::remove_cvref_t<decltype(*std::data(range))>;
    return {static_cast<element const*>(std::data(range)),
            example.batched(static_cast<int>(std::size(range) / per_example))};
  }

  static int positive(int classes) {
    if (classes < 1)
      throw setting_error(
          {.what = "there must be a class", .where = "classes", .expected = "at least 1", .got = {classes}});
    return classes;
  }

  tensor_description added(array const& a, bool input) {
    tensor_description part = detail::checked_part(a, input);
    if (a.values.dims[0] != size_)
      throw shape_error({.what = "the arrays differ in their number of examples",
                         .where = a.name,
                         .expected = {size_},
                         .got = {a.values.dims[0]}});
    rows_.push_back({a.values.data,
                     static_cast<std::size_t>(a.values.dims.example().elements()) * bytes_of(a.values.type)});
    return part;
  }

  std::shared_ptr<void const> owner_;
  data_description what_;
  std::vector<example_rows> rows_;
  std::int64_t size_ = 0;
};

}  // namespace cohort
