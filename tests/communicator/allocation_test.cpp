// SPDX-License-Identifier: Apache-2.0
#include "../plan/counted_new.hpp"

#include <gtest/gtest.h>

#include <cohort/communicator/launch.hpp>
#include <cstdint>
#include <span>
#include <vector>

namespace allocation_test {

using namespace cohort;

TEST(communicator_allocation, does_not_happen_in_a_step) {
  if (!counts_allocations) GTEST_SKIP() << "the sanitizer has its own operator new";
  launch<threads>(3, {.deadline = std::chrono::seconds(60)}, [](communicator& world) {
    std::vector<float> gradient(10'000, 1.0F);
    std::vector<pending_operation> under_way(3);
    std::vector<std::byte> message(100), came(100);
    gathered all;
    std::uint64_t examples = 1;
    auto const step = [&] {
      for (std::size_t bucket = 0; bucket < 3; ++bucket)
        under_way[bucket] =
            world.start_allreduce(std::span(gradient).subspan(bucket * 3000, 3000 + bucket), reduction::sum);
      world.allreduce(std::span(&examples, 1), reduction::maximum);
      world.broadcast(std::span(gradient), 1);
      for (pending_operation& one : under_way) one.wait();
      world.start_allgatherv(message, all).wait();
      pending_operation sending = world.start_send(message, (world.rank() + 1) % world.size(), 4);
      arrival const next = world.wait_for_message(communicator::any_source, 4);
      world.receive(came, next.from, 4);
      sending.wait();
      world.barrier();
    };
    for (int warm = 0; warm < 20; ++warm) step();
    if (world.rank() == 0) {
      allocations = 0;
      counting = true;
    }
    world.barrier();
    for (int k = 0; k < 20; ++k) step();
    world.barrier();
    if (world.rank() == 0) counting = false;
    world.barrier();
  });
  EXPECT_EQ(allocations, 0);
  counting = true;
  launch<self>([](communicator& world) { world.duplicate(); });
  counting = false;
  EXPECT_GT(allocations, 0) << "it would have been seen";
}

}  // namespace allocation_test
