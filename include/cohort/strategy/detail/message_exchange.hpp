// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/codec/compressor.hpp>
#include <cohort/codec/message.hpp>
#include <cohort/codec/threshold_device.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/strategy/detail/compressed_exchange.hpp>
#include <cohort/strategy/detail/f32_buffer.hpp>
#include <cohort/strategy/detail/message_tree.hpp>
#include <cohort/strategy/detail/process_group.hpp>
#include <cohort/strategy/sharing_settings.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Combination of the decoded messages s_r of all ranks. weighted_mean: Σ m_r·s_r / Σ m_r, where m_r is the
/// weight of rank r's examples. sum: Σ s_r. mean: Σ s_r / P.
enum class combination { weighted_mean, sum, mean };

/// Exchanges one array of each rank per step, compressed into a message; all ranks wait for all messages.
///
/// Shapes    all arrays have codec.table().elements() elements of f32, in the codec's memory space.
/// Order     collective: fill mine(), start, finish, read all(). At most `staleness` more exchanges may be
///           started before the first is finished, so the number of pending messages is bounded.
/// Before    all ranks have the same codec, route and combination. If messages are merged, `staleness` is 0.
///           The ranks of a group send one message, which contains their mean or sum. The group's residual is
///           stored on its leader.
/// After     finish: `agreed` has the votes of all ranks in the oldest exchange, and all() has the combined
///           messages, added in rank order. If a rank's numbers were out of range or not finite, all() and
///           that rank's residual are unchanged. The values that other ranks sent are returned to a residual
///           and sent later.
/// Moves     an allgatherv of the messages; if messages are merged, as message_tree. A single rank sends
///           nothing, but encodes and decodes its message.
/// Exact     the same bits on every rank. Merged messages are added without weights. For a weighted mean, a
///           rank therefore encodes its array times m_r / (expected mean weight). Messages that are not
///           merged are multiplied by their weights after decoding.
template <compressor C>
class message_exchange : public compressed_exchange<C> {
  using base = compressed_exchange<C>;
  using base::codec_, base::dense_, base::meter_, base::run_, base::totals_;
  using typename base::clock;

 public:
  message_exchange(process_group ranks, C codec, route way, combination how, std::uint64_t run,
                   int staleness = 0)
      : base(std::move(codec), run),
        group_(std::move(ranks)),
        combination_(how),
        merges_(group_.groups() > 1 && staleness == 0
                && (way == route::merged
                    || (way == route::by_size && merges_by_size(group_.groups(), base::elements())))),
        mine_(base::elements(), device_passes()),
        residual_(mine_.size(), device_passes()),
        all_(mine_.size(), device_passes()),
        slots_(static_cast<std::size_t>(staleness) + 1) {}
  message_exchange(communicator& world, C codec, route way, combination how, std::uint64_t run,
                   int staleness = 0)
      : message_exchange(process_group(world), std::move(codec), way, how, run, staleness) {}

  f32_buffer& mine() { return mine_; }
  f32_buffer& all() { return all_; }
  /// The codec's passes over arrays on a device; null: the arrays are in the processor's memory.
  threshold_device* device_passes() const {
    if constexpr (requires { codec_.device_passes(); })
      return codec_.device_passes();
    else
      return nullptr;
  }
  /// The residual, copied to the processor's memory; empty unless this rank is a leader.
  std::span<float const> residual() const {
    return on_processor(is_undone_ ? *former_ : residual_, fetched_);
  }
  /// After undo: the residual after the exchange, in which this rank's message is sent; otherwise empty.
  std::span<float const> sent_residual() const {
    return is_undone_ ? on_processor(residual_, fetched_sent_) : std::span<float const>();
  }
  /// The compressor's state; empty unless this rank is a leader.
  std::span<double const> state() const {
    if (!group_.is_leader()) return {};
    return is_undone_ ? std::span<double const>(former_state_) : std::span<double const>(codec_.state());
  }

