// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/communicator/communicator.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cstdint>
#include <memory>
#include <span>

namespace cohort::detail {

/// Storage of random_process_id; 0 until the number is drawn. By its default visibility, all copies of Cohort
/// in a process share this variable: the program's copy, and the copies in shared libraries with hidden
/// symbols.
[[gnu::visibility("default")]] inline std::atomic<std::uint64_t> process_id{0};

/// Returns a random number that is the same in every call of this process.
std::uint64_t random_process_id();

/// The ranks of one process, which combine their arrays. Their first rank, the leader, exchanges the result
/// with the other groups' leaders.
///
/// Order     constructors are collective on all ranks; sum, broadcast and reduce_to_leader on the ranks of
///           the group.
/// Moves     inside the group. sum: an allreduce of the elements and an allreduce of 5 words. broadcast: a
///           broadcast of the elements and a broadcast of the agreement. reduce_to_leader: an allreduce of
///           the elements.
class process_group {
 public:
  /// Makes a separate group for each rank.
  explicit process_group(communicator& world) : world_(world), groups_(world.size()) {}
  /// Makes a group of all ranks that pass the same number.
  process_group(communicator& world, std::uint64_t number);

  bool is_leader() const { return !members_ || members_->rank() == 0; }
  /// The communicator of the leaders.  Before: is_leader.
  communicator& leaders() const { return leaders_ ? *leaders_ : world_; }
  communicator& world() const { return world_; }
  /// Number of groups.
  int groups() const { return groups_; }
  /// Number of ranks in this group.
  int size() const { return members_ ? members_->size() : 1; }
  /// Returns whether any group has more than one rank.
  bool is_grouped() const { return members_ != nullptr; }

  /// Replaces x with the group's Σ m_r·x_r / Σ m_r, where m_r is now.weight of rank r; if `unweighted`, with
  /// Σ x_r. Replaces the examples, weight and votes in `now` with those of the group.
  ///
  /// After     if a rank's numbers are not finite, votes::not_finite is set, and the sum does not include
  ///           that rank.
  void sum(std::span<float> x, step_info& now, bool unweighted) const;

  /// Broadcasts the leader's agreement to the group. If all numbers were finite, also broadcasts x.
  void broadcast(agreement& agreed, std::span<float> x) const;

  /// Sums x at the leader; fills x with zeros on the other ranks.  Shapes: the same on all ranks.
  void reduce_to_leader(std::span<float> x) const;

 private:
  communicator& world_;
  int groups_ = 0;
  std::unique_ptr<communicator> members_;
  std::unique_ptr<communicator> leaders_;
};

}  // namespace cohort::detail
