// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/random/hash.hpp>
#include <cohort/strategy/detail/exchange_meter.hpp>
#include <cohort/strategy/detail/narrow_sum.hpp>
#include <cohort/strategy/detail/saved_values.hpp>
#include <cohort/strategy/detail/weighted_sum.hpp>
#include <cohort/tensor/buffer.hpp>
#include <limits>
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
inline bool same_everywhere(communicator& world, std::uint64_t number) {
  std::uint64_t both[2]{number, ~number};  // the largest, and the smallest
  world.allreduce(std::span<std::uint64_t>(both), reduction::maximum);
  return both[0] == ~both[1];
}

/// Whether so many elements, which lie in so much room, are sooner summed with the room between them than packed.
constexpr bool lie_close(std::size_t elements, std::size_t room) { return room <= elements + elements / 64; }

/// Rank 0's parameters, and what its updaters remember, to all ranks.
inline void broadcast_replica(communicator& world, replica const& mine, int arrays) {
  buffer const dense(mine.bytes());
  for (int array = 0; array < arrays; ++array) {
    mine.read(array, dense.data());
    world.broadcast(
        {dense.data(), mine.parameters.type(), static_cast<std::size_t>(mine.parameters.elements())}, 0);
    mine.write(array, dense.data());
  }
  mine.parameters.changed();
}

class allreduce_strategy final : public strategy {
 public:
  allreduce_strategy(std::unique_ptr<communicator> world, allreduce how)
      : world_(std::move(world)), how_(how) {}
  ~allreduce_strategy() override { abandon("a rank gave up in the middle of a step"); }

  std::string describe() const override {
    return text_of({"allreduce, resync ", how_.resync, how_.wire ? ", on the wire " : "",
                    how_.wire ? name_of(*how_.wire) : std::string_view(),
                    how_.overlap_next_forward ? ", into forward" : ""});
  }

  void begin(step_info const& now, replica const& mine) override {
    if (alone()) return;
    if (!std::exchange(started_, true)) {
      make_sums(mine.parameters);
      if (!restored_) broadcast_replica(*world_, mine, mine.arrays());
    } else if (how_.resync > 0 && now.step % how_.resync == 0) {
      resync(mine);
    }
  }

  void ready(step_info const& now, bucket const& one, gradient_parts& gradients) override {
    if (alone()) return;
    weighted_sum::share const mine{now.examples, now.weight};
    std::size_t sent = 0;
    if (leaves(now) && now.mine.not_finite && &one == &gradients.parameters().buckets().back())
      tell_not_finite(one, gradients);
    meter_.encode([&] { sent = fill(one, gradients); });
    meter_.start(sent, static_cast<std::size_t>(one.elements) * bytes_of(gradients.parameters().type()));
    under_way_ = true;
    if (votes_ && one.index == 0) votes_->start(*world_, mine, now.expected, now.mine);
    if (narrow_)
      narrow_->start(*world_, one, now.weight, now.expected);
    else
      sum_of(one).start(*world_, mine, now.expected, now.mine);
    world_->note({now.step, one.index});
  }

  bool before_update(step_info const& now, gradient_parts& gradients) override {
    agreed_ = {agreed_.meetings + 1, now.expected, static_cast<double>(now.expected), now.mine};
    if (alone()) {
      agreed_.examples = now.examples;
      agreed_.weight = now.weight;
      return proceeds();
    }
    if (votes_) {
      meter_.during_wait([&] { return votes_->wait(); });
      agreed_ = votes_->voted(agreed_.meetings);
    }
    if (narrow_) return take_narrow(now, gradients);
    expected_ = now.expected;
    if (!votes_ && !sums_.empty()) {
      meter_.during_wait([&] { return sums_[0].wait(); });
      agreed_ = sums_[0].voted(agreed_.meetings);
    }
    bool const resyncs = how_.resync > 0 && (now.step + 1) % how_.resync == 0;
    left_ = leaves(now) && proceeds() && !resyncs ? now.late : 0;
    take(gradients, static_cast<std::size_t>(left_), sums_.size());
    if (left_ == 0) end();
    return proceeds();
  }