  /// Keeps the residual and the compressor's state from before each exchange.  Before: staleness 0.
  void keep_former() { former_.emplace(residual_.size(), device_passes()); }
  /// After an error in an exchange: residual() and state() are those from before the exchange.
  void undo() {
    is_undone_ = former_.has_value();
    finished_ = started_;
  }

  /// Restores the state of a checkpoint.
  ///
  /// Errors    data_error for arrays of other sizes.
  void restore(std::span<float const> residual, std::span<double const> state) {
    require_residual_size(residual.size(), residual_.size());
    codec_.restore(state);
    residual_.assign(residual);
  }

  /// Number of ranks whose mean or sum the residual accumulates.
  int group_size() const { return group_.size(); }
  /// Number of exchanges that were started and not finished.
  int pending() const { return static_cast<int>(started_ - finished_); }
  /// This rank's message in pending exchange k; exchange 0 is the oldest.
  std::span<std::byte const> pending_message(int k) const {
    return slots_[static_cast<std::size_t>(finished_ + k) % slots_.size()].own;
  }

  void start(step_info now) {
    remove_pending_votes(now.mine);
    auto const begin = clock::now();
    now.mine.not_finite |= !mine_.is_within_range();
    if (former_) {
      former_->copy(residual_);
      former_state_.assign(codec_.state().begin(), codec_.state().end());
    }
    step_info const own = now;  // copied before group_.sum adds the votes of the other ranks
    in_group(mine_,
             [&](std::span<float> x) { group_.sum(x, now, combination_ != combination::weighted_mean); });
    dense_.end();
    if (!group_.is_leader()) return send({}, own, {.transfer = {clock::now()}});
    std::span<std::byte const> message = encode(now);
    auto const encoded = clock::now();
    if (merges_) message = tree_.merge(group_.leaders(), codec_, message, expected_in(now), residual_.span());
    send(message, own, {.encode = {begin, encoded}, .transfer = {encoded, clock::now()}});
  }

  /// Restarts the pending exchanges of a checkpoint. `messages`: this rank's messages, the oldest first.
  /// `saved_group_size`: number of ranks whose mean or sum this rank's residual accumulated.
  ///
  /// After     the messages are in flight again. If the leaders have changed, the messages are added to
  ///           residuals instead. If all ranks have the same number of examples, the residuals later send
  ///           values equal to these messages.
  /// Errors    data_error for a message of another run.
  void resume(std::span<std::vector<std::byte> const> messages, int saved_group_size) {
    int const count = common_pending(static_cast<int>(messages.size()));
    for (int k = 0; k < count; ++k)
      restart(group_.is_leader() ? std::span<std::byte const>(messages[static_cast<std::size_t>(k)])
                                 : std::span<std::byte const>());
    if (count < 0)
      for (std::vector<std::byte> const& one : messages) add_to_residual(one, group_.world().size(), 1);
    float const factor = static_cast<float>(saved_group_size) / static_cast<float>(group_.size());
    if (combination_ == combination::weighted_mean && factor != 1) residual_.scale(factor);
    in_group(residual_, [&](std::span<float> x) { group_.reduce_to_leader(x); });
  }

  /// Decodes a message from a run of `ranks` ranks and adds it, times `factor`, to the residual.
  void add_to_residual(std::span<std::byte const> message, int ranks, float factor) {
    expected_messages const any{
        .run = run_, .last_step = ~std::uint64_t{0}, .ranks = static_cast<std::uint32_t>(ranks)};
    codec_.decode_add(codec_.parse(message, any), factor, residual_.span());
  }

