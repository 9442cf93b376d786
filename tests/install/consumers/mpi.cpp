// SPDX-License-Identifier: Apache-2.0
#include <cohort/mpi.hpp>
#include <span>

int main(int argc, char** argv) {
  return cohort::launch<cohort::mpi>(argc, argv, [](cohort::communicator& world) {
    float one = 1;
    world.allreduce(std::span(&one, 1));
    if (one != static_cast<float>(world.size())) throw 1;
  });
}
