// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cohort/codec/compressor.hpp>
#include <cohort/codec/message.hpp>
#include <cohort/codec/threshold_device.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/strategy/detail/dense_exchange.hpp>
#include <cohort/strategy/detail/exchange_meter.hpp>
#include <cohort/strategy/detail/f32_buffer.hpp>
#include <cohort/strategy/detail/message_totals.hpp>
#include <cohort/strategy/detail/message_votes.hpp>
#include <cohort/strategy/process_group.hpp>
#include <cohort/strategy/sharing_route.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace cohort::detail {

/// What the decoded messages s_r of all ranks come to: Σ m_r·s_r / Σ m_r, where examples weigh m_r; Σ s_r; or Σ s_r / P.
enum class combined { weighted_mean, sum, mean };

/// Takes one array of each rank to all of them, a step at a time, as messages of a compressor.
///
/// Shapes    all arrays: codec.table().elements() of f32, where the codec works.
/// Order     collective: fill mine(), start, finish, look at all(). Up to `staleness` more may be started before the first is
///           finished: as many, no more, so that no queue grows.
/// Before    all ranks have the same codec, route and combination. Merged: a staleness of 0.
///           The ranks of a group write one message, of their mean or sum, whose residual the leader has.
/// After     finish: agreed what all have voted in the oldest exchange; all() what its messages have brought, in rank order,
///           unless a rank's numbers were not finite or out of range. Then its residual is untouched, and what others had sent
///           is in a residual again: it comes later.
/// Moves     to all: an allgatherv of the messages. Merged: message_tree's. One rank moves nothing, but its message is written and
///           read.
/// Exact     the same bits on every rank. Merged, a weighted mean weighs what goes into the residual (m_r / its expected mean)
///           instead of what comes out: merged messages only add up.
template <compressor C>
class message_exchange {
 public:
  message_exchange(process_group ranks, C codec, route way, combined how, std::uint64_t run,
                   int staleness = 0)
      : group_(std::move(ranks)),
        codec_(std::move(codec)),
        how_(how),
        run_(run),
        merges_(
            group_.groups() > 1 && staleness == 0
            && (way == route::merged
                || (way == route::by_size && merges_by_size(group_.groups(), codec_.table().elements())))),
        mine_(codec_.table().elements(), device_passes()),
        residual_(mine_.size(), device_passes()),
        all_(mine_.size(), device_passes()),
        slots_(static_cast<std::size_t>(staleness) + 1) {}
  message_exchange(communicator& world, C codec, route way, combined how, std::uint64_t run,
                   int staleness = 0)
      : message_exchange(process_group(world), std::move(codec), way, how, run, staleness) {}

  f32_buffer& mine() { return mine_; }
  f32_buffer& all() { return all_; }
  /// Who works on these arrays, and where they lie; null: the processor.
  threshold_device* device_passes() const {
    if constexpr (requires { codec_.device_passes(); })
      return codec_.device_passes();
    else
      return nullptr;
  }
  /// This, and the compressor's state, in the processor's memory: empty for who does not lead.
  std::span<float const> residual() const {
    if (!group_.leads()) return {};
    if (!device_passes()) return residual_.span();
    fetched_.resize(residual_.size());
    residual_.fetch(fetched_);
    return fetched_;
  }
  std::span<double const> state() const {
    return group_.leads() ? std::span<double const>(codec_.state()) : std::span<double const>();
  }

  /// Errors    data_error for arrays of other sizes.
  void restore(std::span<float const> residual, std::span<double const> state) {
    if (residual.size() != residual_.size())
      throw data_error({.what = "cannot restore a residual",
                        .expected = {residual_.size(), " elements"},
                        .got = {residual.size()}});
    codec_.restore(state);
    residual_.bring(residual);
  }

  /// How many ranks' mean or sum the residual is about.
  int speaks_for() const { return group_.size(); }
  /// How many were started and not finished.
  int waiting() const { return static_cast<int>(begun_ - ended_); }
  /// Own messages of those, the oldest first.
  std::span<std::byte const> message_waiting(int k) const {
    return slots_[static_cast<std::size_t>(ended_ + k) % slots_.size()].own;
  }

  void start(step_info now) {
    leave_out_told(now.mine);
    auto const beginning = clock::now();
    now.mine.not_finite |= !mine_.is_within_range();
    step_info const own = now;  // of this rank, whose wishes are told once: leave_out_told
    in_group(mine_, [&](std::span<float> x) { group_.sum(x, now, how_ != combined::weighted_mean); });
    dense_.end();
    if (!group_.leads()) return send({}, own, {.transfer = {clock::now()}});
    std::span<std::byte const> message = encode(now);
    auto const encoded = clock::now();
    if (merges_) message = tree_.merge(group_.leaders(), codec_, message, messages_of(now), residual_.span());
    send(message, own, {.encode = {beginning, encoded}, .transfer = {encoded, clock::now()}});
  }

