// SPDX-License-Identifier: Apache-2.0
// needs: mpi
// uses: tcp
// Compares Cohort's allreduce over MPI and over TCP with MPI's own, interleaved in one process: medians of
// the slowest rank's time. TCP is measured if COHORT_JOIN contains an address with a port; encrypted TCP is
// also measured if COHORT_SECRET_FILE names the file of a secret.
//   COHORT_JOIN=127.0.0.1:29400 bash tests/mpirun -n 2 build/.../mpi_allreduce_benchmark [rounds]
// Also measures the processor time of the idle progress thread.
#include "stopwatch.hpp"

#include <unistd.h>

#include <algorithm>
#include <cohort/mpi.hpp>
#if __has_include(<cohort/tcp.hpp>)
#define HAS_TCP 1
#include <cohort/tcp.hpp>
#endif
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
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

/// A communicator over TCP, and the name of its protection.
struct over_tcp {
  char const* protection;
  std::unique_ptr<cohort::communicator> ranks;
};

std::vector<over_tcp> communicators_over_tcp() {
  std::vector<over_tcp> made;
#if HAS_TCP
  if (!std::getenv("COHORT_JOIN")) return made;
  made.push_back({"plain", cohort::make_tcp({.encryption = cohort::tcp_encryption::off})});
  MPI_Barrier(MPI_COMM_WORLD);  // afterwards the address is free again
  if (std::getenv("COHORT_SECRET_FILE")) made.push_back({"TLS", cohort::make_tcp({})});
#endif
  return made;
}

void compare(cohort::communicator& world, std::vector<over_tcp> const& tcp, std::size_t n, int rounds) {
  std::vector<float> x(n, 1.0F);
  auto const count = static_cast<int>(n);
  std::vector<double> ours, theirs, tested;
  std::vector<std::vector<double>> others(tcp.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < tcp.size(); ++k)
      others[k].push_back(slowest([&] { tcp[k].ranks->allreduce(std::span(x)); }));
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
  for (std::size_t k = 0; k < tcp.size(); ++k)
    std::printf("%10zu bytes: tcp, %s %9.1f us (%.2f of cohort over MPI)\n", 4 * n, tcp[k].protection,
                us * median(others[k]), median(others[k]) / median(ours));
}

}  // namespace

int main(int argc, char** argv) {
  int const rounds = argc > 1 ? std::atoi(argv[1]) : 31;
  return cohort::launch<cohort::mpi>(argc, argv, [&](cohort::communicator& world) {
    std::vector<over_tcp> const tcp = communicators_over_tcp();
    for (std::size_t const n : {1'000U, 67'780U, 1'000'000U, 16'000'000U}) compare(world, tcp, n, rounds);
    double const before = world.sent().progress_seconds;
    ::sleep(idle_seconds);
    if (world.rank() == 0)
      std::printf("idle progress thread: %.2f %% of a processor\n",
                  100.0 / idle_seconds * (world.sent().progress_seconds - before));
  });
}
