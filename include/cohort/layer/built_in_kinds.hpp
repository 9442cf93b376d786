// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/kind.hpp>
#include <span>

namespace cohort {

/// Returns the kinds of the built-in layers, in the order of the documentation. Model files identify a kind
/// by its name. In header-only mode, the result does not contain the layers on demand (recurrent layers,
/// attention, …). Model files may contain these layers if a source of the program includes their header.
std::span<kind const* const> built_in_kinds();

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/layer/impl/built_in_kinds.ipp>
#endif
