// SPDX-License-Identifier: Apache-2.0
// needs: onednn mpi
// Measures steps with and without shards of the optimizer's state. Every rank trains the same network on one
// processor:
//   mpirun -n 2 sh -c 'exec taskset -c $OMPI_COMM_WORLD_RANK shard_benchmark [NET BATCH BLOCKS]'
// Interleaves blocks of steps of the three kinds. Prints medians of the slowest rank's times, and the bytes
// that rank 0 sends in a step. With the fourth argument `late`, interleaves nothing, optimizer_state, and
// optimizer_state with parameters that are gathered in the next forward. With a fourth argument, 0, 1 or 2
// (nothing, optimizer_state, gradients), runs this kind alone, on the backend of the fifth argument, and
// prints the forecast and the measured memory of rank 0.
#include "process_memory.hpp"
#include "repeated_step.hpp"
#include "stopwatch.hpp"

#include <algorithm>
#include <cohort/communicator/launch.hpp>
#include <cohort/mpi.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace benchmarks;
using cohort::communicator;
using cohort::shard;

constexpr int steps_of_a_block = 3;
constexpr char const* names[]{"nothing", "optimizer_state", "gradients"};

/// Steps with a strategy, their times, and the bytes sent in them.
struct kind_of_steps {
  kind_of_steps(communicator& world, trained_network const& net, int batch, shard what, bool late = false,
                std::string_view backend = "onednn")
      : name(std::string(names[static_cast<int>(what)]) + (late ? ", late" : "")),
        steps(backend, net, batch, {.optimizer = {.rule = net.rule, .l2 = net.l2}},
              cohort::allreduce{.resync = 0, .overlap_next_forward = late, .shard = what}.on(world),
              world.rank()) {}

  void run_block(communicator& world) {
    world.barrier();
    std::uint64_t const before = world.sent().bytes_sent;
    double worst = benchmarks::seconds([&] {
                     for (int step = 0; step < steps_of_a_block; ++step) steps();
                     steps.finish_late();
                   })
                   / steps_of_a_block;
    bytes = (world.sent().bytes_sent - before) / steps_of_a_block;
    world.allreduce(std::span(&worst, 1), cohort::reduction::maximum);
    seconds.push_back(worst);
  }

  std::string name;
  repeated_step steps;
  std::vector<double> seconds{};
  std::uint64_t bytes = 0;
};

void measure(communicator& world, trained_network const& net, int batch, int blocks, bool late) {
  std::vector<std::unique_ptr<kind_of_steps>> kinds;
  for (shard const what : {shard::nothing, shard::optimizer_state})
    kinds.push_back(std::make_unique<kind_of_steps>(world, net, batch, what));
  kinds.push_back(std::make_unique<kind_of_steps>(world, net, batch,
                                                  late ? shard::optimizer_state : shard::gradients, late));
  for (auto const& kind : kinds) kind->run_block(world);
  for (auto const& kind : kinds) kind->seconds.clear();
  for (int block = 0; block < blocks; ++block)
    for (auto const& kind : kinds) kind->run_block(world);
  double whole = 0;
  for (auto const& kind : kinds) {
    double const step = median(kind->seconds);
    if (whole == 0) whole = step;
    if (world.rank() == 0)
      std::printf("%s, batch %d, %d ranks, shard %s: step %.1f ms, ratio %.3f, sent %.1f MB\n",
                  std::string(net.name).c_str(), batch, world.size(), kind->name.c_str(), step * 1e3,
                  step / whole, static_cast<double>(kind->bytes) / 1e6);
  }
}

double megabytes(std::size_t bytes) { return static_cast<double>(bytes) / 1e6; }

void measure_memory(communicator& world, trained_network const& net, int batch, shard what,
                    std::string_view backend) {
  kind_of_steps kind(world, net, batch, what, false, backend);
  kind.steps();  // the first step copies the parameters to all ranks
  forget_memory_peak();
  for (int step = 0; step < 2; ++step) kind.steps();
  cohort::run_memory const m = kind.steps.forecast();
  if (world.rank() == 0)
    std::printf(
        "shard %s: forecast: parameters %.1f MB, working copies %.1f MB, gradients %.1f MB, optimizer state "
        "%.1f MB, total %.1f MB; measured peak %.1f MB\n",
        kind.name.c_str(), megabytes(m.parameters), megabytes(m.working_copies), megabytes(m.gradients),
        megabytes(m.optimizer_state), megabytes(m.total()),
        megabytes(static_cast<std::size_t>(memory_bytes("VmHWM"))));
}

}  // namespace

int main(int argc, char** argv) {
  auto const net = find_network(argc > 1 ? argv[1] : "cifar");
  int const batch = argc > 2 ? std::atoi(argv[2]) : 64, blocks = argc > 3 ? std::atoi(argv[3]) : 7;
  std::string_view const mode = argc > 4 ? argv[4] : "", backend = argc > 5 ? argv[5] : "onednn";
  bool const late = mode == "late";
  int const kind = mode.empty() || late ? -1 : std::atoi(argv[4]);
  if (!net || batch < 1 || blocks < 1 || kind > 2) {
    std::fprintf(stderr, "usage: shard_benchmark [NET BATCH BLOCKS [late | KIND [BACKEND]]]\n");
    return 2;
  }
  return cohort::launch<cohort::mpi>(argc, argv, [&](communicator& world) {
    kind < 0 ? measure(world, *net, batch, blocks, late)
             : measure_memory(world, *net, batch, static_cast<shard>(kind), backend);
  });
}
