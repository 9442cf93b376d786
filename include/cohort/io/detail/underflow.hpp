// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <string_view>

namespace cohort::detail {

/// Returns whether a decimal number without sign that is out of the range of a double is too small, not too
/// large. std::from_chars reports both by one code.
bool underflows(std::string_view number);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/io/impl/underflow.ipp>
#endif
