// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/normalisation.hpp>

namespace cohort {

/// Returns the normalisation fitted to all examples of a data set, or to the first epoch of a stream;
/// examples of weight 0 are ignored. `training::normalise` fits over all ranks. `readers`: number of threads,
/// as in loader_settings.
///
/// Errors    data_error if there are no examples. data_error with part and channel if a value is not finite,
///           or if the values are so large or small that a map would have scale 0 or would not be finite.
///           setting_error if `how` rescales targets but no target can be rescaled.
normalisation fit_normalisation(dataset const& data, normalisation_settings const& how = {}, int readers = 1);

}  // namespace cohort
