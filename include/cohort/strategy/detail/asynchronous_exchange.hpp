// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cohort/codec/compressor.hpp>
#include <cohort/codec/message.hpp>
#include <cohort/codec/residual_simd.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/strategy/detail/dense_exchange.hpp>
#include <cohort/strategy/detail/exchange_meter.hpp>
#include <cohort/strategy/detail/message_ages.hpp>
#include <cohort/strategy/detail/message_totals.hpp>
#include <cohort/strategy/detail/message_votes.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cohort::detail {

/// How many steps a rank may be ahead of another before it waits for it.
inline constexpr int longest_lead = 32;

/// Sends an array of each step of this rank to all others as a message of a compressor, and takes theirs as they come.
///
///     all() += s_own + Σ share·s / τ     over what has come; τ = 1, or how many steps old it is
///
/// Shapes    all arrays: codec.table().elements() of f32.
/// Units     `share` is what a message weighs; `slower_if_stale`: by its age too, at least 1.
/// Order     fill mine(), step, use all() and clear() it, again and again; settle at the end of so many steps, the same on every
///           rank. Only hear_all and settle bring ranks together.
/// Before    all ranks have the same codec and settings, and begin together.
/// After     step i: `agreed` says what all have said of step i − longest_lead, which has come from everybody: so that nobody
///           is further ahead, and what is under way has an end. One rank hears itself at once. A rank whose numbers are not
///           finite or out of range says so, keeps its residual, and takes what others have sent.
/// Moves     its message P−1 times. At most 2·(longest_lead + 1) are kept.
/// Errors    communicator_error naming the rank whose message has not come within the deadline; data_error for a message that is
///           not the one expected.
/// Exact     every message once, of each sender in order: over a run Σ x = Σ s + r for each rank. The order of senders is
///           that of time.
/// Source    the bound on the lead: Ho et al., More effective distributed ML via a stale synchronous parallel parameter server,
///           NIPS 2013. 1/τ: Zhang et al., Staleness-aware async-SGD, IJCAI 2016.
template <compressor C>
class asynchronous_exchange {
 public:
  asynchronous_exchange(communicator& world, C codec, std::uint64_t run, double share = 1,
                        bool slower_if_stale = false)
      : world_(world),
        codec_(std::move(codec)),
        run_(run),
        share_(share),
        slower_if_stale_(slower_if_stale),
        lead_(world.size() > 1 ? longest_lead : 0),
        mine_(codec_.table().elements()),
        residual_(mine_.size()),
        all_(mine_.size()),
        heard_(static_cast<std::size_t>(world.size())),
        said_(static_cast<std::size_t>(2 * (lead_ + 1))),
        slots_(static_cast<std::size_t>(2 * (lead_ + 1))),
        times_(slots_.size()) {
    for (slot& one : slots_) one.under_way.reserve(static_cast<std::size_t>(world.size()));
  }

  std::span<float> mine() { return mine_; }
  std::span<float> all() { return all_; }
  std::span<float const> residual() const { return residual_; }
  std::span<double const> state() const { return codec_.state(); }
  void clear() { std::fill(all_.begin(), all_.end(), 0.0F); }

  /// Errors    data_error for arrays of other sizes.
  void restore(std::span<float const> residual, std::span<double const> state,
               std::span<float const> not_taken) {
    for (std::span<float const> const one : {residual, not_taken})
      if (!one.empty() && one.size() != residual_.size())
        throw data_error({.what = "cannot restore a residual",
                          .expected = {residual_.size(), " elements"},
                          .got = {one.size()}});
    codec_.restore(state);
    std::copy(residual.begin(), residual.end(), residual_.begin());
    std::copy(not_taken.begin(), not_taken.end(), all_.begin());
  }

  /// Steps since ranks have settled: something may be under way.
  std::int64_t steps() const { return steps_; }
  message_ages const& ages() const { return ages_; }

