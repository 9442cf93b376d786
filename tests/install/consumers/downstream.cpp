// SPDX-License-Identifier: Apache-2.0
#include <cohort/cohort.hpp>

int layers_of_a_network() {
  return cohort::graph_view(cohort::graph::build([](cohort::builder& net) {
           return net.input({4}) | cohort::dense{.units = 3} | cohort::relu{};
         }))
      .size();
}
