// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cohort/communicator/communicator.hpp>
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

/// Runs a body on every rank of a kind of communicator, and hands it that rank's.
///
///     return launch<threads>(2, [](communicator& world) { … });
///     return launch<threads>(2, {.deadline = 10s}, [](communicator& world) { … });
///     return launch<self>([](communicator& world) { … });
///     return launch<mpi>(argc, argv, [](communicator& world) { … });
///
/// After     every rank has ended. The result is the program's exit status.
/// Errors    as the kind says.
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

/// What has become of the ranks of a launch.
struct outcome {
  explicit outcome(int ranks) : failures(static_cast<std::size_t>(ranks)), ended(failures.size()) {}

  std::mutex mutex;  // guards:
  std::condition_variable changed;
  std::vector<std::exception_ptr> failures;
  std::vector<bool> ended;
  std::size_t missing = 0;
  std::exception_ptr cause;  ///< the first that is not the echo of another
};

[[gnu::cold]] std::string text_of(std::exception_ptr const& thrown);

[[gnu::cold]] bool is_echo(std::exception_ptr const& thrown);

/// One rank's life.
template <class Body>
void live_as_rank(std::size_t rank, std::unique_ptr<communicator> world, Body& body, outcome& all) noexcept {
  std::exception_ptr failure;
  try {
    body(*world);
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) world->abort(text_of(failure));
  world.reset();
  std::lock_guard const lock(all.mutex);
  all.failures[rank] = failure;
  if (failure && !all.cause && !is_echo(failure)) all.cause = failure;
  all.ended[rank] = true;
  --all.missing;
  all.changed.notify_all();
}

}  // namespace detail

/// Ranks that are threads of this process. The calling thread only watches over them.
///
/// Errors    what the body throws: the first exception that is not the communicator_error by which other ranks learn of
///           it; they fail at once. Where a rank has not ended by then, and has shown no sign of life for the deadline and
///           2 s, the process ends with communicator_exit_status; all reasons go to the standard error stream.
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
          detail::live_as_rank(rank, std::move(world), body, all);
        });
        ++all.missing;
      }
    } catch (...) {  // no more threads to be had
      std::lock_guard const lock(all.mutex);
      all.cause = std::current_exception();
      for (auto const& world : worlds)
        if (world) world->abort("not all ranks could be started");
    }
    watch(hub, all);
    for (std::thread& one : running) one.join();  // bounded: the threads have nothing left to do
    if (all.cause) std::rethrow_exception(all.cause);
    for (std::exception_ptr const& one : all.failures)
      if (one) std::rethrow_exception(one);
    if (auto const why = hub.trouble()) throw communicator_error({.what = *why});  // as a rank left
    return 0;
  }

 private:
  using clock = std::chrono::steady_clock;
  /// In which the others hear of a failure, and end.
  static constexpr auto to_hear = std::chrono::seconds(1);

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
    body(*make_self(std::move(settings)));
    return 0;
  }
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/launch.ipp>
#endif
