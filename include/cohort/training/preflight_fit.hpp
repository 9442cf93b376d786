// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/preflight.hpp>
#include <cohort/training/training.hpp>

namespace cohort {

/// Checks a call of fit before it begins. Makes the checks of preflight(world, what), and compares the facts
/// that fit compares between the ranks (version, network, settings, strategy, data, position). The required
/// memory includes the memory that fit will allocate. The links between pairs of ranks are not measured.
///
/// Order     collective; after load, resume and normalise.
/// Errors    as preflight; setting_error if the strategy does not synchronise the ranks; data_error if the
///           data cannot be read.
preflight_report preflight_fit(training& run, dataset const& data, fit_settings const& how,
                               preflight_settings what = {});

}  // namespace cohort
