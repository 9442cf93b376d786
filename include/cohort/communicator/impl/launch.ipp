// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/detail/exit_at_once.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/execution/sink.hpp>
#include <optional>

namespace cohort::detail {

[[gnu::cold]] COHORT_CORE_INLINE std::string text_of(std::exception_ptr const& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (std::exception const& e) {
    return e.what();
  } catch (...) {
    return "an exception that is not derived from std::exception";
  }
}

[[gnu::cold]] COHORT_CORE_INLINE bool is_communicator_error(std::exception_ptr const& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (communicator_error const&) {
    return true;
  } catch (...) {
    return false;
  }
}

/// Logs the ranks that hang and cannot be joined, and the exceptions of the others, then exits the process.
COHORT_CORE_INLINE void exit_with_hung_ranks(outcome const& all) {
  sink const say = stderr_sink();
  for (std::size_t rank = 0; rank < all.failures.size(); ++rank)
    if (!all.ended[rank])
      say(text_of({"rank ", rank, " has not ended; exiting the process"}));
    else if (all.failures[rank])
      say(text_of({"rank ", rank, ": ", text_of(all.failures[rank])}));
  exit_at_once(communicator_exit_status);
}

}  // namespace cohort::detail

namespace cohort {

COHORT_CORE_INLINE void threads::watch(thread_ranks const& hub, detail::outcome& all) {
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
    if (!std::exchange(said, true)) stderr_sink()(*trouble);
    for (std::size_t rank = 0; rank < all.ended.size(); ++rank)
      if (!all.ended[rank] && now >= std::max(begin, hub.last_activity(static_cast<int>(rank))) + longest)
        detail::exit_with_hung_ranks(all);
  }
}

}  // namespace cohort