  /// Waits for the oldest exchange. If `apply` is false, all() is unchanged, and this rank's message is
  /// returned to its residual.
  ///
  /// Before    `apply` is true, or messages are not merged.
  void finish(agreement& agreed, bool apply = true) {
    auto const wait_begin = clock::now();
    slot& oldest = slots_[static_cast<std::size_t>(finished_) % slots_.size()];
    exchange_times& times = oldest.times;
    times.transfer.end = std::max({times.transfer.begin, times.transfer.end, oldest.pending.wait()});
    ++finished_;
    times.apply.begin = clock::now();
    agreed = {.meetings = agreed.meetings + 1};
    if (group_.is_leader()) {
      parse(oldest, agreed);
      if (agreed.all.not_finite || !apply) {
        if (!merges_) codec_.decode_add(views_[own_index()], 1, residual_.span());
      } else {
        all_.clear();
        for (message_view const& one : views_)
          codec_.decode_add(one, factor(one.header, agreed, oldest.step), all_.span());
      }
    }
    in_group(all_, [&](std::span<float> x) { group_.broadcast(agreed, x); });
    times.apply.end = clock::now();
    if (!group_.is_leader())
      times.transfer.end = times.apply.begin = times.apply.end;  // this rank has waited for its leader
    auto const waited = merges_              ? times.transfer.end - times.transfer.begin
                        : group_.is_leader() ? times.apply.begin - wait_begin
                                             : times.apply.end - wait_begin;
    meter_.add(times, merges_ ? typename clock::duration() : wait_begin - times.transfer.begin, waited);
  }

  /// Waits for all pending messages and ignores them.
  void wait() {
    for (slot& one : slots_) one.pending.wait();
  }

  /// Exchanges mine() by an allreduce instead of messages: all() becomes the sum or mean of all ranks'
  /// arrays, up to rounding. The residual is unchanged.
  ///
  /// Moves     an allreduce.
  void exchange_densely(step_info const& now, agreement& agreed) {
    this->measure_dense(group_.world().size(), [&] {
      mine_.on_processor([&](std::span<float> x) { dense_.run(group_.world(), now, x, agreed); });
      all_.copy(mine_);
      if (combination_ == combination::mean) all_.scale(static_cast<float>(1.0 / group_.world().size()));
    });
  }
  /// Counts a step that another strategy has exchanged densely.
  void count_dense_step() { this->count_dense(group_.world().size()); }
  /// Adds the times that another strategy has reported.
  void add_times(std::vector<measurement> const& others) { meter_.add_times(others); }

  /// Returns the measurements of message_totals and exchange_meter; `others`: times added in this report
  /// only.
  std::vector<measurement> report(std::vector<measurement> const& others = {}) const {
    std::vector<measurement> all = totals_.report();
    all.push_back({"staleness", static_cast<double>(slots_.size() - 1)});
    all.push_back({"residual_norm", std::sqrt(residual_.square_sum())});
    exchange_meter times = meter_;
    times.add_times(others);
    times.append_times(all);
    return all;
  }

 private:
  struct slot {
    std::vector<std::byte> own{};  // this rank's message; if messages are merged, the merged one
    gathered all{};
    pending_operation pending{};
    step_info step{};
    exchange_times times{};
    bool is_restored = false;  // restored from a checkpoint: ignores votes to stop and save
  };

  std::span<float const> on_processor(f32_buffer const& from, std::vector<float>& copy) const {
    if (!group_.is_leader()) return {};
    if (!device_passes()) return from.span();
    copy.resize(from.size());
    from.copy_to(copy);
    return copy;
  }

  /// Calls f with x in the processor's memory, if ranks are grouped.
  template <class F>
  void in_group(f32_buffer& x, F f) {
    if (group_.is_grouped()) x.on_processor(f);
  }

  std::span<std::byte const> encode(step_info const& now) {
    bool const other_ranks_finite = group_.is_grouped() && mine_.is_within_range();
    votes wanted = now.mine;
    wanted.not_finite |= group_.is_grouped() && !other_ranks_finite;
    if (double const weight = now.weight * group_.groups() / static_cast<double>(now.expected);
        merges_ && combination_ == combination::weighted_mean && weight != 1)
      mine_.scale(static_cast<float>(weight));
    if (wanted.not_finite && other_ranks_finite) residual_.add(mine_);  // the group's array is sent later
    return this->encode_step(now.step, group_.leaders().rank(), now, wanted, residual_.span(), mine_.span());
  }

