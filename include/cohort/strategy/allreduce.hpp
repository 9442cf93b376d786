// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/strategy/detail/exchange_meter.hpp>
#include <cohort/strategy/detail/narrow_sum.hpp>
#include <cohort/strategy/detail/weighted_sum.hpp>
#include <cohort/tensor/buffer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

/// Every step is taken with the mean of all ranks' gradients.
///
/// Shapes    buckets, from the last layer to the first: as they lie, where all ranks' parameters lie alike on devices that
///           their communicator sums in, or on processors with padding of at most 1/64; of the canonical flat view, where not.
/// Units     every `resync` steps (0: never) ranks compare a checksum of their parameters; where these differ, as between
///           ranks of different backends, rank 0's go to all.
///           `wire`: the type in which gradients travel and are summed, bf16 or f32; none, or a wider one: their own. What a
///           rank rounds away it adds to its next gradient. Parameters and votes travel as they are.
///           `overlap_next_forward`: sums of the last layers, which have half of all parameters or more, may end while the next step's
///           forward runs below these layers; where all ranks' parameters lie alike, and the trainer allows it (step_info::late).
/// Order     a bucket leaves while backward still runs below it.
/// Before    rank r has the gradient g_r of the mean over its examples, which weigh m_r (1 each, where they have no weights).
/// After     all have Σ m_r·g_r / Σ m_r; with `wire` Σ round(m_r·g_r / Σ m + e_r), e_r being what r has rounded
///           away so far.
/// Moves     an allreduce of each bucket a step, n elements together and the padding of those that go as they lie, the first
///           one with 5 words more (with `wire` and `overlap_next_forward`, and where it goes as it lies, they have an allreduce of their own); once in the
///           beginning n more at most ⌈log2 P⌉ times and an allreduce of 16 bytes, as at a resync. A single rank moves, packs
///           and waits for nothing.
/// Errors    communicator_error on all ranks if one is lost; with `overlap_next_forward` these layers may then have missed the last step.
/// Exact     ranks of one backend hold the same bits after each step; P ranks with batch B give the parameters of one with
///           batch P·B, to rounding, for networks without batch statistics. With one rank no bit differs from no strategy.
///           With `wire` ranks hold the same bits as each other, and what is rounded away before a sum is conserved; the sums
///           are rounded too, once a rank.
/// Source    CaffeOnSpark over MPI; buckets during backward: Li et al., PyTorch Distributed, VLDB 2020; error
///           feedback: Seide et al., Interspeech 2014, Karimireddy et al., ICML 2019; into forward: Jayarajan et al., P3, MLSys
///           2019, and BytePS's cross-barrier.
struct allreduce {
  int resync = 100;
  std::optional<element_type> wire{};
  bool overlap_next_forward = false;

  std::unique_ptr<strategy> on(communicator& world) const;
};

namespace detail {

/// Whether all ranks give the same number.
bool same_everywhere(communicator& world, std::uint64_t number);

/// Whether so many elements, which lie in so much room, are sooner summed with the room between them than packed.
constexpr bool lie_close(std::size_t elements, std::size_t room) { return room <= elements + elements / 64; }

/// Rank 0's parameters, and what its updaters remember, to all ranks.
void broadcast_replica(communicator& world, replica const& mine, int arrays);

class allreduce_strategy final : public strategy {
 public:
  allreduce_strategy(std::unique_ptr<communicator> world, allreduce how)
      : world_(std::move(world)), how_(how) {}
  ~allreduce_strategy() override { abandon("a rank gave up in the middle of a step"); }

  std::string describe() const override;

  void begin(step_info const& now, replica const& mine) override;

  void ready(step_info const& now, bucket const& one, gradient_parts& gradients) override;

  bool before_update(step_info const& now, gradient_parts& gradients) override;

  int pending_buckets() const override { return left_; }
  void finish_pending(gradient_parts& gradients) override;

  void abandon(std::string_view why) noexcept override;
  agreement const* agreed() const override { return &agreed_; }
  std::size_t bytes(replica const& mine) const override;
  std::vector<measurement> report() const override;
  exchange_times last_exchange() const override { return meter_.last(); }

  strategy_state state() const override;
  void restore(strategy_state const& saved) override;
  /// What all have rounded away is split evenly among those that go on.
  void restore_from_ranks(strategy_state const& had, int former, int) override;

 private:
  static constexpr char const* kept_name = "rounded_away";

  /// What was of a run before.
  void forget();

  bool alone() const { return world_->size() == 1; }
  bool proceeds() const { return agreed_.weight > 0 && !agreed_.all.not_finite; }

  bool leaves(step_info const& now) const { return how_.overlap_next_forward && alike_ && now.late > 0; }
  /// What is not finite behind the votes: all hear of it by a bucket that is not late, whose first element is no number then.
  static void tell_not_finite(bucket const& last, gradient_parts& gradients);

  bool narrows(parameter_set const& parameters) const;
  /// Whether it is summed as it lies, if it lies alike on all ranks: on a device that these reach; on processors with so little
  /// padding that it costs less than packing.
  bool lies_close(parameter_set const& parameters, bucket const& one) const;

  void make_sums(parameter_set const& parameters);
  weighted_sum& sum_of(bucket const& one) { return sums_[static_cast<std::size_t>(one.index)]; }

  /// Puts this rank's gradient where it is summed; returns the bytes that leave.
  std::size_t fill(bucket const& one, gradient_parts& gradients);

  /// Waits for some buckets' sums and puts their means back.
  void take(gradient_parts& gradients, std::size_t first, std::size_t last);
  void end();

  /// Where a step is not taken, what was rounded away in it is not kept either.
  bool take_narrow(step_info const& now, gradient_parts& gradients);

  void resync(replica const& mine);

  std::unique_ptr<communicator> world_;
  allreduce how_;
  std::vector<weighted_sum> sums_;     // of each bucket
  std::optional<weighted_sum> votes_;  // where the first bucket's sum has none
  std::optional<narrow_sum> narrow_;
  buffer saved_;
  element_type saved_type_ = element_type::f32;
  agreement agreed_;
  exchange_meter meter_;
  std::int64_t expected_ = 0;
  bool alike_ = false;  // parameters lie so on all ranks
  int left_ = 0;        // buckets whose sums nobody has waited for
  bool started_ = false;
  bool under_way_ = false;
  bool restored_ = false;
};

}  // namespace detail

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/allreduce.ipp>
#endif
