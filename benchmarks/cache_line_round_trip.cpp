// SPDX-License-Identifier: Apache-2.0
// Prints the round-trip time of a cache line between processors 0 and 1, in nanoseconds. This time shows
// whether both processors currently share an L3 cache: the processors of a virtual machine may migrate at any
// time.
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

namespace {

using clock_type = std::chrono::steady_clock;

alignas(64) std::atomic<int> turn{0};
std::atomic<bool> late{false};

bool pin(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  return pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0;
}

/// Spins until it is this thread's turn. Returns false after the deadline.
bool await_turn(int mine, clock_type::time_point deadline) {
  for (int spins = 0; turn.load() != mine; ++spins)
    if (spins % 4096 == 4095 && (late.load() || clock_type::now() > deadline)) {
      late.store(true);
      return false;
    }
  return true;
}

}  // namespace

int main() {
  constexpr int rounds = 200'000;
  auto const deadline = clock_type::now() + std::chrono::seconds(20);
  std::atomic<bool> pinned{true};
  std::thread other([&] {
    if (!pin(1)) pinned = false;
    for (int round = 0; round < rounds && await_turn(1, deadline); ++round) turn.store(0);
  });
  if (!pin(0)) pinned = false;
  auto const begin = clock_type::now();
  for (int round = 0; round < rounds; ++round) {
    turn.store(1);
    if (!await_turn(0, deadline)) break;
  }
  double const nanoseconds =
      std::chrono::duration<double, std::nano>(clock_type::now() - begin).count() / rounds;
  other.join();
  if (late || !pinned) {
    std::fprintf(stderr, "cache_line_round_trip: expected threads on processors 0 and 1, got %s\n",
                 pinned ? "no answer within 20 s" : "no permission to pin threads there");
    return 1;
  }
  std::printf("%.0f\n", nanoseconds);
}
