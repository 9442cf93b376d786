// SPDX-License-Identifier: Apache-2.0
// A plan for a user's backend, with the implementation, which has plans of shipped backends only.
// expect: include <cohort/training/own_backend.hpp> to use a backend of your own
#include <cohort/backend/reference.hpp>
#include <cohort/graph/builder.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/layer/dense.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/parameter_store.hpp>
#ifdef MUST_FAIL
// Without the header, the program would not link.
#else
#include <cohort/training/own_backend.hpp>
#endif

struct own_backend : cohort::reference<float> {
  static constexpr std::string_view name = "own_backend";
};

int main() {
  auto const net =
      cohort::graph::build([](cohort::builder& b) { return b.input({4}) | cohort::dense{.units = 2}; });
  auto store = std::make_shared<cohort::parameter_store<own_backend>>(own_backend{}, net);
  return cohort::make_plan(store, net, {.batch = 1})->batch();
}
