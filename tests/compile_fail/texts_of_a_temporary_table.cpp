// SPDX-License-Identifier: Apache-2.0
// expect: keep the table in a variable
// expect: texts_of_a_temporary_table.cpp:4711
// max-lines: 12
#include <cohort/transform/fitted_pipeline.hpp>

std::string_view first_city(cohort::fitted_pipeline const& prepared, cohort::data_table const& rows) {
#ifdef MUST_FAIL
#line 4711
  cohort::text_column const cities = prepared.apply(rows).texts("city");
#else
  static cohort::data_table const made = prepared.apply(rows);
  cohort::text_column const cities = made.texts("city");
#endif
  return cities[0];
}
