// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <cohort/random/hash.hpp>
#include <cohort/strategy/weighted_sum.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

/// Every step is taken with the mean of all ranks' gradients.
///
/// Shapes    buckets of the canonical flat view, from the last layer to the first.
/// Units     every `resync` steps (0: never) ranks compare a checksum of their parameters; where these differ, as between
///           ranks of different backends, rank 0's go to all.
/// Order     a bucket leaves while backward still runs below it.
/// Before    rank r has the gradient g_r of the mean over its examples, which weigh m_r (1 each, where they have no weights).
/// After     all have Σ m_r·g_r / Σ m_r.
/// Moves     an allreduce of each bucket a step, n elements together, and of 5 words with the first one; once in the beginning n
///           more at most ⌈log2 P⌉ times; an allreduce of 16 bytes at a resync. A single rank moves, packs and waits for
///           nothing.
/// Errors    communicator_error on all ranks if one is lost.
/// Exact     ranks of one backend hold the same bits after each step; P ranks with batch B give the parameters of one with
///           batch P·B, to rounding, for networks without batch statistics. With one rank no bit differs from no strategy.
/// Source    CaffeOnSpark over MPI; buckets during backward: Li et al., PyTorch Distributed, VLDB 2020.
struct allreduce {
  int resync = 100;

  std::unique_ptr<strategy> on(communicator& world) const;
};

namespace detail {

/// Whether all ranks give the same number.
inline bool same_everywhere(communicator& world, std::uint64_t number) {
  std::uint64_t both[2]{number, ~number};  // the largest, and the smallest
  world.allreduce(std::span<std::uint64_t>(both), reduction::maximum);
  return both[0] == ~both[1];
}

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

  std::string describe() const override { return text_of({"allreduce, resync ", how_.resync}); }

  void begin(step_info const& now, replica const& mine) override {
    if (alone()) return;
    if (!std::exchange(started_, true)) {
      for (bucket const& one : mine.parameters.buckets())
        sums_.emplace_back(mine.parameters.type(), static_cast<std::size_t>(one.elements), sums_.empty());
      if (!restored_) broadcast_replica(*world_, mine, mine.arrays());
    } else if (how_.resync > 0 && now.step % how_.resync == 0) {
      resync(mine);
    }
  }

  void ready(step_info const& now, bucket const& one, gradient_parts& gradients) override {
    if (alone()) return;
    weighted_sum& sum = sums_[static_cast<std::size_t>(one.index)];
    gradients.pack(one, sum.data());
    under_way_ = true;
    sum.start(*world_, {now.examples, now.weight}, now.expected, now.mine);
    world_->note({now.step, one.index});
  }

  bool before_update(step_info const& now, gradient_parts& gradients) override {
    agreed_ = {agreed_.meetings + 1, now.expected, static_cast<double>(now.expected), now.mine};
    if (alone()) {
      agreed_.examples = now.examples;
      agreed_.weight = now.weight;
      return proceeds();
    }
    for (bucket const& one : gradients.parameters().buckets()) {
      weighted_sum& sum = sums_[static_cast<std::size_t>(one.index)];
      sum.wait();
      if (one.index == 0) agreed_ = sum.voted(agreed_.meetings);
      if (agreed_.weight == 0) continue;
      sum.settle(agreed_.weight, now.expected);
      gradients.unpack(one, sum.data());
    }
    under_way_ = false;
    return proceeds();
  }

  void abandon(std::string_view why) noexcept override {
    if (std::exchange(under_way_, false)) world_->abort(std::string(why));
  }
  agreement const* agreed() const override { return &agreed_; }

  void restore(strategy_state const&) override { restored_ = true; }

 private:
  bool alone() const { return world_->size() == 1; }
  bool proceeds() const { return agreed_.examples > 0 && !agreed_.all.not_finite; }

  void resync(replica const& mine) {
    buffer const dense(mine.bytes());
    mine.read(0, dense.data());
    std::uint64_t const hash = fnv1a({dense.as<char const>(), dense.bytes()});
    if (!same_everywhere(*world_, hash)) broadcast_replica(*world_, mine, 1);
  }

  std::unique_ptr<communicator> world_;
  allreduce how_;
  std::vector<weighted_sum> sums_;
  agreement agreed_;
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
  return std::make_unique<detail::allreduce_strategy>(world.duplicate(), *this);
}

}  // namespace cohort
