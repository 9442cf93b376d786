// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/conv2d.hpp>
#include <cohort/layer/detail/convolution_loops.hpp>

namespace cohort::detail {

template <class T>
convolution_loops loops_of(conv2d const& l, host_arguments<T> const& a) {
  return {.image = a.input_shapes[0], .map = a.output_shape, .window = l.window(), .groups = l.groups};
}

template <class T>
void reference_forward(conv2d const& l, host_arguments<T> const& a) {
  loops_of(l, a).forward(a, l.bias);
}

template <class T>
void reference_backward(conv2d const& l, host_arguments<T> const& a) {
  loops_of(l, a).backward(a, l.bias);
}

}  // namespace cohort::detail
