// SPDX-License-Identifier: Apache-2.0
// needs: mpi
// bad_ranks DEED RANK: runs a loop of sums. At step 5, before bucket 1, that rank misbehaves as
// bad_ranks_test.py requests.
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cohort/mpi.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

void waste(std::chrono::milliseconds time) {
  auto const end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) ::sched_yield();
}

/// Misbehaves. Returns whether the loop must end.
bool misbehave(std::string const& deed, cohort::communicator& world) {
  std::puts("now");
  std::fflush(stdout);
  if (deed == "dies") std::raise(SIGKILL);
  if (deed == "stops") std::raise(SIGSTOP);
  if (deed == "throws") throw std::runtime_error("the shelf is empty");
  if (deed.starts_with("fails by itself"))
    throw cohort::communicator_error({.what = "my own ranks are lost"});
  if (deed == "gives up") world.abort("enough");
  if (deed == "hangs")
    for (;;) ::pause();
  if (deed == "dawdles") waste(1500ms);
  return deed == "returns" || deed == "gives up";
}

/// Dies or stops while the other ranks start MPI.
void end_early(int bad, int signal) {
  char const* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (!rank || std::atoi(rank) != bad) return;
  cohort::detail::roll_call const present;
  waste(1500ms);  // the other ranks detect this rank
  std::printf("rank %d is process %d\nnow\n", bad, ::getpid());
  std::fflush(stdout);
  std::raise(signal);
}

/// Finalises MPI while a communicator on it exists.
int finalise_early(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  auto const world = cohort::make_mpi(MPI_COMM_WORLD, {.deadline = 3s, .heartbeat = 1s});
  world->barrier();
  std::puts("now");
  std::fflush(stdout);
  MPI_Finalize();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::string const deed = argv[1];
  int const bad = std::atoi(argv[2]);
  if (deed == "dies early") end_early(bad, SIGKILL);
  if (deed == "stops early") end_early(bad, SIGSTOP);
  if (deed == "finalises early") return finalise_early(argc, argv);
  return cohort::launch<cohort::mpi>(
      argc, argv, {.deadline = 3s, .heartbeat = 1s, .log = cohort::stderr_sink()},
      [&](cohort::communicator& world) {
        std::printf("rank %d is process %d\n", world.rank(), ::getpid());
        std::fflush(stdout);
        world.barrier();
        std::vector<float> sum(100'000, 1.0F);
        for (int step = 0; step < 20; ++step)
          for (int bucket = 0; bucket < 2; ++bucket) {
            waste(20ms);
            if (world.rank() == bad && step == 5 && bucket == 1 && misbehave(deed, world)) return;
            world.note({step, bucket});
            try {
              world.allreduce(std::span(sum), cohort::reduction::maximum);
            } catch (cohort::communicator_error const& first) {
              if (deed.ends_with("others wrap it"))
                throw std::runtime_error(std::string("no answer: ") + first.what());
              throw;
            }
          }
        std::printf("rank %d has done all steps\n", world.rank());
      });
}
