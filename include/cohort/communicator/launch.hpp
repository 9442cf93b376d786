// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/detail/launch_scope.hpp>
#include <cohort/communicator/thread_ranks.hpp>
#include <cohort/error/exceptions.hpp>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cohort {

/// Runs `body` on every rank, with the rank's communicator. `Kind` is self, threads or mpi.
///
///     return launch<threads>(2, [](communicator& world) { … });
///     return launch<threads>(2, {.deadline = 10s}, [](communicator& world) { … });
///     return launch<self>([](communicator& world) { … });
///     return launch<mpi>(argc, argv, [](communicator& world) { … });
///
/// After     every rank has ended. The result is the program's exit status.
/// Errors    as documented for the kind.
template <class Kind, class... Arguments>
int launch(Arguments&&... arguments) {
  return Kind::launch(std::forward<Arguments>(arguments)...);
}
template <class Kind, class Body>
int launch(communicator_settings settings, Body&& body) {
  return Kind::launch(std::move(settings), std::forward<Body>(body));
}
template <class Kind, class Body>
int launch(int ranks, communicator_settings settings, Body&& body) {
  return Kind::launch(ranks, std::move(settings), std::forward<Body>(body));
}
template <class Kind, class Body>
int launch(int argc, char** argv, communicator_settings settings, Body&& body) {
  return Kind::launch(argc, argv, std::move(settings), std::forward<Body>(body));
}

namespace detail {

/// Results of the ranks of a launch.
struct outcome {
  explicit outcome(int ranks) : failures(static_cast<std::size_t>(ranks)), ended(failures.size()) {}

  std::mutex mutex;  // guards:
  std::condition_variable changed;
  std::vector<std::exception_ptr> failures;
  std::vector<bool> ended;
  std::size_t missing = 0;
  std::exception_ptr
      cause;  ///< the first that is not a communicator_error, which only reports another rank's failure
};

/// The text of an exception.
[[gnu::cold]] std::string text_of(std::exception_ptr const& thrown);

[[gnu::cold]] bool is_communicator_error(std::exception_ptr const& thrown);

/// Runs the body on one rank, announces its exception to the other ranks, and records the result.
template <class Body>
void run_rank(std::size_t rank, std::unique_ptr<communicator> world, Body& body, outcome& all) noexcept {
  std::exception_ptr failure;
  launch_scope const launched(world->size());
  try {
    body(*world);
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) world->abort(text_of(failure));
  world.reset();
  std::lock_guard const lock(all.mutex);
  all.failures[rank] = failure;
  if (failure && !all.cause && !is_communicator_error(failure)) all.cause = failure;
  all.ended[rank] = true;
  --all.missing;
  all.changed.notify_all();
}

}  // namespace detail

/// Ranks that are threads of this process. The calling thread only supervises them.
///
/// Errors    rethrows the body's first exception that is not a communicator_error. The other ranks fail at
///           once with a communicator_error that reports it. If a rank then neither ends nor makes progress
///           for the deadline plus 2 s, the process exits with communicator_exit_status. It prints all
///           reasons to the standard error stream.
struct threads {
  template <class Body>
  static int launch(int ranks, Body&& body) {
    return launch(ranks, communicator_settings(), body);
  }
  template <class Body>
  static int launch(int ranks, communicator_settings settings, Body&& body) {
    thread_ranks hub(ranks, std::move(settings));
    std::vector<std::unique_ptr<communicator>> worlds;
    for (int rank = 0; rank < ranks; ++rank) worlds.push_back(hub.make(rank));
    detail::outcome all(ranks);
    std::vector<std::thread> running;
    try {
      for (std::size_t rank = 0; rank < worlds.size(); ++rank) {
        std::lock_guard const lock(all.mutex);
        running.emplace_back([&all, &body, rank, world = std::move(worlds[rank])]() mutable {
          detail::run_rank(rank, std::move(world), body, all);
        });
        ++all.missing;
      }
    } catch (...) {  // the system has no more threads
      std::lock_guard const lock(all.mutex);
      all.cause = std::current_exception();
      for (auto const& world : worlds)
        if (world) world->abort("not all ranks could be started");
    }
    watch(hub, all);
    for (std::thread& one : running) one.join();  // bounded: the threads have finished their work
    if (all.cause) std::rethrow_exception(all.cause);
    for (std::exception_ptr const& one : all.failures)
      if (one) std::rethrow_exception(one);
    if (auto const why = hub.trouble())
      throw communicator_error({.what = *why});  // failure while a rank closed its communicator
    return 0;
  }

 private:
  using clock = std::chrono::steady_clock;
  /// Time for the other ranks to be notified of a failure and to end.
  static constexpr auto notification_time = std::chrono::seconds(1);

  static void watch(thread_ranks const& hub, detail::outcome& all);
};

/// One rank, on the calling thread.
struct self {
  template <class Body>
  static int launch(Body&& body) {
    return launch(communicator_settings(), body);
  }
  template <class Body>
  static int launch(communicator_settings settings, Body&& body) {
    detail::launch_scope const launched(1);
    body(*make_self(std::move(settings)));
    return 0;
  }
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/launch.ipp>
#endif
