// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
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
#include <vector>

namespace cohort {

/// One tensor for all examples, in memory owned by the caller. `values` is count × example.
///
/// Units     the batch contains value · scale + offset, of type `as`. Default type: f32 for u8 inputs, i32
///           for labels and i64, the stored type otherwise.
struct array_view {
  std::string name{};
  tensor_view values{};
  double scale = 1;
  double offset = 0;
  int classes = 0;  ///< if > 0: values are class labels 0 … classes − 1, one per example or step
  std::vector<std::string> label_names = {};
  std::optional<element_type> as = std::nullopt;  ///< element type in the batch
  feature_axis features = feature_axis::channels;
  std::vector<std::string> feature_names = {};  ///< as of tensor_description
  std::optional<std::uint64_t> pipeline = {};   ///< as of tensor_description
};

namespace detail {

/// Returns whether the value is infinite or NaN. Tests bits, so it also works with -ffast-math.
bool not_finite(float value);
bool not_finite(double value);

/// Returns an error message's location: "label, example 3".
std::string location_in(array_view const& a, std::size_t element);

template <class T>
void require_finite(array_view const& a) {
  std::span<T const> const values = a.values.as<T>();
  auto const bad = std::find_if(values.begin(), values.end(), [](T value) { return not_finite(value); });
  if (bad != values.end())
    throw data_error({.what = "the data contains a number that is not finite",
                      .where = location_in(a, static_cast<std::size_t>(bad - values.begin())),
                      .expected = "a finite number",
                      .got = {*bad}});
}

template <class R>
concept contiguous_range = requires(R&& r) {
  std::data(r);
  std::size(r);
};

/// A contiguous range whose elements outlive the expression: an lvalue, or a view such as std::span.
template <class R>
concept lasting_range =
    contiguous_range<R> &&(std::is_lvalue_reference_v<R> || requires(std::remove_cvref_t<R> r) {
      []<class T, std::size_t N>(std::span<T, N>) {}(r);
      requires std::is_trivially_copyable_v<std::remove_cvref_t<R>>;
    });

}  // namespace detail

/// An indexed data set of arrays in memory, which are not copied.
///
/// Shapes    every array has the same outermost extent, the number of examples; at most 2³¹ − 1.
/// Before    the memory does not change and outlives the data set. The data set keeps `owner` alive, if
///           given.
/// Errors    the constructor checks every element. shape_error if there is no input, an array has no
///           dimension for the examples, the arrays' numbers of examples differ, or a stored type cannot be
///           converted to the type in the batch. data_error if class labels are not integers, or the number
///           of label names is wrong. data_error with the example's index if a label is out of range, an
///           element is not finite, or an f64 element that is delivered as f32 exceeds the range of f32. The
///           constructor with an argument `classes` throws setting_error if `classes` is below 1.
class arrays {
 public:
  explicit arrays(std::vector<array_view> const& inputs, std::vector<array_view> const& targets = {},
                  std::shared_ptr<void const> owner = nullptr);

  /// One input and one class label per example: arrays(pixels, {1, 28, 28}, labels, 10, 1 / 255.0).
  template <class Inputs, class Labels>
  requires(detail::lasting_range<Inputs>&& detail::lasting_range<Labels>)
      arrays(Inputs&& inputs, shape example, Labels&& labels, int classes, double scale = 1,
             double offset = 0)
      : arrays(
          {array_view{.name = "input", .values = view_of(inputs, example), .scale = scale, .offset = offset}},
          {array_view{
              .name = "label", .values = view_of(labels, {}), .classes = checked_class_count(classes)}}) {}

  /// Does not compile, because the memory of a temporary range does not outlive the data set. Compilers print
  /// the deleted function's line.
  // clang-format off
  template <class I, class L>
  requires(detail::contiguous_range<I>&&
               detail::contiguous_range<L> && !(detail::lasting_range<I> && detail::lasting_range<L>))
      arrays(I&&, shape, L&&, int, double = 1, double = 0) = delete;  // keep the numbers in variables
  // clang-format on

  data_description const& describe() const& { return description_; }
  data_description describe() && { return description_; }  // outlives the temporary
  std::int64_t size() const { return size_; }
  std::span<example_rows const> rows() const&;
  std::span<example_rows const> rows() const&& = delete;  // keep the data set in a variable
  void get(std::int64_t i, example_view& out) const;

 private:
  template <class Range>
  static tensor_view view_of(Range& range, shape example) {
    auto const per_example = static_cast<std::size_t>(std::max<std::int64_t>(example.elements(), 1));
    if (std::size(range) % per_example != 0)
      throw shape_error({.what = "the number of elements is not a multiple of the example's size",
                         .where = {"example ", to_string(example)},
                         .expected = {"a multiple of ", per_example, " elements"},
                         .got = {std::size(range)}});
    if (std::size(range) / per_example > 0x7fffffffU)
      throw shape_error({.what = "too many examples for one array",
                         .where = {"example ", to_string(example)},
                         .expected = "at most 2147483647 examples",
                         .got = {std::size(range) / per_example}});
    using element = std::remove_cvref_t<decltype(*std::data(range))>;
    return {static_cast<element const*>(std::data(range)),
            example.batched(static_cast<int>(std::size(range) / per_example))};
  }

  static int checked_class_count(int classes);

  tensor_description add_part(array_view const& a, bool input);

  std::shared_ptr<void const> owner_;
  data_description description_;
  std::vector<example_rows> rows_;
  std::int64_t size_ = 0;
};

}  // namespace cohort
