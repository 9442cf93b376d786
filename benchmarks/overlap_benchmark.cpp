// SPDX-License-Identifier: Apache-2.0
// needs: onednn mpi
// Measures which fraction of an allreduce overlaps with backward. Every rank trains the same network on one
// processor. Run the program on hosts made by hosts.py:
//   hosts.py up 2 1gbit
//   hosts.py mpirun 2 sh -c 'exec taskset -c $OMPI_COMM_WORLD_RANK overlap_benchmark [NET BATCH BLOCKS]'
// Interleaves three kinds of blocks: steps without an exchange; exchanges of the same buckets without steps;
// and steps with exchanges. In the third kind, the sums finish before the update or during the next forward
// (overlap_next_forward). Prints medians of the slowest rank's times. A block ends when no bucket is pending.
// overlap = 1 − (both − compute) / exchange.
#include "repeated_step.hpp"
#include "stopwatch.hpp"

#include <algorithm>
#include <cohort/communicator/launch.hpp>
#include <cohort/mpi.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/detail/split_allreduce.hpp>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace benchmarks;
using cohort::communicator;

constexpr int steps_of_a_block = 10;

/// Returns the slowest rank's seconds per step, after a barrier.
template <class Action, class Finish>
double slowest(communicator& world, Action action, Finish finish_late) {
  world.barrier();
  double worst = seconds([&] {
                   for (int step = 0; step < steps_of_a_block; ++step) action();
                   finish_late();
                 })
                 / steps_of_a_block;
  world.allreduce(std::span(&worst, 1), cohort::reduction::maximum);
  return worst;
}
double slowest(communicator& world, repeated_step& steps) {
  return slowest(
      world, [&] { steps(); }, [&] { steps.finish_late(); });
}

/// Steps with an exchange, and their times.
struct exchanging_steps {
  char const* name;
  repeated_step steps;
  std::vector<double> seconds{};
};

void measure(communicator& world, trained_network const& net, int batch, int blocks) {
  repeated_step alone(net, batch, 1);
  exchanging_steps both[]{
      {"before the update", repeated_step(net, batch, 1, cohort::allreduce{}.on(world))},
      {"in the next forward",
       repeated_step(net, batch, 1, cohort::allreduce{.overlap_next_forward = true}.on(world))}};
  cohort::parameter_set const& parameters = both[0].steps.parameters();
  std::span<cohort::bucket const> const buckets = parameters.buckets();
  std::vector<float> gradients(static_cast<std::size_t>(parameters.elements()));
  auto const exchange = [&] {
    std::vector<cohort::detail::split_allreduce> pending(buckets.size());
    for (std::size_t b = 0; b < buckets.size(); ++b)
      pending[b].start(world, std::span(gradients).subspan(static_cast<std::size_t>(buckets[b].first),
                                                           static_cast<std::size_t>(buckets[b].elements)));
    for (auto& one : pending) one.wait();
  };
  alone(), exchange();
  for (auto& one : both) one.steps(), one.steps.finish_late();
  std::vector<double> compute, bare;
  for (int block = 0; block < blocks; ++block) {
    compute.push_back(slowest(world, alone));
    bare.push_back(slowest(world, exchange, [] {}));
    for (auto& one : both) one.seconds.push_back(slowest(world, one.steps));
  }
  if (world.rank() != 0) return;
  std::printf("%s, batch %d, %d ranks, %zu buckets: compute %.1f ms, exchange %.1f ms\n",
              std::string(net.name).c_str(), batch, world.size(), buckets.size(), 1e3 * median(compute),
              1e3 * median(bare));
  for (auto& one : both) {
    std::vector<double> overlaps;
    for (std::size_t block = 0; block < bare.size(); ++block)
      overlaps.push_back(1 - (one.seconds[block] - compute[block]) / bare[block]);
    std::printf("sums finish %s: both %.1f ms, overlap %.2f (%.2f to %.2f)", one.name,
                1e3 * median(one.seconds), 1 - (median(one.seconds) - median(compute)) / median(bare),
                quantile(overlaps, 0.25), quantile(overlaps, 0.75));
    for (cohort::measurement const& part : one.steps.exchange_report())
      if (part.name.ends_with("_seconds"))
        std::printf(", %s %.1f ms per step", std::string(part.name).c_str(),
                    1e3 * part.value / (1 + steps_of_a_block * blocks));
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto const net = find_network(argc > 1 ? argv[1] : "cifar");
  int const batch = argc > 2 ? std::atoi(argv[2]) : 64, blocks = argc > 3 ? std::atoi(argv[3]) : 7;
  if (!net || batch < 1 || blocks < 1) {
    std::fprintf(stderr, "usage: overlap_benchmark [NET BATCH BLOCKS]\n");
    return 2;
  }
  return cohort::launch<cohort::mpi>(argc, argv,
                                     [&](communicator& world) { measure(world, *net, batch, blocks); });
}
