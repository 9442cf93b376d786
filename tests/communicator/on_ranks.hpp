// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/launch.hpp>
#include <cohort/error/exceptions.hpp>
#include <exception>
#include <mutex>

/// Runs `body` on ranks that are threads. Rethrows the exception of a rank that has failed itself. The
/// exceptions of ranks to which a failure was reported have lower precedence.
template <class Body>
void on_ranks(int ranks, Body body) {
  std::mutex mutex;
  std::exception_ptr own, reported;
  cohort::launch<cohort::threads>(ranks, [&](cohort::communicator& world) {
    try {
      body(world);
    } catch (cohort::error const& problem) {
      std::lock_guard const lock(mutex);
      (problem.why().got.starts_with("rank ") ? reported : own) = std::current_exception();
    }
  });
  if (own) std::rethrow_exception(own);
  if (reported) std::rethrow_exception(reported);
}