  /// What a checkpoint had: of `waiting` each rank's own, the oldest first, of `spoke_for` ranks, as its residual is.
  ///
  /// After     messages are on their way again, or, where others led then, in the residual. What residuals bring is what they would
  ///           have brought, if ranks have as many examples as each other.
  /// Errors    data_error for a message that is not this run's.
  void resume(std::span<std::vector<std::byte> const> waiting, int spoke_for) {
    int const count = agreed_waiting(static_cast<int>(waiting.size()));
    for (int k = 0; k < count; ++k)
      start_again(group_.leads() ? std::span<std::byte const>(waiting[static_cast<std::size_t>(k)])
                                 : std::span<std::byte const>());
    if (count < 0)
      for (std::vector<std::byte> const& one : waiting) take_back(one, group_.world().size(), 1);
    float const weight = static_cast<float>(spoke_for) / static_cast<float>(group_.size());
    if (how_ == combined::weighted_mean && weight != 1) residual_.scale(weight);
    in_group(residual_, [&](std::span<float> x) { group_.sum_at_leader(x); });
  }

  /// Puts a share of what a message would have brought into the residual.
  void take_back(std::span<std::byte const> message, int ranks, float share) {
    expected_messages const any{
        .run = run_, .last_step = ~std::uint64_t{0}, .ranks = static_cast<std::uint32_t>(ranks)};
    codec_.decode_add(codec_.parse(message, any), share, residual_.span());
  }

  /// With `take` false nothing is brought: what this rank has sent is in its residual again.  Before: not merged.
  void finish(agreement& agreed, bool take = true) {
    auto const waits_since = clock::now();
    slot& oldest = slots_[static_cast<std::size_t>(ended_) % slots_.size()];
    exchange_times& times = oldest.times;
    times.transfer.end = std::max({times.transfer.begin, times.transfer.end, oldest.under_way.wait()});
    ++ended_;
    times.apply.begin = clock::now();
    agreed = {.meetings = agreed.meetings + 1};
    if (group_.leads()) {
      read(oldest, agreed);
      if (agreed.all.not_finite || !take) {
        if (!merges_) codec_.decode_add(views_[own_place()], 1, residual_.span());
      } else {
        all_.clear();
        for (message_view const& one : views_)
          codec_.decode_add(one, scale(one.header, agreed, oldest.then), all_.span());
      }
    }
    in_group(all_, [&](std::span<float> x) { group_.tell(agreed, x); });
    times.apply.end = clock::now();
    if (!group_.leads())
      times.transfer.end = times.apply.begin = times.apply.end;  // it has waited for its leader
    auto const waited = merges_          ? times.transfer.end - times.transfer.begin
                        : group_.leads() ? times.apply.begin - waits_since
                                         : times.apply.end - waits_since;
    meter_.add(times, merges_ ? clock::duration() : waits_since - times.transfer.begin, waited);
  }

  /// Waits for what is under way without looking at it.
  void wait() {
    for (slot& one : slots_) one.under_way.wait();
  }

  /// The same without a message: all() is the sum of all ranks', to rounding, and the residual stays.
  ///
  /// Moves     an allreduce.
  void exchange_densely(step_info const& now, agreement& agreed) {
    auto const beginning = clock::now();
    mine_.on_processor([&](std::span<float> x) { dense_.run(group_.world(), now, x, agreed); });
    all_.copy(mine_);
    if (how_ == combined::mean) all_.scale(static_cast<float>(1.0 / group_.world().size()));
    auto const end = clock::now();
    count_dense();
    meter_.add({.transfer = {beginning, end}}, {}, end - beginning);
  }
  /// A step whose elements went themselves.
  void count_dense() {
    if (group_.world().size() > 1) totals_.add_dense(mine_.size());
  }

  /// The times of exchanges that were others' to make.
  void add_times(std::vector<measurement> const& others) { meter_.add_times(others); }

  /// Of this rank's messages, by message_totals and exchange_meter; `beside`: as add_times, for now.
  std::vector<measurement> report(std::vector<measurement> const& beside = {}) const {
    std::vector<measurement> all = totals_.report();
    all.push_back({"staleness", static_cast<double>(slots_.size() - 1)});
    all.push_back({"residual_norm", std::sqrt(residual_.square_sum())});
    exchange_meter times = meter_;
    times.add_times(beside);
    times.tell_times(all);
    return all;
  }
  exchange_times const& last() const { return meter_.last(); }

 private:
  using clock = std::chrono::steady_clock;

  struct slot {
    std::vector<std::byte> own{};  // all ranks', where they are merged
    gathered all{};
    request under_way{};
    step_info then{};
    exchange_times times{};
    bool of_ended_run = false;  // whose wishes were that run's
  };

