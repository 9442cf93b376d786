// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/element.hpp>
#include <cohort/tensor/shape.hpp>
#include <span>
#include <type_traits>

namespace cohort {

namespace detail {

/// A non-owning view of a dense row-major tensor. `Byte` is std::byte or std::byte const.
template <class Byte>
struct basic_view {
  Byte* data = nullptr;
  element_type type = element_type::f32;
  shape dims{};

  constexpr basic_view() = default;
  constexpr basic_view(Byte* where, element_type what, shape extents)
      : data(where), type(what), dims(extents) {}
  /// A view of the caller's memory: {pixels.data(), {32, 784}} are 32 rows of 784 elements of type T.
  template <class T>
  requires(!std::is_void_v<T> && (std::is_const_v<Byte> || !std::is_const_v<T>))
      basic_view(T* where, shape extents)
      : data(reinterpret_cast<Byte*>(where)), type(element_of<std::remove_const_t<T>>), dims(extents) {}
  constexpr operator basic_view<std::byte const>() const requires(!std::is_const_v<Byte>) {
    return {data, type, dims};
  }

  /// Returns the size of all elements in bytes.
  std::size_t bytes() const { return static_cast<std::size_t>(dims.elements()) * bytes_of(type); }

  /// Returns the elements as a span of T.  Before: the caller has checked that `type` is element_of<T>.
  template <class T>
  auto as() const {
    using element = std::conditional_t<std::is_const_v<Byte>, T const, T>;
    return std::span<element>(reinterpret_cast<element*>(data), static_cast<std::size_t>(dims.elements()));
  }

  /// Returns rows [first, first + count) of the outermost axis.
  ///
  /// Before    0 ≤ first, first + count ≤ dims[0].
  basic_view rows(int first, int count) const {
    basic_view part = *this;
    part.dims[0] = count;
    part.data += static_cast<std::size_t>(first) * static_cast<std::size_t>(dims.example().elements())
                 * bytes_of(type);
    return part;
  }
};

}  // namespace detail

/// A read-only view of a tensor.
using tensor_view = detail::basic_view<std::byte const>;
/// A writable view of a tensor.
using mutable_tensor_view = detail::basic_view<std::byte>;

}  // namespace cohort
