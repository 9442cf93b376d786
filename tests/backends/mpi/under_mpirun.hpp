// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <cohort/communicator/communicator.hpp>
#include <exception>

/// Limits for tests: a longer wait for another rank is a failure.
inline constexpr auto test_deadline = std::chrono::seconds(30);

/// Runs all tests on every rank. Rank 0 prints; a failure on another rank is reported by its exit status.
inline int run_tests_on_every_rank(int rank) {
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) delete listeners.Release(listeners.default_result_printer());
  return RUN_ALL_TESTS();
}

/// Runs a test's body. An exception, or a check that ends the body, is announced to the other ranks.
/// Otherwise they would wait for this rank.
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
