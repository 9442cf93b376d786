// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/codec/compressor.hpp>
#include <cohort/codec/message.hpp>
#include <cohort/codec/residual_simd.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/strategy/detail/compressed_exchange.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Largest number of steps by which a rank may be ahead of any other rank. A rank further ahead waits.
inline constexpr int longest_lead = 32;

/// Compresses one array of this rank per step into a message, sends the message to all other ranks, and
/// applies the messages of other ranks when they arrive.
///
///     all() += factor·(s_own + Σ s / τ)     over the messages that have arrived; τ = 1, or the age in steps
///
/// Shapes    all arrays have codec.table().elements() elements of f32.
/// Units     `factor`: weight of a message. With `slower_if_stale` this weight is divided by the message's
///           age (at least 1).
/// Order     repeatedly: fill mine(), call step, read all() and call clear(). Call synchronise after the same
///           number of steps on every rank. Only receive_all and synchronise are collective.
/// Before    all ranks have the same codec and settings, and begin together.
/// After     step i: `agreed` has the votes of all ranks in step i − longest_lead; all messages of that step
///           have arrived. The lead of every rank, and the number of messages in flight, are therefore
///           bounded. A single rank gets its own votes at once. A rank whose numbers are out of range or not
///           finite votes not_finite, keeps its residual, and applies the messages of other ranks.
/// Moves     per step, this rank's message to P − 1 ranks.
/// Errors    communicator_error naming the rank whose message has not arrived within the deadline; data_error
///           for a message that is not the expected one.
/// Exact     every message is applied once: over a run Σ x = Σ s + r for the arrays x, decoded messages s and
///           residual r of each rank. Messages of one sender are applied in the order of sending, those of
///           different senders in the order of arrival.
/// Cost      memory for at most 2·(longest_lead + 1) messages of this rank.
/// Source    the bound on the lead: Ho et al., More effective distributed ML via a stale synchronous parallel
///           parameter server, NIPS 2013. 1/τ: Zhang et al., Staleness-aware async-SGD, IJCAI 2016.
template <compressor C>
class asynchronous_exchange : public compressed_exchange<C> {
  using base = compressed_exchange<C>;
  using base::codec_, base::dense_, base::meter_, base::totals_;
  using typename base::clock;

 public:
  asynchronous_exchange(communicator& world, C codec, std::uint64_t run, double factor = 1,
                        bool slower_if_stale = false)
      : base(std::move(codec), run),
        world_(world),
        factor_(factor),
        slower_if_stale_(slower_if_stale),
        lead_(world.size() > 1 ? longest_lead : 0),
        mine_(base::elements()),
        residual_(mine_.size()),
        all_(mine_.size()),
        received_(static_cast<std::size_t>(world.size())),
        votes_(static_cast<std::size_t>(2 * (lead_ + 1))),
        slots_(static_cast<std::size_t>(2 * (lead_ + 1))),
        times_(slots_.size()) {
    for (slot& one : slots_) one.pending.reserve(static_cast<std::size_t>(world.size()));
  }

  std::span<float> mine() { return mine_; }
  std::span<float> all() { return all_; }
  std::span<float const> residual() const { return residual_; }
  std::span<double const> state() const { return codec_.state(); }
  void clear() { std::fill(all_.begin(), all_.end(), 0.0F); }

  /// Restores the state of a checkpoint.
  ///
  /// Errors    data_error for arrays of other sizes.
  void restore(std::span<float const> residual, std::span<double const> state,
               std::span<float const> not_applied) {
    for (std::span<float const> const one : {residual, not_applied})
      if (!one.empty()) require_residual_size(one.size(), residual_.size());
    codec_.restore(state);
    std::copy(residual.begin(), residual.end(), residual_.begin());
    std::copy(not_applied.begin(), not_applied.end(), all_.begin());
  }

  message_ages const& ages() const { return ages_; }

  void step(step_info now, agreement& agreed) {
    dense_.end();
    send(now);
    for (int r = 0; r < world_.size(); ++r)
      if (r != world_.rank())
        while (std::optional<arrival> const one = world_.probe(r, tag)) receive(r, one->bytes);
    std::int64_t const due = steps_ - lead_;
    receive_first(due);
    if (due <= 0) return;
    agreement const met = std::exchange(votes_of(due - 1), {});
    agreed = {agreed.meetings + 1, met.examples, met.weight, met.all};
  }

  /// Exchanges mine() by an allreduce instead of messages: mine() becomes the sum of all ranks' arrays, up to
  /// rounding. The residual is unchanged.
  ///
  /// Order     collective, before the first step.
  void sum_densely(step_info const& now, agreement& agreed) {
    this->measure_dense(world_.size(), [&] { dense_.run(world_, now, mine_, agreed); });
  }

  /// Waits for the other ranks' messages of all steps that this rank has executed.
  void receive_all() { receive_first(steps_); }

  /// Waits for all messages and restarts the count of steps. Returns the votes of all steps that `step` has
  /// not returned yet: the same on every rank.
  agreement synchronise() {
    receive_all();
    // Other ranks may still be receiving. A new message must not reach these ranks before they have received
    // all old messages.
    if (steps_ > 0) world_.barrier();
    agreement rest;
    for (std::int64_t k = std::max<std::int64_t>(0, steps_ - lead_); k < steps_; ++k) {
      rest.examples += votes_of(k).examples;
      rest.weight += votes_of(k).weight;
      rest.all |= votes_of(k).all;
    }
    std::fill(votes_.begin(), votes_.end(), agreement{});
    std::fill(received_.begin(), received_.end(), 0);
    steps_ = complete_ = 0;
    stop_pending_until_ = save_pending_until_ = -1;
    return rest;
  }
  /// Waits for all messages in flight; the object must not be used afterwards. Has no barrier, so that a rank
  /// that fails does not wait for the others.
  void end() {
    receive_all();
    for (slot& one : slots_) one.wait();
  }

