// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/strategy/detail/exchange_meter.hpp>
#include <cohort/strategy/detail/low_precision_sum.hpp>
#include <cohort/strategy/detail/weighted_sum.hpp>
#include <cohort/tensor/buffer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

/// Reaction to parameters that differ between ranks: end the run with an exception on all ranks, or continue
/// with those of rank 0.
enum class when_diverged { stop, repair };

/// Uses the mean of all ranks' gradients for every update.
///
///     P = 4         rank 0    rank 1    rank 2    rank 3
///     backward        g_0       g_1       g_2       g_3     bucket 0: the last layers
///        |            <------- allreduce 0 -------->        in flight during the rest of backward
///        |            g_0       g_1       g_2       g_3     bucket 1
///        v            <------- allreduce 1 -------->
///     wait             g         g         g         g      of each bucket: g = Σ m_r·g_r / Σ m_r
///     update           w         w         w         w      the same bits
///
/// Shapes    buckets, from the last layer to the first. A bucket is reduced in place on two conditions. All
///           ranks have the same parameter layout. The bucket is on a device in whose memory the communicator
///           sums, or on the processor with padding of at most 1/64. Otherwise the bucket is packed, as in
///           the canonical flat view.
/// Units     `resync`: every `resync` steps (0: never) ranks compare a checksum of their parameters. If the
///           checksums differ although all ranks have the same backend and instruction set, memory is
///           damaged, or the program has changed parameters or gradients on some ranks only: `diverged`
///           selects the reaction. Otherwise ranks diverge by rounding, and rank 0's parameters and optimizer
///           state are broadcast. report counts the broadcasts.
///           `wire`: the type in which gradients are sent and summed, bf16 or f32. If `wire` is none or not
///           narrower than the gradients' type, gradients are sent in their own type. A rank adds its
///           rounding error to its next gradient. Parameters and votes are sent in their own type.
///           `overlap_next_forward`: the sums of the last layers may be late: pending while the next step's
///           forward runs on the layers below. These last layers have half of all parameters or more.
///           Requires the same layout on all ranks, and steps that allow it (step_info::max_late_buckets).
/// Order     a bucket's allreduce starts while backward still runs on the layers below it.
/// Before    rank r has the gradient g_r of the mean loss over its examples, whose total weight is m_r (their
///           number if they have no weights).
/// After     all ranks have Σ m_r·g_r / Σ m_r. With `wire`, they have Σ round(m_r·g_r / Σ m + e_r), where e_r
///           is the sum of rank r's rounding errors so far.
/// Moves     per step an allreduce of each bucket: in total n elements and the padding of buckets that are
///           reduced in place. Five words of votes are appended to the first bucket. With `wire` or
///           `overlap_next_forward`, or if this bucket is reduced in place, a separate allreduce sends the
///           votes. If layers have running statistics, two allreduces of 2·C + L f64 in total, for C channels
///           in L layers (merge_statistics), before the wait for the buckets. At the start of a new run, a
///           broadcast of n elements per array (parameters and optimizer state), of which a rank sends at
///           most ⌈log2 P⌉ copies. At the start and at a resync, an allreduce of 16 bytes; at a resync with
///           different checksums, another one and a broadcast as at the start. A single rank sends, packs and
///           waits for nothing. A resync hashes the parameters in place; ranks with different layouts copy
///           one parameter at a time.
/// Errors    communicator_error on all ranks if one is lost; with `overlap_next_forward` the layers whose
///           sums were late may then lack the last step. numeric_error on all ranks if ranks of one
///           backend differ at a resync, with the step, the ranks and the first parameter that differs.
/// Exact     ranks of one backend and instruction set have the same bits after each step, also with `wire`
///           and different numbers of workers. P ranks with batch B give the parameters of one rank with
///           batch P·B, up to rounding, for networks without batch statistics. Running statistics follow the
///           batch of all ranks, merged in f64, also with `wire`. With one rank, bitwise equal to training
///           without a strategy. With `wire`, the rounding errors of the sent gradients are fed back; the
///           rounding errors of the partial sums (one per rank) are lost.
/// Source    CaffeOnSpark over MPI. Buckets during backward: Li et al., PyTorch Distributed, VLDB 2020. Error
///           feedback: Seide et al., Interspeech 2014, Karimireddy et al., ICML 2019. Overlap with the next
///           forward: Jayarajan et al., P3, MLSys 2019, and BytePS's cross-barrier.
struct allreduce {
  int resync = 100;
  when_diverged diverged = when_diverged::stop;
  std::optional<element_type> wire{};
  bool overlap_next_forward = false;

