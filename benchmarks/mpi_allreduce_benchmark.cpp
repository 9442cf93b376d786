// SPDX-License-Identifier: Apache-2.0
// needs: mpi
// Compares Cohort's allreduce over MPI with MPI's own, interleaved in one process: medians of the slowest
// rank's time.
//   bash tests/mpirun -n 2 build/.../mpi_allreduce_benchmark [rounds]
// Also measures the processor time of the idle progress thread.
#include "stopwatch.hpp"

#include <unistd.h>

#include <algorithm>
#include <cohort/mpi.hpp>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

namespace {

using benchmarks::median;

constexpr unsigned idle_seconds = 2;

/// Returns the slowest rank's seconds, after a barrier.
template <class Action>
double slowest(Action action) {
  MPI_Barrier(MPI_COMM_WORLD);
  double const mine = benchmarks::seconds(action);
  double worst = 0;
  MPI_Allreduce(&mine, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return worst;
}

void compare(cohort::communicator& world, std::size_t n, int rounds) {
  std::vector<float> x(n, 1.0F);
  auto const count = static_cast<int>(n);
  std::vector<double> ours, theirs, tested;
  for (int round = 0; round < rounds; ++round) {
    ours.push_back(slowest([&] { world.allreduce(std::span(x)); }));
    theirs.push_back(
        slowest([&] { MPI_Allreduce(MPI_IN_PLACE, x.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }));
    tested.push_back(slowest([&] {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Iallreduce(MPI_IN_PLACE, x.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
      for (int done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }));
    std::fill(x.begin(), x.end(), 1.0F);
  }
  if (world.rank() != 0) return;
  double const us = 1e6;
  std::printf(
      "%10zu bytes: cohort %9.1f us, MPI_Allreduce %9.1f us (%.2f), MPI_Iallreduce and MPI_Test %9.1f us "
      "(%.2f)\n",
      4 * n, us * median(ours), us * median(theirs), median(ours) / median(theirs), us * median(tested),
      median(ours) / median(tested));
}

}  // namespace

int main(int argc, char** argv) {
  int const rounds = argc > 1 ? std::atoi(argv[1]) : 31;
  return cohort::launch<cohort::mpi>(argc, argv, [&](cohort::communicator& world) {
    for (std::size_t const n : {1'000U, 67'780U, 1'000'000U, 10'000'000U}) compare(world, n, rounds);
    double const before = world.sent().progress_seconds;
    ::sleep(idle_seconds);
    if (world.rank() == 0)
      std::printf("idle progress thread: %.2f %% of a processor\n",
                  100.0 / idle_seconds * (world.sent().progress_seconds - before));
  });
}