  int pending_buckets() const override { return left_; }
  void finish_pending(gradient_parts& gradients) override {
    meter_.go_on();
    take(gradients, 0, static_cast<std::size_t>(left_));
    end();
  }

  void abandon(std::string_view why) noexcept override {
    if (std::exchange(under_way_, false)) world_->abort(std::string(why));
  }
  agreement const* agreed() const override { return &agreed_; }
  std::size_t bytes(replica const& mine) const override {
    if (alone()) return 0;
    parameter_set const& parameters = mine.parameters;
    element_type const type = parameters.type();
    if (narrows(parameters))
      return static_cast<std::size_t>(parameters.elements()) * (2 * bytes_of(type) + bytes_of(*how_.wire));
    std::size_t packed = 0;
    for (bucket const& one : parameters.buckets())
      if (!lies_close(parameters, one)) packed += static_cast<std::size_t>(one.elements);
    return packed * bytes_of(type);
  }
  std::vector<measurement> report() const override {
    return alone() ? std::vector<measurement>() : meter_.report();
  }
  exchange_times last_exchange() const override { return meter_.last(); }

  strategy_state state() const override {
    strategy_state all;
    if (narrow_) all.arrays.push_back({kept_name, narrow_->type(), narrow_->kept()});
    if (saved_.bytes() > 0) all.arrays.push_back({kept_name, saved_type_, {saved_.data(), saved_.bytes()}});
    return all;
  }
  void restore(strategy_state const& saved) override {
    restored_ = true;
    forget();
    for (strategy_state::array const& one : saved.arrays)
      if (one.name == kept_name) {
        saved_ = copy_of(one.values);
        saved_type_ = one.type;
      }
  }
  /// What all have rounded away is split evenly among those that go on.
  void restore_from_ranks(strategy_state const& had, int former, int) override {
    if (former == 0) forget();
    for (strategy_state::array const& one : had.arrays) {
      if (one.name != kept_name) continue;
      require_real(one);
      buffer const theirs = copy_of(one.values);
      if (saved_.bytes() != theirs.bytes()) saved_ = buffer(theirs.bytes());
      saved_type_ = one.type;
      weighted_sum::add(one.type, saved_.data(), theirs.data(), one.values.size() / bytes_of(one.type),
                        1.0 / world_->size());
    }
  }

 private:
  static constexpr char const* kept_name = "rounded_away";

  /// What was of a run before.
  void forget() {
    started_ = false;
    sums_.clear();
    votes_.reset();
    narrow_.reset();
    saved_ = {};
  }

  bool alone() const { return world_->size() == 1; }
  bool proceeds() const { return agreed_.weight > 0 && !agreed_.all.not_finite; }

  bool leaves(step_info const& now) const { return how_.overlap_next_forward && alike_ && now.late > 0; }
  /// What is not finite behind the votes: all hear of it by a bucket that is not late, whose first element is no number then.
  static void tell_not_finite(bucket const& last, gradient_parts& gradients) {
    parameter_set const& parameters = gradients.parameters();
    parameters.passes().fill(gradients.first(), parameters.range_of(last).offset, 1,
                             std::numeric_limits<double>::quiet_NaN());
  }

  bool narrows(parameter_set const& parameters) const {
    return how_.wire && bytes_of(*how_.wire) < bytes_of(parameters.type()) && !parameters.buckets().empty();
  }
  /// Whether it is summed as it lies, if it lies alike on all ranks: on a device that these reach; on processors with so little
  /// padding that it costs less than packing.
  bool lies_close(parameter_set const& parameters, bucket const& one) const {
    std::shared_ptr<memory_space> const there = parameters.passes().space();
    if (there) return world_->sums_in(*there);
    return lie_close(static_cast<std::size_t>(one.elements), parameters.range_of(one).room);
  }

