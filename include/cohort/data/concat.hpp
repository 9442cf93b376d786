// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <concepts>
#include <utility>
#include <vector>

namespace cohort {

/// Returns the examples of all parts, one part after the other, without copies.
///
/// Errors    shape_error that names the tensor if a part's shapes, element types or scales differ from those
///           of the first part. data_error if the numbers or names of its tensors, its label names, or the
///           presence of weights or keys differ. setting_error for a stream, or without parts.
dataset concat(std::vector<dataset> parts);

/// Returns the examples of all parts: concat(a, b, …).
template <std::convertible_to<dataset>... More>
requires(sizeof...(More) > 0) dataset concat(dataset first, More... more) {
  return concat(std::vector<dataset>{std::move(first), dataset(std::move(more))...});
}

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/concat.ipp>
#endif
