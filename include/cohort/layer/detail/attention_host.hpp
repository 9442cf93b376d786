// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/attention_sizes.hpp>
#include <cohort/layer/host_kernel.hpp>
#include <cstddef>

namespace cohort::detail {

/// Kernels of the layer `attention`. The kernels in double process one query after the other. The kernels in
/// float run attention_passes.
template <class T>
void attention_forward(attention_sizes const& s, host_arguments<T> const& a);
template <class T>
void attention_backward(attention_sizes const& s, host_arguments<T> const& a);

/// Copies `rows` rows of d elements and rotates each copy by the angles of its step; the first row is step
/// `first`. `direction` −1 rotates back.
///
/// Before    d is even.
template <class T>
void rotate_rows(double base, int direction, int rows, std::size_t d, T const* from, std::size_t from_stride,
                 T* to, std::size_t to_stride, int first = 0);

}  // namespace cohort::detail
