// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/detail/failure_report.hpp>
#include <cohort/detail/chrono.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace cohort {

namespace detail {
struct thread_hub;
}

/// Creates the communicators of ranks that are threads of this process.
///
/// Order     any thread may call make, once for each rank. The communicators may outlive this object.
/// Errors    setting_error for fewer than one rank, a rank that is out of range or was made before, or a
///           deadline out of range.
class thread_ranks {
 public:
  explicit thread_ranks(int size, communicator_settings settings = {}, std::string_view name = "threads");

  int size() const { return static_cast<int>(made_.size()); }
  communicator_settings const& settings() const { return settings_; }

  /// Creates the communicator of a rank.
  std::unique_ptr<communicator> make(int rank);

  /// Time at which a rank last started or advanced an operation; the clock's epoch before its first
  /// operation.
  std::chrono::steady_clock::time_point last_activity(int rank) const;
  /// The reason why the ranks have failed; nullopt if no rank has failed.
  std::optional<detail::failure_report> trouble() const;

 private:
  communicator_settings settings_;
  std::mutex mutex_;
  std::vector<bool> made_;
  std::shared_ptr<detail::thread_hub> hub_;
};

}  // namespace cohort
