// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/detail/exit_at_once.hpp>
#include <cohort/communicator/detail/failure_report.hpp>
#include <cohort/communicator/detail/launch_scope.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/communicator/thread_ranks.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/sink.hpp>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace cohort::detail {

/// Results of the ranks of a launch.
struct outcome {
  explicit outcome(int ranks) : failures(static_cast<std::size_t>(ranks)), ended(failures.size()) {}

  std::mutex mutex;  // guards the members below:
  std::condition_variable changed;
  std::vector<std::exception_ptr> failures;
  std::vector<bool> ended;
  std::size_t missing = 0;
  std::exception_ptr cause;  // the first failure that is not a communicator_error and has no other cause
};

[[gnu::cold]] bool is_communicator_error(std::exception_ptr const& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (communicator_error const&) {
    return true;
  } catch (...) {
    return false;
  }
}

/// Runs the body on one rank, announces its exception to the other ranks, and records the result.
void run_rank(std::size_t rank, std::unique_ptr<communicator> world, rank_body body, outcome& all) noexcept {
  std::exception_ptr failure;
  launch_scope const launched(world->size());
  try {
    body(*world);
  } catch (...) {
    failure = std::current_exception();
  }
  int first = own_error_status;  // status of the first failure of a rank
  if (failure) {
    failure_report const why = failure_of(failure);
    first = world->abort(why.text, why.exit_status);
  }
  world.reset();
  std::lock_guard const lock(all.mutex);
  all.failures[rank] = failure;
  if (failure && !all.cause && first != communicator_exit_status && !is_communicator_error(failure))
    all.cause = failure;
  all.ended[rank] = true;
  --all.missing;
  all.changed.notify_all();
}

/// Logs the ranks that hang and the exceptions of the others, then exits the process with the status of the
/// first failure.
void exit_with_hung_ranks(outcome const& all, int status) {
  sink const say = stderr_sink();
  for (std::size_t rank = 0; rank < all.failures.size(); ++rank)
    if (!all.ended[rank])
      say(text_of({"rank ", rank, " has not ended; exiting the process"}));
    else if (all.failures[rank])
      say(text_of({"rank ", rank, ": ", failure_of(all.failures[rank]).text}));
  exit_at_once(status);
}

/// Waits until all ranks have ended, or exits the process if a rank hangs after another one failed.
void watch(thread_ranks const& hub, outcome& all) {
  using clock = std::chrono::steady_clock;
  constexpr auto notification_time =
      std::chrono::seconds(1);  // in this time, other ranks receive the failure and end
  auto const begin = clock::now();
  auto const longest = hub.settings().deadline + std::chrono::seconds(2);
  std::optional<clock::time_point> troubled;
  bool said = false;
  std::unique_lock lock(all.mutex);
  while (!all.changed.wait_for(lock, std::chrono::milliseconds(50), [&] { return all.missing == 0; })) {
    auto const trouble = hub.trouble();
    auto const now = clock::now();
    if (trouble && !troubled) troubled = now;
    if (!trouble || now < *troubled + notification_time) continue;
    if (!std::exchange(said, true)) stderr_sink()(trouble->text);
    for (std::size_t rank = 0; rank < all.ended.size(); ++rank)
      if (!all.ended[rank] && now >= std::max(begin, hub.last_activity(static_cast<int>(rank))) + longest)
        exit_with_hung_ranks(all, trouble->exit_status);
  }
}

}  // namespace cohort::detail

namespace cohort {

int threads::run(int ranks, communicator_settings settings, detail::rank_body body) {
  thread_ranks hub(ranks, std::move(settings));
  std::vector<std::unique_ptr<communicator>> worlds;
  for (int rank = 0; rank < ranks; ++rank) worlds.push_back(hub.make(rank));
  detail::outcome all(ranks);
  std::vector<std::thread> running;
  try {
    for (std::size_t rank = 0; rank < worlds.size(); ++rank) {
      std::lock_guard const lock(all.mutex);
      running.emplace_back([&all, body, rank, world = std::move(worlds[rank])]() mutable {
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
  detail::watch(hub, all);
  for (std::thread& one : running) one.join();  // bounded: returns soon, the bodies have ended
  if (all.cause) std::rethrow_exception(all.cause);
  for (std::exception_ptr const& one : all.failures)
    if (one && detail::is_communicator_error(one)) std::rethrow_exception(one);
  if (auto const why = hub.trouble()) throw communicator_error({.what = why->text}, why->exit_status);
  return 0;
}

int self::run(communicator_settings settings, detail::rank_body body) {
  detail::launch_scope const launched(1);
  body(*make_self(std::move(settings)));
  return 0;
}

}  // namespace cohort
