// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/parameter_set.hpp>
#include <string_view>

namespace cohort::detail {

/// Returns the position in parameter_set::table() of one parameter, such as "dense_1.weights", or of all
/// parameters of a layer, such as "dense_1". `where`: the call that is named in an error.
///
/// Errors    setting_error for an unknown name, with the known names.
parameter_range parameters_named(parameter_set const& all, std::string_view name, char const* where);

}  // namespace cohort::detail
