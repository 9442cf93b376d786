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
bool not_finite(float value);
bool not_finite(double value);

std::string place_in(array const& a, std::size_t element);

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
                  std::shared_ptr<void const> owner = nullptr);

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
  void get(std::int64_t i, example_view& out) const;

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

  static int positive(int classes);

  tensor_description added(array const& a, bool input);

  std::shared_ptr<void const> owner_;
  data_description what_;
  std::vector<example_rows> rows_;
  std::int64_t size_ = 0;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/arrays.ipp>
#endif