  void make_sums(parameter_set const& parameters) {
    element_type const type = parameters.type();
    if (narrows(parameters)) {
      votes_.emplace(type, 0, true);  // a wire of few bits does not count
      narrow_.emplace(parameters, *how_.wire);
      narrow_->restore({saved_.data(), saved_.bytes()}, saved_type_);
    } else {
      alike_ = same_everywhere(*world_, parameters.layout_hash());
      for (bucket const& one : parameters.buckets()) {
        if (alike_ && lies_close(parameters, one))
          sums_.emplace_back(parameters.passes(), type, parameters.range_of(one).room);
        else
          sums_.emplace_back(type, static_cast<std::size_t>(one.elements),
                             one.index == 0 && !how_.overlap_next_forward);
      }
      if (!sums_.empty() && (sums_[0].borrows() || how_.overlap_next_forward)) votes_.emplace(type, 0, true);
    }
    saved_ = {};
  }
  weighted_sum& sum_of(bucket const& one) { return sums_[static_cast<std::size_t>(one.index)]; }

  /// Puts this rank's gradient where it is summed; returns the bytes that leave.
  std::size_t fill(bucket const& one, gradient_parts& gradients) {
    if (narrow_) {
      gradients.pack(one, narrow_->data(one));
      return static_cast<std::size_t>(one.elements) * bytes_of(*how_.wire);
    }
    weighted_sum& sum = sum_of(one);
    if (sum.borrows()) {
      gradients.sum(one);
      parameter_set const& parameters = gradients.parameters();
      sum.point(gradients.first() + parameters.range_of(one).offset * bytes_of(parameters.type()));
    } else {
      gradients.pack(one, sum.data());
    }
    return sum.bytes();
  }

  /// Waits for some buckets' sums and puts their means back.
  void take(gradient_parts& gradients, std::size_t first, std::size_t last) {
    for (bucket const& one : gradients.parameters().buckets().subspan(first, last - first)) {
      weighted_sum& sum = sum_of(one);
      meter_.during_wait([&] { return sum.wait(); });
      if (agreed_.weight == 0) continue;
      meter_.apply([&] {
        sum.settle(agreed_.weight, expected_);
        if (!sum.borrows()) gradients.unpack(one, sum.data());
      });
    }
  }
  void end() {
    meter_.finish();
    left_ = 0;
    under_way_ = false;
  }

  /// Where a step is not taken, what was rounded away in it is not kept either.
  bool take_narrow(step_info const& now, gradient_parts& gradients) {
    meter_.during_wait([&] { return narrow_->wait(); });
    meter_.finish();
    under_way_ = false;
    if (agreed_.weight == 0) return proceeds();
    meter_.apply([&] {
      if (narrow_->finite() && proceeds()) narrow_->keep();
      for (bucket const& one : gradients.parameters().buckets())
        gradients.unpack(one, narrow_->mean(one, agreed_.weight, now.expected));
    });
    return proceeds();
  }

  void resync(replica const& mine) {
    buffer const dense(mine.bytes());
    mine.read(0, dense.data());
    std::uint64_t const hash = fnv1a({dense.as<char const>(), dense.bytes()});
    if (!same_everywhere(*world_, hash)) broadcast_replica(*world_, mine, 1);
  }

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

inline std::unique_ptr<strategy> allreduce::on(communicator& world) const {
  if (resync < 0)
    throw setting_error({.what = "the period makes no sense",
                         .where = "allreduce, resync",
                         .expected = "0 (never) or a number of steps",
                         .got = {resync}});
  if (wire && *wire != element_type::f32 && *wire != element_type::bf16)
    throw setting_error({.what = "gradients do not travel as this type",
                         .where = "allreduce, wire",
                         .expected = "f32 or bf16",
                         .got = {name_of(*wire)}});
  if (overlap_next_forward && wire == element_type::bf16)
    throw setting_error({.what = "sums of few bits end before the update",
                         .where = "allreduce, overlap_next_forward",
                         .expected = "no wire, or f32",
                         .got = "bf16"});
  return std::make_unique<detail::allreduce_strategy>(world.duplicate(), *this);
}

}  // namespace cohort
