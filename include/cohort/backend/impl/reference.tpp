// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/detail/layer_on_host.hpp>
#include <cohort/backend/detail/reference_convolution.hpp>
#include <cohort/backend/detail/reference_dense.hpp>
#include <cohort/backend/detail/reference_elementwise.hpp>
#include <cohort/backend/detail/reference_pooling.hpp>
#include <cohort/backend/reference.hpp>
#include <cohort/layer/layers.hpp>
#include <type_traits>

namespace cohort {

namespace detail {

/// Reference kernels for layers of kind `k`; null kernels if no layer type of L... has this kind.
template <class T, layer... L>
host_kernel<T> reference_kernels_of(kind const& k) {
  host_kernel<T> found;
  auto const look = [&]<layer One>(std::type_identity<One>) {
    if (k == kind_of<One>)
      found = {[](double const* v, host_arguments<T> const& a) { reference_forward(decode<One>(v), a); },
               [](double const* v, host_arguments<T> const& a) { reference_backward(decode<One>(v), a); }};
  };
  (look(std::type_identity<L>{}), ...);
  return found;
}

template <class T>
host_kernel<T> reference_kernels(kind const& k) {
  return reference_kernels_of<T, conv2d, max_pool, dense, relu, leaky_relu, concatenate>(k);
}

}  // namespace detail

template <class T>
bool reference<T>::supports(kind const& k) {
  return detail::reference_kernels<T>(k).forward || k.template host<T>().forward;
}

template <class T>
basic_operation<typename reference<T>::kernel, typename reference<T>::layout> reference<T>::prepare(
    basic_request<layout> const& request) const {
  host_kernel<T> const from_layer = request.kind->template host<T>();
  return detail::prepare_on_host(
      *this, request, from_layer.forward ? from_layer : detail::reference_kernels<T>(*request.kind),
      "plain loops");
}

}  // namespace cohort
