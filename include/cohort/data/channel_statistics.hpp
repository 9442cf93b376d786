// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/data/normalised.hpp>

namespace cohort {

/// Returns the mean and the standard deviation of each channel of the first input, over all examples and
/// places of a data set: the training data's statistics, for `normalised` and image_settings::normalise.
///
/// Shapes    the first input is channels × …, of numbers in the batch.
/// Units     of the elements in a batch. The deviation is that of the population: divided by the number of
///           elements.
/// Order     reads every example once, in epoch 0. `readers`: threads (loader_settings).
/// Errors    shape_error if the first input is missing, a scalar, or not f32 or f64 in the batch; as for
///           loader.
/// Exact     independent of `readers`. Sums of squares are taken around the mean of each example.
channel_normalisation channel_statistics(dataset const& data, int readers = 1);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/channel_statistics.ipp>
#endif
