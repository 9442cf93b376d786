// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/plan/plan.hpp>
#include <cohort/trainer/run_memory.hpp>
#include <cohort/trainer/settings.hpp>

namespace cohort::detail {

struct training_state;

/// The memory that a fit will hold on this rank. See training::memory_of.
run_memory memory_of_fit(training_state& run, dataset const& data, fit_settings const& how);

/// Logs the memory of a fit with this plan, and the layers that the plan recomputes. Logs nothing if the
/// previous log was for the same plan.
void log_memory(training_state& run, plan const& made, dataset const& data, fit_settings const& how);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/fit_memory.ipp>
#endif
