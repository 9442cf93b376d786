// SPDX-License-Identifier: Apache-2.0
// expect: cohort: a data set has get(std::int64_t i, cohort::example_view& out) const
// expect: data_set_whose_get_is_not_const.cpp:4711
#include <cohort/data/dataset.hpp>
#include <cstdint>

struct halves {
  cohort::data_description what{.inputs = {{.name = "half"}}};
  cohort::data_description const& describe() const { return what; }
  std::int64_t size() const { return 9; }
#ifdef MUST_FAIL
  void get(std::int64_t i, cohort::example_view& out) { *out.fill<float>(0) = static_cast<float>(i) / 2; }
#else
  void get(std::int64_t i, cohort::example_view& out) const {
    *out.fill<float>(0) = static_cast<float>(i) / 2;
  }
#endif
};

cohort::dataset examples() {
#line 4711
  return halves();
}
