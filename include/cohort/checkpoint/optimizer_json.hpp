// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/json_value.hpp>
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/optimizer/plateau.hpp>
#include <string>

namespace cohort {

/// How a network's parameters are updated, as JSON in one line.
std::string to_json(optimizer_settings const& settings);

/// The inverse.
///
/// Errors    data_error with the path of what is unknown, missing, or makes no sense.
optimizer_settings optimizer_from_json(json_value value);

/// What a run has seen of its loss, and back.
///
/// Errors    data_error with the path of what is unknown, missing, or makes no sense.
std::string to_json(plateau const& seen);
plateau plateau_from_json(json_value value);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/checkpoint/impl/optimizer_json.ipp>
#endif
