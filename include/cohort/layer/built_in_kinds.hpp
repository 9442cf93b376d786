// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/layer/layers.hpp>

namespace cohort {

/// The kinds that the library brings, in the order of the documentation. Files name kinds by these names. A header of its
/// own: whoever names all kinds compiles the kernels of all.
inline constexpr std::array built_in_kinds{
    &kind_of<input>, &kind_of<conv2d>,      &kind_of<max_pool>,
    &kind_of<dense>, &kind_of<relu>,        &kind_of<leaky_relu>,
    &kind_of<add>,   &kind_of<concatenate>, &kind_of<softmax_cross_entropy>,
    &kind_of<kullback_leibler>, &kind_of<binary_cross_entropy>, &kind_of<mean_squared_error>,
    &kind_of<mean_absolute_error>, &kind_of<huber>, &kind_of<hinge>};

}  // namespace cohort
