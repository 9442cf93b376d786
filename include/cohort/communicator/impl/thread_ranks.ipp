// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/detail/thread_transport.hpp>
#include <cohort/communicator/message_communicator.hpp>
#include <cohort/communicator/thread_ranks.hpp>
#include <cohort/error/exceptions.hpp>
#include <utility>

namespace cohort {

thread_ranks::thread_ranks(int size, communicator_settings settings, std::string_view name)
    : settings_(std::move(settings)), made_(static_cast<std::size_t>(std::max(size, 0))) {
  if (size < 1)
    throw setting_error({.what = "the number of ranks of a communicator is not positive",
                         .expected = "at least 1",
                         .got = {size}});
  hub_ = std::make_shared<detail::thread_hub>(size, name);
  if (settings_.log)  // the log is serialised over all ranks
    settings_.log = [log = settings_.log, mutex = std::make_shared<std::mutex>()](std::string_view line) {
      std::lock_guard const lock(*mutex);
      log(line);
    };
}

std::unique_ptr<communicator> thread_ranks::make(int rank) {
  std::lock_guard const lock(mutex_);
  if (rank < 0 || rank >= size() || made_[static_cast<std::size_t>(rank)])
    throw setting_error({.what = "cannot make the communicator of this rank",
                         .expected = {"a rank from 0 to ", size() - 1, " that has none yet"},
                         .got = {rank}});
  auto made = make_communicator(std::make_unique<detail::thread_transport>(hub_, rank), settings_);
  made_[static_cast<std::size_t>(rank)] = true;
  return made;
}

std::chrono::steady_clock::time_point thread_ranks::last_activity(int rank) const {
  using clock = detail::thread_hub::clock;
  return clock::time_point(clock::duration(hub_->of(rank).last_activity.load(std::memory_order_relaxed)));
}

std::optional<detail::failure_report> thread_ranks::trouble() const { return hub_->trouble(); }

std::unique_ptr<communicator> make_self(communicator_settings settings) {
  return thread_ranks(1, std::move(settings), "self").make(0);
}

}  // namespace cohort
