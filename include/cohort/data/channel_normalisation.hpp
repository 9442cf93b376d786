// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace cohort {

/// Mean and standard deviation of each channel, known in advance: those of the data that a network was
/// trained on. `normalisation` (data/normalisation.hpp) fits them to a data set.
///
/// Units     of the elements in a batch without normalisation: [0, 1] for images.
struct channel_normalisation {
  std::vector<double> mean = {};
  std::vector<double> deviation = {};
};

namespace detail {

/// Makes the elements in the batch (element − mean) / deviation. Does nothing for empty lists.
///
/// Exact     the bits of `normalised` by a fitted map of the same mean and deviation.
/// Errors    setting_error for lists of other lengths than the number of channels, a mean that is not finite,
///           or a deviation that is not a finite number above 0. shape_error if elements are not numbers in
///           the batch, or the part is a scalar.
void normalise(tensor_description& part, channel_normalisation const& how);

}  // namespace detail

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/channel_normalisation.ipp>
#endif
