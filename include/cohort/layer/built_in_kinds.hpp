// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/kind.hpp>
#include <span>

namespace cohort {

/// The kinds of layers that the library brings, in the order of the documentation. Model files name kinds by these names.
std::span<kind const* const> built_in_kinds();

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/layer/impl/built_in_kinds.ipp>
#endif