  void step(step_info now, agreement& agreed) {
    dense_.end();
    send(now);
    for (int r = 0; r < world_.size(); ++r)
      if (r != world_.rank())
        while (std::optional<arrival> const one = world_.probe(r, tag)) receive(r, one->bytes);
    std::int64_t const due = steps_ - lead_;
    hear(due);
    if (due <= 0) return;
    agreement const heard = std::exchange(said(due - 1), {});
    agreed = {agreed.meetings + 1, heard.examples, heard.weight, heard.all};
  }

  /// Without messages: mine() becomes the sum of all ranks', to rounding, and the residual stays.
  ///
  /// Order     collective, before the first step.
  void sum_densely(step_info const& now, agreement& agreed) {
    auto const beginning = clock::now();
    dense_.run(world_, now, mine_, agreed);
    auto const end = clock::now();
    if (world_.size() > 1) totals_.add_dense(mine_.size());
    meter_.add({.transfer = {beginning, end}}, {}, end - beginning);
  }

  /// Waits for all that was sent in as many steps as this rank has made.
  void hear_all() { hear(steps_); }

  /// The same, and begins anew. Returns what all have said of steps about which `step` has not yet: the same on every rank.
  agreement settle() {
    hear_all();
    if (steps_ > 0) world_.barrier();  // a rank may still be taking what comes: nothing new before it is here
    agreement rest;
    for (std::int64_t k = std::max<std::int64_t>(0, steps_ - lead_); k < steps_; ++k) {
      rest.examples += said(k).examples;
      rest.weight += said(k).weight;
      rest.all |= said(k).all;
    }
    std::fill(said_.begin(), said_.end(), agreement{});
    std::fill(heard_.begin(), heard_.end(), 0);
    steps_ = complete_ = 0;
    stop_is_said_until_ = save_is_said_until_ = -1;
    return rest;
  }
  /// Ends what is under way, and is not used any more: who ends because it has failed does not wait until others settle.
  void end() {
    hear_all();
    for (slot& one : slots_) one.wait();
  }

  std::vector<measurement> report() const {
    std::vector<measurement> all = totals_.report();
    all.push_back({"residual_norm", std::sqrt(residual_square_sum(best_isa(), residual_))});
    meter_.tell_times(all);
    ages_.tell(all);
    return all;
  }
  /// Of the last step whose messages have all come.
  exchange_times const& last() const { return meter_.last(); }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr int tag = 0;

  struct slot {
    std::vector<std::byte> bytes{};
    std::vector<request> under_way{};
    void wait() {
      for (request& one : under_way) one.wait();
      under_way.clear();
    }
  };

  /// Its own is taken at once.
  void send(step_info& now) {
    if (steps_ == 0) first_ = now.step;
    say_once(now.mine.stop, stop_is_said_until_);
    say_once(now.mine.save, save_is_said_until_);
    auto const beginning = clock::now();
    std::span<std::byte const> const own = encode(now);
    auto const encoded = clock::now();
    slot& next = slots_[next_slot_++ % slots_.size()];
    next.wait();  // it has been taken: its takers have said so by messages that have come since
    waited_ += clock::now() - encoded;
    next.bytes.assign(own.begin(), own.end());
    for (int r = 0; r < world_.size(); ++r)
      if (r != world_.rank()) next.under_way.push_back(world_.start_send(next.bytes, r, tag));
    times_of(steps_) = {.encode = {beginning, encoded}, .transfer = {encoded, {}}};
    std::int64_t const its = steps_++;
    meter_.apply([&] { take(next.bytes, its, share_); });
    note_complete();
  }

  /// The steps whose messages have all come, now.
  void note_complete() {
    for (; complete_ < steps_; ++complete_) {
      for (int r = 0; r < world_.size(); ++r)
        if (r != world_.rank() && heard_[static_cast<std::size_t>(r)] <= complete_) return;
      exchange_times& its = times_of(complete_);
      its.transfer.end = clock::now();
      auto const waited = std::exchange(waited_, {});
      meter_.add(its, std::max(clock::duration(), its.transfer.end - its.transfer.begin - waited), waited);
    }
  }
  exchange_times& times_of(std::int64_t step) {
    return times_[static_cast<std::size_t>(step) % times_.size()];
  }