  std::vector<measurement> report() const {
    std::vector<measurement> all = totals_.report();
    all.push_back({"residual_norm", std::sqrt(residual_square_sum(best_isa(), residual_))});
    meter_.append_times(all);
    ages_.append_to(all);
    return all;
  }

 private:
  static constexpr int tag = 0;

  struct slot {
    std::vector<std::byte> bytes{};
    std::vector<pending_operation> pending{};
    void wait() {
      for (pending_operation& one : pending) one.wait();
      pending.clear();
    }
  };

  /// Sends this rank's message and applies it at once.
  void send(step_info& now) {
    if (steps_ == 0) first_ = now.step;
    vote_once(now.mine.stop, stop_pending_until_);
    vote_once(now.mine.save, save_pending_until_);
    auto const begin = clock::now();
    now.mine.not_finite |= !within_range(best_isa(), mine_);
    std::span<std::byte const> const own =
        this->encode_step(first_ + steps_, world_.rank(), now, now.mine, residual_, mine_);
    auto const encoded = clock::now();
    slot& next = slots_[next_slot_++ % slots_.size()];
    next.wait();  // returns at once, because later messages of the receivers confirm the message's arrival
    waited_ += clock::now() - encoded;
    next.bytes.assign(own.begin(), own.end());
    for (int r = 0; r < world_.size(); ++r)
      if (r != world_.rank()) next.pending.push_back(world_.start_send(next.bytes, r, tag));
    times_of(steps_) = {.encode = {begin, encoded}, .transfer = {encoded, {}}};
    std::int64_t const step = steps_++;
    meter_.apply([&] { apply(next.bytes, step, factor_); });
    record_complete();
  }

  /// Records the steps whose messages have all arrived.
  void record_complete() {
    for (; complete_ < steps_; ++complete_) {
      for (int r = 0; r < world_.size(); ++r)
        if (r != world_.rank() && received_[static_cast<std::size_t>(r)] <= complete_) return;
      exchange_times& times = times_of(complete_);
      times.transfer.end = clock::now();
      auto const waited = std::exchange(waited_, {});
      meter_.add(times,
                 std::max(typename clock::duration(), times.transfer.end - times.transfer.begin - waited),
                 waited);
    }
  }
  exchange_times& times_of(std::int64_t step) {
    return times_[static_cast<std::size_t>(step) % times_.size()];
  }

  /// Clears a vote that a pending message of this rank already contains.
  void vote_once(bool& vote, std::int64_t& pending_until) const {
    if (!vote) return;
    vote = steps_ > pending_until;
    if (vote) pending_until = steps_ + lead_;
  }

  /// Waits for the first `messages` messages of each rank.
  void receive_first(std::int64_t messages) {
    for (int r = 0; r < world_.size(); ++r)
      while (r != world_.rank() && received_[static_cast<std::size_t>(r)] < messages) {
        auto const begin = clock::now();
        std::size_t const bytes = world_.wait_for_message(r, tag).bytes;
        waited_ += clock::now() - begin;
        receive(r, bytes);
      }
  }

  void receive(int from, std::size_t bytes) {
    message_.resize(bytes);
    world_.receive(message_, from, tag);
    std::int64_t const step = received_[static_cast<std::size_t>(from)]++;
    std::int64_t const age = std::max<std::int64_t>(0, steps_ - 1 - step);
    record_complete();
    meter_.apply([&] {
      apply(message_, step, slower_if_stale_ && age > 1 ? factor_ / static_cast<double>(age) : factor_);
    });
    ages_.add(age);
  }

  void apply(std::span<std::byte const> message, std::int64_t step, double factor) {
    expected_messages const expected = this->expected_in(first_ + step, world_.size());
    add_votes(codec_.decode_add(message, expected, static_cast<float>(factor), all_), votes_of(step));
  }

  /// Returns the votes of step k since the last synchronisation. Messages are at most longest_lead + 1 steps
  /// ahead of this rank, and the oldest incomplete step is about longest_lead steps behind this rank.
  agreement& votes_of(std::int64_t k) { return votes_[static_cast<std::size_t>(k) % votes_.size()]; }

  communicator& world_;
  double factor_;
  bool slower_if_stale_;
  std::int64_t lead_;
  std::vector<float> mine_;
  std::vector<float> residual_;
  std::vector<float> all_;
  std::int64_t first_ = 0;              // index of the first step after the last synchronisation
  std::int64_t steps_ = 0;              // number of steps since the last synchronisation
  std::vector<std::int64_t> received_;  // number of messages of each rank since the last synchronisation
  std::vector<agreement> votes_;        // votes of the steps that `step` has not returned
  std::vector<slot> slots_;
  std::size_t next_slot_ = 0;
  std::vector<std::byte> message_;
  std::int64_t stop_pending_until_ = -1, save_pending_until_ = -1;

  message_ages ages_;
  std::vector<exchange_times> times_;  // times of steps whose messages have not all arrived
  std::int64_t complete_ = 0;          // number of the first steps whose messages have all arrived
  typename clock::duration waited_{};  // time in waits since the last complete step
};

}  // namespace cohort::detail
