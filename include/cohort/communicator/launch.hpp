// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/error/exceptions.hpp>
#include <memory>
#include <utility>

namespace cohort {

/// Runs `body` on every rank, with the rank's communicator. `Kind` is self, threads, mpi or tcp.
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

/// A reference to the body of a launch. The body must outlive the reference.
class rank_body {
 public:
  template <class Lambda>
  explicit rank_body(Lambda& body)
      : body_(&body), call_([](void* it, communicator& world) { (*static_cast<Lambda*>(it))(world); }) {}

  void operator()(communicator& world) const { call_(body_, world); }

 private:
  void* body_;
  void (*call_)(void*, communicator&);
};

}  // namespace detail

/// Ranks that are threads of this process. The calling thread only supervises them.
///
/// Errors    rethrows the body's first exception that is not a communicator_error. The other ranks fail at
///           once with a communicator_error that reports this exception. If a rank then neither ends nor
///           makes progress for the deadline plus 2 s, the process prints an error to the standard error
///           stream: which ranks hang, and why the others failed. The process then exits with the exit status
///           of the first failure.
struct threads {
  template <class Body>
  static int launch(int ranks, Body&& body) {
    return launch(ranks, communicator_settings(), body);
  }
  template <class Body>
  static int launch(int ranks, communicator_settings settings, Body&& body) {
    auto call = [&](communicator& world) { body(world); };
    return run(ranks, std::move(settings), detail::rank_body(call));
  }

 private:
  static int run(int ranks, communicator_settings settings, detail::rank_body body);
};

/// One rank, on the calling thread.
struct self {
  template <class Body>
  static int launch(Body&& body) {
    return launch(communicator_settings(), body);
  }
  template <class Body>
  static int launch(communicator_settings settings, Body&& body) {
    auto call = [&](communicator& world) { body(world); };
    return run(std::move(settings), detail::rank_body(call));
  }

 private:
  static int run(communicator_settings settings, detail::rank_body body);
};

}  // namespace cohort