  /// Returns the strategy of this rank.  Order: collective.  Errors: setting_error for an invalid setting.
  std::unique_ptr<strategy> on(communicator& world) const;
};

namespace detail {

/// Returns whether all ranks pass the same number.  Order: collective.
bool is_same_on_all_ranks(communicator& world, std::uint64_t number);

/// Returns whether it is faster to reduce a range of `room` elements, padding included, than to pack its
/// `elements` elements first.
constexpr bool is_nearly_packed(std::size_t elements, std::size_t room) {
  return room <= elements + elements / 64;
}

/// Broadcasts rank 0's parameters and optimizers' state.  Order: collective.
void broadcast_replica(communicator& world, replica const& mine);

class allreduce_strategy final : public strategy {
 public:
  allreduce_strategy(std::unique_ptr<communicator> world, allreduce how)
      : world_(std::move(world)), how_(how) {}
  ~allreduce_strategy() override { abandon("its strategy was destroyed during a step"); }

  std::string describe() const override;

  void begin(step_info const& now, replica const& mine) override;

  void ready(step_info const& now, bucket const& one, gradient_parts& gradients) override;

  bool before_update(step_info const& now, gradient_parts& gradients) override;

  int late_buckets() const override { return late_buckets_; }
  void finish_late(gradient_parts& gradients) override;

  void abandon(std::string_view why) noexcept override;
  agreement const* agreed() const override { return &agreed_; }
  std::size_t bytes(replica const& mine) const override;
  std::vector<measurement> report() const override;
  exchange_times last_exchange() const override { return meter_.last(); }

  strategy_state state() const override;
  void restore(strategy_state const& saved) override;
  /// Divides the sum of all previous ranks' rounding errors evenly among the current ranks.
  void restore_from_ranks(strategy_state const& had, int former, int) override;

 private:
  static constexpr char const* kept_name = "rounded_away";

  /// Discards the state of an earlier run.
  void forget();

  bool is_single_rank() const { return world_->size() == 1; }
  bool is_step_valid() const { return agreed_.weight > 0 && !agreed_.all.not_finite; }

  bool overlaps(step_info const& now) const {
    return how_.overlap_next_forward && same_layout_ && !low_precision_ && now.max_late_buckets > 0;
  }
  /// Reports a non-finite number that was found after the votes were sent: sets the first element of `last`,
  /// a bucket that is not late, to NaN.
  static void mark_not_finite(bucket const& last, gradient_parts& gradients);

  bool uses_wire_type(parameter_set const& parameters) const;
  /// Returns whether a bucket is reduced in place, provided that all ranks have the same layout. A bucket on
  /// a device is reduced in place if the communicator sums in the device's memory. A bucket on the processor
  /// is reduced in place if its padding costs less than packing.
  bool reduces_in_place(parameter_set const& parameters, bucket const& one) const;

  void make_sums(parameter_set const& parameters);
  weighted_sum& sum_of(bucket const& one) { return sums_[static_cast<std::size_t>(one.index)]; }

  /// Copies this rank's gradient of a bucket to the bucket's sum, unless the sum is in place. Returns the
  /// number of bytes to send.
  std::size_t load_gradient(bucket const& one, gradient_parts& gradients);

  /// Waits for the sums of buckets [first, last) and writes their means back.
  void finish_buckets(gradient_parts& gradients, std::size_t first, std::size_t last);
  void end_exchange();

  /// Waits for the low-precision sums and writes their means back. Returns whether the step is taken;
  /// otherwise its rounding errors are discarded.
  bool finish_low_precision(step_info const& now, gradient_parts& gradients);

  void resync(step_info const& now, replica const& mine);
  /// Throws the error that names the ranks and the first parameter that differ.  Order: collective.
  [[noreturn]] void report_divergence(step_info const& now, parameter_set const& parameters,
                                      std::vector<std::uint64_t> const& mine) const;

  std::unique_ptr<communicator> world_;
  allreduce how_;
  std::vector<weighted_sum> sums_;     // one per bucket
  std::optional<weighted_sum> votes_;  // exists if the first bucket's sum has no votes
  std::optional<low_precision_sum> low_precision_;
  buffer saved_;
  element_type saved_type_ = element_type::f32;
  agreement agreed_;
  exchange_meter meter_;
  std::int64_t expected_ = 0;
  bool same_layout_ = false;  // whether all ranks have the same parameter layout
  std::int64_t repairs_ = 0;  // resyncs that broadcast rank 0's parameters and optimizer state
  int late_buckets_ = 0;
  bool started_ = false;
  bool in_flight_ = false;
  bool restored_ = false;
};

}  // namespace detail

}  // namespace cohort
