// SPDX-License-Identifier: Apache-2.0
// needs: mpi
// Compares the allreduce algorithms, interleaved: medians of the slowest rank's time. The rule in
// choose_allreduce_algorithm is based on these medians.
//   allreduce_algorithms_benchmark threads RANKS [rounds]
//   bash tests/mpirun -n RANKS allreduce_algorithms_benchmark mpi [rounds]
//   benchmarks/hosts.py mpirun RANKS …                                        on hosts made by hosts.py
#include "stopwatch.hpp"

#include <algorithm>
#include <cohort/communicator/detail/allreduce_algorithm.hpp>
#include <cohort/communicator/detail/message_communicator.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/communicator/message_communicator.hpp>
#include <cohort/mpi.hpp>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

namespace {

using cohort::detail::allreduce_algorithm;

constexpr allreduce_algorithm algorithms[]{allreduce_algorithm::ring, allreduce_algorithm::halving,
                                           allreduce_algorithm::doubling};
constexpr double block_seconds = 1e-3;  // minimum duration of a timed block

void compare(cohort::communicator& world, std::size_t bytes, int rounds) {
  auto& ours = dynamic_cast<cohort::detail::message_communicator&>(world);
  std::vector<float> x(bytes / sizeof(float), 1.0F);
  auto const slowest = [&](allreduce_algorithm algorithm, int calls) {
    world.barrier();
    double time = benchmarks::seconds([&] {
      for (int call = 0; call < calls; ++call)
        ours.start_allreduce(std::span(x), cohort::reduction::maximum, algorithm).wait();
    });
    world.allreduce(std::span(&time, 1), cohort::reduction::maximum);
    return time / calls;
  };
  int const calls =
      static_cast<int>(std::clamp(block_seconds / slowest(allreduce_algorithm::ring, 3), 1.0, 100.0));
  std::vector<double> times[std::size(algorithms)];
  for (int round = 0; round < rounds; ++round)
    for (std::size_t w = 0; w < std::size(algorithms); ++w) times[w].push_back(slowest(algorithms[w], calls));
  if (world.rank() != 0) return;
  double const us = 1e6;
  std::printf("%d ranks, %9zu bytes: ring %10.1f us, halving %10.1f us, doubling %10.1f us\n", world.size(),
              bytes, us * benchmarks::median(times[0]), us * benchmarks::median(times[1]),
              us * benchmarks::median(times[2]));
}

void compare_all(cohort::communicator& world, int rounds) {
  for (std::size_t bytes = 64; bytes <= std::size_t{16} << 20; bytes *= 4) compare(world, bytes, rounds);
}

}  // namespace

int main(int argc, char** argv) {
  bool const threads = argc > 2 && std::string_view(argv[1]) == "threads";
  int const place = threads ? 3 : 2;
  int const rounds = argc > place ? std::atoi(argv[place]) : 31;
  auto const body = [&](cohort::communicator& world) { compare_all(world, rounds); };
  if (!threads) return cohort::launch<cohort::mpi>(argc, argv, body);
  cohort::launch<cohort::threads>(std::atoi(argv[2]), body);
}
