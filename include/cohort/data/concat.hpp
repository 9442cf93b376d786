// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <concepts>
#include <utility>
#include <vector>

namespace cohort {

/// Returns a data set of the examples of all parts, one part after the other, without copies.
///
/// Errors    shape_error that names the tensor if its shape, element types, scale, offset or mask differ from
///           those in the first part. data_error if the parts differ in the numbers or names of tensors, in
///           normalisation, classes or label names, or in the presence of weights or keys. setting_error for
///           a stream, or if there are no parts.
dataset concat(std::vector<dataset> parts);

/// Returns the examples of all parts: concat(a, b, …).
template <std::convertible_to<dataset>... More>
requires(sizeof...(More) > 0) dataset concat(dataset first, More... more) {
  return concat(std::vector<dataset>{std::move(first), dataset(std::move(more))...});
}

}  // namespace cohort
