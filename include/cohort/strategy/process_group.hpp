// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/communicator/communicator.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cstdint>
#include <memory>
#include <span>

namespace cohort {

/// Who sends messages: the ranks of one process together, as the sum of what they have, or each rank its own.
enum class group { process, rank };

namespace detail {

/// What number_of_process returns; 0: not drawn yet. A variable of the header, so that code compiled header-only and the
/// compiled library share it.
inline std::atomic<std::uint64_t> process_number{0};

/// A random number, the same in every call of this process.
std::uint64_t number_of_process();

/// The ranks of one process, which add up what they have; the first of them speaks for all.
///
/// Order     collective on all ranks; sum, tell and sum_at_leader on those of the group.
/// Moves     sum: an allreduce of the elements and one of 5 words inside the group. tell: a broadcast of both.
class process_group {
 public:
  /// Each rank for itself.
  explicit process_group(communicator& world) : world_(world), groups_(world.size()) {}
  /// Together with all that give the same number.
  process_group(communicator& world, std::uint64_t number);

  bool leads() const { return !members_ || members_->rank() == 0; }
  /// Those who speak.  Before: leads.
  communicator& leaders() const { return leaders_ ? *leaders_ : world_; }
  communicator& world() const { return world_; }
  /// How many groups there are, and how many ranks are in this one.
  int groups() const { return groups_; }
  int size() const { return members_ ? members_->size() : 1; }
  /// Whether the group has more than one rank, or another group has.
  bool adds_up() const { return members_ != nullptr; }

  /// Σ m_r·x_r / Σ m_r, or with `plainly` Σ x_r, of the group in the place of this rank's x; examples, weights and votes likewise.
  ///
  /// After     where numbers of some are not finite, the vote says so, and the sum is without theirs.
  void sum(std::span<float> x, step_info& now, bool plainly) const;

  /// What the leader has heard, to all of the group.
  void tell(agreement& agreed, std::span<float> all) const;

  /// The group's sum with the leader; zeros with the others.  Shapes: the same on all.
  void sum_at_leader(std::span<float> x) const;

 private:
  communicator& world_;
  int groups_ = 0;
  std::unique_ptr<communicator> members_;
  std::unique_ptr<communicator> leaders_;
};

}  // namespace detail

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/process_group.ipp>
#endif
