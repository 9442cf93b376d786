// SPDX-License-Identifier: Apache-2.0
// expect: keep the predictions in a variable
// expect: output_of_temporary_predictions.cpp:4711
// max-lines: 12
#include <cohort/training/training.hpp>

float first_output(cohort::training const& run, cohort::tensor_view input) {
#ifdef MUST_FAIL
#line 4711
  std::span<float const> const outputs = run.predict(input)[0];
#else
  cohort::predictions const made = run.predict(input);
  std::span<float const> const outputs = made[0];
#endif
  return outputs[0];
}
