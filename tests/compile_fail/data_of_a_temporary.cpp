// SPDX-License-Identifier: Apache-2.0
// expect: keep the numbers in variables
// expect: data_of_a_temporary.cpp:4711
// max-lines: 12
#include <cohort/data/arrays.hpp>
#include <cstdint>
#include <vector>

cohort::dataset examples(std::vector<float> const& pixels, std::vector<std::int32_t> const& labels) {
#ifdef MUST_FAIL
#line 4711
  return cohort::arrays(std::vector<float>(pixels), {4}, labels, 3);
#else
  return cohort::arrays(pixels, {4}, labels, 3);
#endif
}