  float factor(message_header const& from, agreement const& agreed, step_info const& now) const {
    if (combination_ == combination::sum) return 1;
    if (combination_ == combination::mean) return static_cast<float>(1.0 / group_.world().size());
    if (from.weight == 0) return 0;
    double const weight = merges_ ? static_cast<double>(now.expected) / group_.groups() : from.weight;
    return static_cast<float>(weight / agreed.weight);
  }

  expected_messages expected_in(step_info const& step) const {
    return base::expected_in(step.step, group_.groups());
  }

  /// Removes votes that a pending exchange already contains, because such votes would count twice.
  void remove_pending_votes(votes& mine) const {
    for (std::int64_t k = finished_; k < started_; ++k) {
      votes const& sent = slots_[static_cast<std::size_t>(k) % slots_.size()].step.mine;
      mine.stop &= !sent.stop;
      mine.save &= !sent.save;
    }
  }

  void send(std::span<std::byte const> own, step_info const& step, exchange_times const& times) {
    slot& next = slots_[static_cast<std::size_t>(started_) % slots_.size()];
    ++started_;
    next.own.assign(own.begin(), own.end());
    next.step = step;
    next.times = times;
    next.is_restored = false;
    if (!has_one_message() && group_.is_leader())
      next.pending = group_.leaders().start_allgatherv(next.own, next.all);
  }

  /// Returns whether a single message contains the contributions of all groups.
  bool has_one_message() const { return merges_ || group_.groups() == 1; }
  std::size_t own_index() const {
    return has_one_message() ? 0 : static_cast<std::size_t>(group_.leaders().rank());
  }

  void parse(slot const& from, agreement& agreed) {
    views_.clear();
    for (int r = 0; r < (has_one_message() ? 1 : group_.groups()); ++r) {
      views_.push_back(codec_.parse(has_one_message() ? std::span<std::byte const>(from.own) : from.all.of(r),
                                    expected_in(from.step)));
      add_votes(views_.back().header, agreed);
    }
    if (from.is_restored) agreed.all.stop = agreed.all.save = false;
  }

  /// Returns the number of pending messages if it is equal on all leaders and 0 on all other ranks; otherwise
  /// −1.
  int common_pending(int count) {
    bool const leader = group_.is_leader();
    double words[]{leader ? 1.0 * count : 0, leader ? -1.0 * count : -1e9, leader ? 0 : 1.0 * count};
    group_.world().allreduce(std::span<double>(words), reduction::maximum);
    return words[0] == -words[1] && words[2] == 0 ? static_cast<int>(words[0]) : -1;
  }

  void restart(std::span<std::byte const> own) {
    message_header header;
    if (own.size() >= sizeof header) std::memcpy(static_cast<void*>(&header), own.data(), sizeof header);
    step_info const step{.step = static_cast<std::int64_t>(header.step)};
    if (group_.is_leader()) codec_.parse(own, expected_in(step));
    send(own, step, {.transfer = {clock::now()}});
    slots_[static_cast<std::size_t>(started_ - 1) % slots_.size()].is_restored = true;
  }

  process_group group_;
  combination combination_;
  bool merges_;
  f32_buffer mine_;
  f32_buffer residual_;
  f32_buffer all_;
  mutable std::vector<float> fetched_, fetched_sent_;  // copies of a device's residuals
  std::optional<f32_buffer> former_;                   // residual from before the last exchange
  std::vector<double> former_state_;
  bool is_undone_ = false;
  std::vector<slot> slots_;
  std::int64_t started_ = 0, finished_ = 0;
  std::vector<message_view> views_;
  message_tree<C> tree_;
};

}  // namespace cohort::detail
