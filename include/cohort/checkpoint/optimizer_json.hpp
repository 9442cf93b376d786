// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/json_value.hpp>
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/optimizer/plateau.hpp>
#include <string>

namespace cohort {

/// Serialises optimiser settings as one line of JSON.
std::string to_json(optimizer_settings const& settings);

/// Parses optimiser settings written by to_json.
///
/// Errors    data_error with the path of a field that is unknown, missing or invalid.
optimizer_settings optimizer_from_json(io::json_value value);

/// Serialises the loss history of reduce_on_plateau.
std::string to_json(plateau const& seen);
/// Parses the loss history of reduce_on_plateau.
///
/// Errors    data_error with the path of a field that is unknown, missing or invalid.
plateau plateau_from_json(io::json_value value);

}  // namespace cohort
