// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/kind.hpp>
#include <span>

namespace cohort {

/// Returns the kinds of the built-in layers, in the order of the documentation. Model files identify a kind
/// by its name.
std::span<kind const* const> built_in_kinds();

}  // namespace cohort
