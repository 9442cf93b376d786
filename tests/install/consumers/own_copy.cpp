// SPDX-License-Identifier: Apache-2.0
// A program with -ffast-math trains: its implementation is also compiled with this flag.
#include <cohort/backend/reference.hpp>
#include <cstdio>

#include "training.hpp"

#ifndef __FAST_MATH__
#error this source is compiled with -ffast-math
#endif

int main() {
  std::string const two_ranks = checksum_after_training<cohort::reference<float>>(cohort::allreduce{});
  std::string const again = checksum_after_training<cohort::reference<float>>(cohort::allreduce{});
  std::printf("%s\n", two_ranks.c_str());
  return two_ranks == again && !two_ranks.empty() ? 0 : 1;
}
