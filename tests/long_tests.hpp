// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>
#include <string_view>

/// Whether tests run all their cases, as in the preset full.
inline bool long_tests() {
  char const* const value = std::getenv("COHORT_LONG_TESTS");
  return value && std::string_view(value) == "1";
}
