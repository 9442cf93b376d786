// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/random/hash.hpp>
#include <cohort/strategy/exchange_meter.hpp>
#include <cohort/strategy/narrow_sum.hpp>
#include <cohort/strategy/weighted_sum.hpp>
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
/// Shapes    buckets of the canonical flat view, from the last layer to the first.
/// Units     every `resync` steps (0: never) ranks compare a checksum of their parameters; where these differ, as between
///           ranks of different backends, rank 0's go to all.
///           `wire`: the type in which gradients travel and are summed, bf16 or f32; none, or a wider one: their own. What a
///           rank rounds away it adds to its next gradient. Parameters and votes travel as they are.
/// Order     a bucket leaves while backward still runs below it.
/// Before    rank r has the gradient g_r of the mean over its examples, which weigh m_r (1 each, where they have no weights).
/// After     all have Σ m_r·g_r / Σ m_r; with `wire` Σ round(m_r·g_r / Σ m + e_r), e_r being what r has rounded
///           away so far.
/// Moves     an allreduce of each bucket a step, n elements together, the first one with 5 words more (with `wire` they have an
///           allreduce of their own); once in the beginning n more at most ⌈log2 P⌉ times; an allreduce of 16 bytes at a
///           resync. A single rank moves, packs and waits for nothing.
/// Errors    communicator_error on all ranks if one is lost.
/// Exact     ranks of one backend hold the same bits after each step; P ranks with batch B give the parameters of one with
///           batch P·B, to rounding, for networks without batch statistics. With one rank no bit differs from no strategy.
///           With `wire` ranks hold the same bits as each other, and what is rounded away before a sum is conserved; the sums
///           are rounded too, once a rank.
/// Source    CaffeOnSpark over MPI; buckets during backward: Li et al., PyTorch Distributed, VLDB 2020; error
///           feedback: Seide et al., Interspeech 2014, Karimireddy et al., ICML 2019.
struct allreduce {
  int resync = 100;
  std::optional<element_type> wire{};

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

  std::string describe() const override {
    return text_of({"allreduce, resync ", how_.resync, how_.wire ? ", on the wire " : "",
                    how_.wire ? name_of(*how_.wire) : std::string_view()});
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
    weighted_sum& sum = sums_[narrow_ ? 0 : static_cast<std::size_t>(one.index)];
    auto const elements = static_cast<std::size_t>(one.elements);
    element_type const type = gradients.parameters().type();
    meter_.encode([&] { gradients.pack(one, narrow_ ? narrow_->data(one) : sum.data()); });
    meter_.start(elements * bytes_of(narrow_ ? *how_.wire : type), elements * bytes_of(type));
    under_way_ = true;
    if (!narrow_ || one.index == 0) sum.start(*world_, {now.examples, now.weight}, now.expected, now.mine);
    if (narrow_) narrow_->start(*world_, one, now.weight, now.expected);
    world_->note({now.step, one.index});
  }

  bool before_update(step_info const& now, gradient_parts& gradients) override {
    agreed_ = {agreed_.meetings + 1, now.expected, static_cast<double>(now.expected), now.mine};
    if (alone()) {
      agreed_.examples = now.examples;
      agreed_.weight = now.weight;
      return proceeds();
    }
    if (narrow_) return take_narrow(now, gradients);
    for (bucket const& one : gradients.parameters().buckets()) {
      weighted_sum& sum = sums_[static_cast<std::size_t>(one.index)];
      meter_.during_wait([&] { return sum.wait(); });
      if (one.index == 0) agreed_ = sum.voted(agreed_.meetings);
      if (agreed_.weight == 0) continue;
      meter_.apply([&] {
        sum.settle(agreed_.weight, now.expected);
        gradients.unpack(one, sum.data());
      });
    }
    meter_.finish();
    under_way_ = false;
    return proceeds();
  }

  void abandon(std::string_view why) noexcept override {
    if (std::exchange(under_way_, false)) world_->abort(std::string(why));
  }
  agreement const* agreed() const override { return &agreed_; }
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
    started_ = false;
    sums_.clear();
    narrow_.reset();
    for (strategy_state::array const& one : saved.arrays)
      if (one.name == kept_name) {
        saved_ = copy_of(one.values);
        saved_type_ = one.type;
      }
  }
  /// What all have rounded away is split evenly among those that go on.
  void inherit(strategy_state const& had, int former, int) override {
    if (former == 0) saved_ = {};
    for (strategy_state::array const& one : had.arrays) {
      if (one.name != kept_name) continue;
      buffer const theirs = copy_of(one.values);
      if (saved_.bytes() != theirs.bytes()) saved_ = buffer(theirs.bytes());
      saved_type_ = one.type;
      weighted_sum::add(one.type, saved_.data(), theirs.data(), one.values.size() / bytes_of(one.type),
                        1.0 / world_->size());
    }
  }

 private:
  static constexpr char const* kept_name = "rounded_away";

  bool alone() const { return world_->size() == 1; }
  bool proceeds() const { return agreed_.examples > 0 && !agreed_.all.not_finite; }

  void make_sums(parameter_set const& parameters) {
    element_type const type = parameters.type();
    if (how_.wire && bytes_of(*how_.wire) < bytes_of(type) && !parameters.buckets().empty()) {
      sums_.emplace_back(type, 0, true);  // votes alone: a wire of few bits does not count
      narrow_.emplace(parameters, *how_.wire);
      narrow_->restore({saved_.data(), saved_.bytes()}, saved_type_);
    } else {
      for (bucket const& one : parameters.buckets())
        sums_.emplace_back(type, static_cast<std::size_t>(one.elements), sums_.empty());
    }
    saved_ = {};
  }

  /// Where a step is not taken, what was rounded away in it is not kept either.
  bool take_narrow(step_info const& now, gradient_parts& gradients) {
    meter_.during_wait([&] { return std::max(sums_[0].wait(), narrow_->wait()); });
    meter_.finish();
    under_way_ = false;
    agreed_ = sums_[0].voted(agreed_.meetings);
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
  std::vector<weighted_sum> sums_;  // of each bucket, the first with votes
  std::optional<narrow_sum> narrow_;
  buffer saved_;
  element_type saved_type_ = element_type::f32;
  agreement agreed_;
  exchange_meter meter_;
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
  return std::make_unique<detail::allreduce_strategy>(world.duplicate(), *this);
}

}  // namespace cohort