  /// What the ranks of a group do together, with an array in the processor's memory.
  template <class Together>
  void in_group(f32_buffer& x, Together together) {
    if (group_.adds_up()) x.on_processor(together);
  }

  std::span<std::byte const> encode(step_info const& now) {
    bool const of_others = group_.adds_up() && mine_.is_within_range();
    votes wanted = now.mine;
    wanted.not_finite |= group_.adds_up() && !of_others;
    message_stamp const stamp{.run = run_,
                              .step = static_cast<std::uint64_t>(now.step),
                              .rank = static_cast<std::uint32_t>(group_.leaders().rank()),
                              .flags = flags_of(wanted),
                              .examples = static_cast<std::uint64_t>(now.examples),
                              .weight = now.weight};
    if (double const weight = now.weight * group_.groups() / static_cast<double>(now.expected);
        weighs_before() && weight != 1)
      mine_.scale(static_cast<float>(weight));
    if (wanted.not_finite) {
      if (of_others) residual_.add(mine_);  // of the group: it comes later
      return codec_.not_finite(stamp);
    }
    if (now.weight == 0) return codec_.nothing(stamp);
    std::span<std::byte const> const message = codec_.encode(stamp, residual_.span(), mine_.span());
    totals_.add(codec_.report());
    return message;
  }

  bool weighs_before() const { return merges_ && how_ == combined::weighted_mean; }

  float scale(message_header const& from, agreement const& agreed, step_info const& now) const {
    if (how_ == combined::sum) return 1;
    if (how_ == combined::mean) return static_cast<float>(1.0 / group_.world().size());
    if (from.weight == 0) return 0;
    double const share = merges_ ? static_cast<double>(now.expected) / group_.groups() : from.weight;
    return static_cast<float>(share / agreed.weight);
  }

  expected_messages messages_of(step_info const& then) const {
    auto const step = static_cast<std::uint64_t>(then.step);
    return {run_, step, step, static_cast<std::uint32_t>(group_.groups())};
  }

  /// A vote that waits to be heard is not given again: it would be heard twice.
  void leave_out_told(votes& mine) const {
    for (std::int64_t k = ended_; k < begun_; ++k) {
      votes const& told = slots_[static_cast<std::size_t>(k) % slots_.size()].then.mine;
      mine.stop &= !told.stop;
      mine.save &= !told.save;
    }
  }

  void send(std::span<std::byte const> own, step_info const& then, exchange_times const& times) {
    slot& next = slots_[static_cast<std::size_t>(begun_) % slots_.size()];
    ++begun_;
    next.own.assign(own.begin(), own.end());
    next.then = then;
    next.times = times;
    next.of_ended_run = false;
    if (!together() && group_.leads()) next.under_way = group_.leaders().start_allgatherv(next.own, next.all);
  }

  /// Whether one message brings what all have sent.
  bool together() const { return merges_ || group_.groups() == 1; }
  std::size_t own_place() const { return together() ? 0 : static_cast<std::size_t>(group_.leaders().rank()); }

  void read(slot const& from, agreement& agreed) {
    views_.clear();
    for (int r = 0; r < (together() ? 1 : group_.groups()); ++r) {
      views_.push_back(codec_.parse(together() ? std::span<std::byte const>(from.own) : from.all.of(r),
                                    messages_of(from.then)));
      add_said(views_.back().header, agreed);
    }
    if (from.of_ended_run) agreed.all.stop = agreed.all.save = false;
  }

  /// How many messages all who lead have waiting; −1 where they do not agree, or others have some too.
  int agreed_waiting(int count) {
    bool const leads = group_.leads();
    double words[]{leads ? 1.0 * count : 0, leads ? -1.0 * count : -1e9, leads ? 0 : 1.0 * count};
    group_.world().allreduce(std::span<double>(words), reduction::maximum);
    return words[0] == -words[1] && words[2] == 0 ? static_cast<int>(words[0]) : -1;
  }

  void start_again(std::span<std::byte const> own) {
    message_header header;
    if (own.size() >= sizeof header) std::memcpy(static_cast<void*>(&header), own.data(), sizeof header);
    step_info const then{.step = static_cast<std::int64_t>(header.step)};
    if (group_.leads()) codec_.parse(own, messages_of(then));
    send(own, then, {.transfer = {clock::now()}});
    slots_[static_cast<std::size_t>(begun_ - 1) % slots_.size()].of_ended_run = true;
  }

  process_group group_;
  C codec_;
  combined how_;
  std::uint64_t run_;
  bool merges_;
  f32_buffer mine_;
  f32_buffer residual_;
  f32_buffer all_;
  mutable std::vector<float> fetched_;  // of the residual
  std::vector<slot> slots_;
  std::int64_t begun_ = 0, ended_ = 0;
  std::vector<message_view> views_;
  message_tree<C> tree_;
  dense_exchange dense_;

  message_totals totals_;
  exchange_meter meter_;
};

}  // namespace cohort::detail
