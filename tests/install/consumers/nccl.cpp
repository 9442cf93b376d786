// SPDX-License-Identifier: Apache-2.0
#include <cohort/communicator/launch.hpp>
#include <cohort/nccl.hpp>
#include <cstdio>

// No CUDA library is linked, so the program starts on any machine and sums with or without NCCL.
int main() {
  return cohort::launch<cohort::self>([](cohort::communicator& world) {
    cohort::nccl over(world);
    std::puts(over.why_not().empty() ? "NCCL is here" : over.why_not().c_str());
    float x = 3;
    over.allreduce(std::span(&x, 1));
    if (x != 3) throw cohort::error({.what = "a sum of one rank is wrong"});
  });
}
