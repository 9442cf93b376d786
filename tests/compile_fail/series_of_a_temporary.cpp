// SPDX-License-Identifier: Apache-2.0
// expect: keep the numbers in a variable
// expect: series_of_a_temporary.cpp:4711
// max-lines: 12
#include <cohort/data/time_series.hpp>
#include <vector>

cohort::time_series of(std::vector<float> const& temperatures) {
#ifdef MUST_FAIL
#line 4711
  return {std::vector<float>(temperatures), 1};
#else
  return {temperatures, 1};
#endif
}
