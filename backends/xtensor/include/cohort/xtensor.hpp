// SPDX-License-Identifier: Apache-2.0
#pragma once
#if __has_include(<xtensor/containers/xadapt.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#include <xtensor/containers/xtensor.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xtensor.hpp>
#endif

#include <cohort/data/arrays.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cohort {

namespace detail {

/// An xtensor container or adaptor with elements in memory, whose layout is row-major or known only at run
/// time.
template <class X>
concept xtensor_container = requires(X& x) {
  x.data();
  x.shape();
  x.layout();
  x.dimension();
}
&&(X::static_layout == xt::layout_type::row_major || X::static_layout == xt::layout_type::dynamic);

template <class X>
shape xtensor_shape(X const& x) {
  auto const refuse = [](char const* what, std::string expected, std::string got) {
    throw shape_error({.what = what, .where = "", .expected = std::move(expected), .got = std::move(got)});
  };
  if (x.dimension() > static_cast<std::size_t>(shape::max_rank))
    refuse("the xtensor array has too many axes", "at most " + std::to_string(shape::max_rank) + " axes",
           std::to_string(x.dimension()));
  shape dims;
  dims.rank = static_cast<int>(x.dimension());
  for (int axis = 0; axis < dims.rank; ++axis) {
    auto const extent = static_cast<std::size_t>(x.shape()[static_cast<std::size_t>(axis)]);
    if (extent > 0x7fffffffU)
      refuse("an extent of the xtensor array is too large", "extents up to 2147483647",
             std::to_string(extent));
    dims[axis] = static_cast<int>(extent);
  }
  std::int64_t distance = 1;
  for (int axis = dims.rank - 1; axis >= 0; --axis) {  // extents of 1 have stride 0 in xtensor
    auto const stride = static_cast<std::int64_t>(x.strides()[static_cast<std::size_t>(axis)]);
    if (dims[axis] > 1 && stride != distance)
      refuse("the xtensor array cannot be viewed without a copy", "row-major and contiguous elements",
             "stride " + std::to_string(stride) + " along axis " + std::to_string(axis) + ", not "
                 + std::to_string(distance));
    distance *= dims[axis];
  }
  return dims;
}

}  // namespace detail

/// Returns a view of an xtensor array without copying; writable if the array is.
///
/// Order     the array must outlive the view and not be resized.
/// Errors    shape_error for more axes than a shape can have, and for elements that are not row-major and
///           contiguous.
template <class X>
requires detail::xtensor_container<X>
auto view_of(X& array) {
  using view = std::conditional_t<std::is_const_v<std::remove_reference_t<decltype(*array.data())>>,
                                  tensor_view, mutable_tensor_view>;
  return view(array.data() + array.data_offset(), detail::xtensor_shape(array));
}

/// Returns an xtensor adaptor over the elements of a tensor: adapt<float>(b->input()).
///
/// Order     the tensor's memory must outlive the adaptor.
/// Errors    shape_error if the element type is not T.
template <class T, class Byte>
auto adapt(detail::basic_view<Byte> view) {
  if (view.type != element_of<T>)
    throw shape_error({.what = "the tensor has another element type",
                       .where = "",
                       .expected = {name_of(element_of<T>)},
                       .got = {name_of(view.type)}});
  std::vector<std::size_t> extents;
  for (int axis = 0; axis < view.dims.rank; ++axis)
    extents.push_back(static_cast<std::size_t>(view.dims[axis]));
  auto const elements = view.template as<T>();
  return xt::adapt(elements.data(), elements.size(), xt::no_ownership(), extents);
}

/// Returns a data set over inputs (count × example) and class labels (count), without copying.
///
/// Errors    as for arrays.
template <class Inputs, class Labels>
requires detail::xtensor_container<Inputs const> && detail::xtensor_container<Labels const> arrays
arrays_of(Inputs const& inputs, Labels const& labels, int classes, double scale = 1, double offset = 0) {
  if (classes < 1)
    throw setting_error(
        {.what = "too few classes", .where = "classes", .expected = "at least 1", .got = {classes}});
  return arrays({array_view{.name = "input", .values = view_of(inputs), .scale = scale, .offset = offset}},
                {array_view{.name = "label", .values = view_of(labels), .classes = classes}});
}

}  // namespace cohort
