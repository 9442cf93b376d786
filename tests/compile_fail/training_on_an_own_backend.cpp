// SPDX-License-Identifier: Apache-2.0
// Training on a user's backend, with the implementation, which has plans of shipped backends only.
// expect: include <cohort/training/own_backend.hpp> to use a backend of your own
// max-lines: 30
#include <cohort/backend/reference.hpp>
#include <cohort/training/trainer.hpp>
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
  return cohort::trainer<own_backend>(net).step() == 0 ? 0 : 1;
}
