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
/// Order     other communicators that were split or duplicated from this one belong to one membership: after
///           its end, their operations throw a communicator_error. Those of the caller of regroup must be
///           destroyed before the call.
class elastic_communicator : public communicator {
 public:
  /// Number of the membership. It increases.
  virtual std::int64_t membership() const = 0;
  /// Returns whether this rank knows that the membership has ended: its operations throw. Does not wait.
  virtual bool has_ended() const = 0;
  /// Returns whether this process has started after the first membership. Until regroup it is the only rank.
  virtual bool waits_to_join() const = 0;
  /// Number of ranks with which the job is planned, and the smallest number with which it continues.
  virtual int planned_size() const = 0;
  virtual int least_size() const = 0;
  /// Leaves the membership, and waits for the next one. Ranks that stay have the lowest numbers: first those
  /// with the most steps, in their former order.
  ///
  /// Parameters  `step`: number of completed steps of this rank.
  /// Errors    communicator_error if no membership begins within the deadline. A side of a divided network
  ///           with half of the last members or fewer gets this error, too.
  virtual void regroup(std::int64_t step) = 0;
  /// This rank has the state of the run. Waits until all ranks of the membership have it: only these ranks
  /// can continue the run in the next membership.
  ///
  /// Order     collective, after regroup.
  virtual void confirm() = 0;
  /// Sets whether a process may join while this rank is a member; false at first. All ranks must accept
  /// processes. After a call with false, the membership ends only if a rank is lost or leaves, or has ended
  /// already.
  virtual void accept_processes(bool accepts) = 0;
  /// Leaves the job, unless fewer than least_size() ranks would be left. Returns whether this rank has left.
  /// The other ranks then regroup.
  ///
  /// After     if this rank has left, every operation throws a communicator_error.
  virtual bool leave() = 0;
  virtual bool has_left() const = 0;
};

}  // namespace cohort
