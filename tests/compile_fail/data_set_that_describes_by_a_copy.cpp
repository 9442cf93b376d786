// SPDX-License-Identifier: Apache-2.0
// expect: cohort: describe() of a data set returns a data_description const&, not a copy
// expect: data_set_that_describes_by_a_copy.cpp:4711
#include <cohort/data/dataset.hpp>
#include <cstdint>

struct halves {
  cohort::data_description what{.inputs = {{.name = "half"}}};
#ifdef MUST_FAIL
  cohort::data_description describe() const { return what; }
#else
  cohort::data_description const& describe() const { return what; }
#endif
  std::int64_t size() const { return 9; }
  void get(std::int64_t i, cohort::example_view& out) const {
    *out.fill<float>(0) = static_cast<float>(i) / 2;
  }
};

cohort::dataset examples() {
#line 4711
  return halves();
}
