// SPDX-License-Identifier: Apache-2.0
// expect: keep the run in a variable
// expect: network_of_a_temporary_run.cpp:4711
// max-lines: 12
#include <cohort/training/training.hpp>

int layers(cohort::training loaded) {
#ifdef MUST_FAIL
#line 4711
  cohort::graph_view const net = std::move(loaded).network();
#else
  cohort::graph_view const net = loaded.network();
#endif
  return net.size();
}
