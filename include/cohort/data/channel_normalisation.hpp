// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace cohort {

/// Mean and standard deviation of each channel, known in advance from the data that a network was trained on.
/// `normalisation` (data/normalisation.hpp) fits them to a data set.
///
/// Units     as the elements of a batch without normalisation, for example [0, 1] for images.
struct channel_normalisation {
  std::vector<double> mean = {};
  std::vector<double> deviation = {};
};

namespace detail {

/// Rescales the part so that the elements in the batch are (element − mean) / deviation. Does nothing if both
/// lists are empty.
///
/// Exact     the same bits as `normalised` with fitted maps of the same mean and deviation.
/// Errors    setting_error if a list's length differs from the number of channels, a mean is not finite, or a
///           deviation is not a finite number above 0. shape_error if the type in the batch is neither f32
///           nor f64, or the part is a scalar.
void normalise(tensor_description& part, channel_normalisation const& how);

}  // namespace detail

}  // namespace cohort
