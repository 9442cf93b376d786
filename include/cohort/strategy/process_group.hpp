// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/communicator.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>

namespace cohort {

/// Who sends messages: the ranks of one process together, as the sum of what they have, or each rank its own.
enum class group { process, rank };

namespace detail {

/// A number that no other process has, but by chance.
inline std::uint64_t number_of_process() {
  static std::uint64_t const number = [] {
    std::random_device any;
    return std::uint64_t{any()} << 32 | any();
  }();
  return number;
}

/// The ranks of one process, which add up what they have; the first of them speaks for all.
///
/// Order     collective on all ranks; sum, tell and sum_at_leader on those of the group.
/// Moves     sum: an allreduce of the elements and one of 5 words inside the group. tell: a broadcast of both.
class process_group {
 public:
  /// Each rank for itself.
  explicit process_group(communicator& world) : world_(world), groups_(world.size()) {}
  /// Together with all that give the same number.
  process_group(communicator& world, std::uint64_t number) : world_(world) {
    gathered const all = world.allgatherv(std::as_bytes(std::span(&number, 1)));
    auto const first_like = [&](int rank) {
      int r = 0;
      while (!std::ranges::equal(all.of(r), all.of(rank))) ++r;
      return r;
    };
    groups_ = 0;
    for (int r = 0; r < world.size(); ++r) groups_ += first_like(r) == r ? 1 : 0;
    if (groups_ == world.size()) return;
    int const first = first_like(world.rank());
    members_ = world.split(first, 0);
    leaders_ = world.split(first == world.rank() ? 0 : 1, 0);
  }

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
  void sum(std::span<float> x, step_info& now, bool plainly) const {
    if (!members_) return;
    bool const finite = !now.mine.not_finite;
    double words[]{static_cast<double>(now.examples), now.weight, now.mine.stop ? 1.0 : 0.0,
                   now.mine.save ? 1.0 : 0.0, now.mine.not_finite ? 1.0 : 0.0};
    members_->allreduce(std::span<double>(words));
    double const share = plainly || words[1] == 0 ? 1 : now.weight / words[1];
    now.examples = static_cast<int>(words[0]);
    now.weight = words[1];
    now.mine = {.stop = words[2] > 0, .save = words[3] > 0, .not_finite = words[4] > 0};
    if (!finite || share == 0)
      std::ranges::fill(x, 0.0F);
    else if (share != 1)
      for (float& one : x) one *= static_cast<float>(share);
    members_->allreduce(x);
  }

  /// What the leader has heard, to all of the group.
  void tell(agreement& agreed, std::span<float> all) const {
    if (!members_) return;
    std::byte words[sizeof agreed];
    std::memcpy(words, &agreed, sizeof agreed);
    members_->broadcast({words, element_type::u8, sizeof words}, 0);
    std::memcpy(&agreed, words, sizeof agreed);
    if (!agreed.all.not_finite) members_->broadcast(all, 0);
  }

  /// The group's sum with the leader; zeros with the others.  Shapes: the same on all.
  void sum_at_leader(std::span<float> x) const {
    if (!members_) return;
    members_->allreduce(x);
    if (!leads()) std::ranges::fill(x, 0.0F);
  }

 private:
  communicator& world_;
  int groups_ = 0;
  std::unique_ptr<communicator> members_;
  std::unique_ptr<communicator> leaders_;
};

}  // namespace detail

}  // namespace cohort
