// SPDX-License-Identifier: Apache-2.0
// needs: tcp
// faults SECONDS HEARTBEAT_MS: ranks that compute and sum for some time, for faults_test.py and
// benchmarks/tcp_faults.py.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cohort/tcp.hpp>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::chrono::duration<double> const seconds(std::atof(argv[1]));
  cohort::communicator_settings const how{.heartbeat = std::chrono::milliseconds(std::atoi(argv[2]))};
  return cohort::launch<cohort::tcp>(how, [&](cohort::communicator& world) {
    std::printf("rank %d is process %d\n", world.rank(), ::getpid());
    std::fflush(stdout);
    auto const begin = std::chrono::steady_clock::now();
    std::vector<float> data(20'000);
    for (float step = 0, goes_on = 1; goes_on > 0; ++step) {
      auto const computed = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
      while (std::chrono::steady_clock::now() < computed) std::this_thread::yield();
      std::ranges::fill(data, static_cast<float>(world.rank()) + step);
      data[0] = std::chrono::steady_clock::now() - begin < seconds ? 1 : 0;
      world.allreduce(std::span(data));
      auto const ranks = static_cast<float>(world.size());
      float const expected = ranks * (ranks - 1) / 2 + ranks * step;
      if (std::ranges::any_of(std::span(data).subspan(1), [&](float one) { return one != expected; }))
        throw std::runtime_error("a sum is wrong");
      goes_on = data[0];
    }
    std::printf("rank %d is done\n", world.rank());
    std::fflush(stdout);
  });
}
