// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cstdint>

namespace cohort {

/// A communicator whose ranks may change: ranks leave or are lost, and new processes join. The ranks of one
/// time are a *membership*; rank() and size() change with the membership.
///
/// If a rank is lost or leaves, or a process joins, all operations of the membership throw a
/// communicator_error whose exit status is communicator_exit_status. Then call regroup. training::fit does
/// this.
/// Order     other communicators that were split or duplicated from this one belong to one membership.
///           Destroy them before regroup.
class elastic_communicator : public communicator {
 public:
  /// Number of the membership. It increases.
  virtual std::int64_t membership() const = 0;
  /// Returns whether this process has started after the first membership. Until regroup it is the only rank.
  virtual bool waits_to_join() const = 0;
  /// Number of ranks with which the job is planned, and the smallest number with which it goes on.
  virtual int planned_size() const = 0;
  virtual int least_size() const = 0;
  /// Leaves the membership, and waits for the next one. Ranks that stay have the lowest numbers: first those
  /// with the most steps, in their former order.
  ///
  /// Parameters  `step`: number of completed steps of this rank.
  /// Errors    communicator_error if no membership begins within the deadline. A side of a divided network
  ///           with half of the last members or fewer gets this error, too.
  virtual void regroup(std::int64_t step) = 0;
  /// Leaves the job. The other ranks regroup.
  ///
  /// After     every operation throws a communicator_error.
  virtual void leave() = 0;
  virtual bool has_left() const = 0;
};

}  // namespace cohort