  std::span<std::byte const> encode(step_info& now) {
    now.mine.not_finite |= !within_range(best_isa(), mine_);
    message_stamp const stamp{.run = run_,
                              .step = static_cast<std::uint64_t>(first_ + steps_),
                              .rank = static_cast<std::uint32_t>(world_.rank()),
                              .flags = flags_of(now.mine),
                              .examples = static_cast<std::uint64_t>(now.examples),
                              .weight = now.weight};
    if (now.mine.not_finite) return codec_.not_finite(stamp);
    if (now.weight == 0) return codec_.nothing(stamp);
    std::span<std::byte const> const message = codec_.encode(stamp, residual_, mine_);
    totals_.add(codec_.report());
    return message;
  }

  /// A wish is told until it is granted: once is enough.
  void say_once(bool& wish, std::int64_t& said_until) const {
    if (!wish) return;
    wish = steps_ > said_until;
    if (wish) said_until = steps_ + lead_;
  }

  /// Waits until so many messages of each rank have come.
  void hear(std::int64_t messages) {
    for (int r = 0; r < world_.size(); ++r)
      while (r != world_.rank() && heard_[static_cast<std::size_t>(r)] < messages) {
        auto const beginning = clock::now();
        std::size_t const bytes = world_.wait_for_message(r, tag).bytes;
        waited_ += clock::now() - beginning;
        receive(r, bytes);
      }
  }

  void receive(int from, std::size_t bytes) {
    came_.resize(bytes);
    world_.receive(came_, from, tag);
    std::int64_t const its = heard_[static_cast<std::size_t>(from)]++;
    std::int64_t const age = std::max<std::int64_t>(0, steps_ - 1 - its);
    note_complete();
    meter_.apply(
        [&] { take(came_, its, slower_if_stale_ && age > 1 ? share_ / static_cast<double>(age) : share_); });
    ages_.add(age);
  }

  void take(std::span<std::byte const> message, std::int64_t its, double scale) {
    auto const step = static_cast<std::uint64_t>(first_ + its);
    expected_messages const expected{run_, step, step, static_cast<std::uint32_t>(world_.size())};
    add_said(codec_.decode_add(message, expected, static_cast<float>(scale), all_), said(its));
  }

  /// Of the k-th step since ranks have settled. What has come is at most longest_lead + 1 steps ahead of this rank, what
  /// ranks have not met about longest_lead behind.
  agreement& said(std::int64_t k) { return said_[static_cast<std::size_t>(k) % said_.size()]; }

  communicator& world_;
  C codec_;
  std::uint64_t run_;
  double share_;
  bool slower_if_stale_;
  std::int64_t lead_;
  std::vector<float> mine_;
  std::vector<float> residual_;
  std::vector<float> all_;
  std::int64_t first_ = 0;  // the number of the first step since ranks have settled, and how many there were
  std::int64_t steps_ = 0;
  std::vector<std::int64_t> heard_;  // messages of each rank since then
  std::vector<agreement> said_;      // what has come of each step that ranks have not met about
  std::vector<slot> slots_;
  std::size_t next_slot_ = 0;
  std::vector<std::byte> came_;
  std::int64_t stop_is_said_until_ = -1, save_is_said_until_ = -1;

  message_totals totals_;
  message_ages ages_;
  exchange_meter meter_;
  std::vector<exchange_times> times_;  // of steps whose messages have not all come
  std::int64_t complete_ = 0;          // steps whose messages have, since ranks have settled
  clock::duration waited_{};           // since the last of them
  dense_exchange dense_;
};

}  // namespace cohort::detail
