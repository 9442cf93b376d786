// SPDX-License-Identifier: Apache-2.0
// Code that the optimiser inlines from the library causes no warnings in a program: this program is compiled
// with -O3 and warnings as errors. The code is in `main`, because compilers inline other calls there.
#include <cohort/cohort.hpp>
#include <string>

std::string shape_of_windows() { return cohort::to_string(cohort::shape(24, 3)); }

int main() {
  using namespace cohort;
  graph const net = graph::build([&](builder& b) {
    return b.input({10}) | dense{.units = 32} | relu{} | dense{.units = 1} | huber{.name = "progression"};
  });
  // A graph is not constexpr, so the function runs at run time. No layer has a name.
  graph const unnamed = network<[](builder& b) { return b.input({3}) | dense{.units = 2} | huber{}; }>();
  return unnamed.view().size() == 3 && net.view().size() == 5 && shape_of_windows() == "24x3" ? 0 : 1;
}
