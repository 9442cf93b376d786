// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <cohort/communicator/communicator.hpp>
#include <exception>

/// Limits of tests: whoever waits that long for another rank has found a fault.
inline constexpr auto test_deadline = std::chrono::seconds(30);

/// All tests, on every rank alike; rank 0 prints. What fails on another rank is told by a failing status.
inline int run_tests_on_every_rank(int rank) {
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) delete listeners.Release(listeners.default_result_printer());
  return RUN_ALL_TESTS();
}

/// Runs a test's body; what it throws, or a check that ends it, reaches the other ranks, which would wait for this one.
template <class Body>
void on_every_rank(cohort::communicator& world, Body body) {
  try {
    body();
    if (testing::Test::HasFatalFailure()) world.abort("a check has ended this rank's test");
  } catch (std::exception const& error) {
    world.abort(error.what());
    throw;
  }
}
