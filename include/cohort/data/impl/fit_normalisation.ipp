// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/detail/channel_statistics.hpp>
#include <cohort/data/fit_normalisation.hpp>
#include <cohort/data/loader.hpp>

namespace cohort {

normalisation fit_normalisation(dataset const& data, normalisation_settings const& how, int readers) {
  detail::channel_statistics statistics(data.describe(), how);
  loader batches(data, {.batch = 256, .shuffle = false, .readers = readers});
  batches.start(0);
  while (batch const* const next = batches.next()) statistics.add(*next);
  return statistics.result();
}

}  // namespace cohort
