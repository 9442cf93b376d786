// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cohort/detail/chrono.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/strategy/detail/exchange_meter.hpp>
#include <cohort/strategy/detail/outer_optimizer.hpp>
#include <cohort/strategy/detail/overlapped_mean.hpp>
#include <cohort/strategy/detail/replicas.hpp>
#include <cohort/strategy/detail/weighted_sum.hpp>
#include <cohort/strategy/merge_statistics.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

class averaging_strategy final : public strategy {
 public:
  averaging_strategy(std::unique_ptr<communicator> world, parameter_averaging how)
      : world_(std::move(world)),
        how_(how),
        period_(how.seconds > 0 ? 1 : how.every),
        outer_(how.outer.momentum
                   ? how.outer
                   : outer_step{how.outer.rate, 1 - 1.0 / world_->size(), how.outer.nesterov}) {}
  ~averaging_strategy() override {
    if (in_flight_) abandon("the strategy was destroyed while averaging parameters");
    try {
      late_->discard();
    } catch (...) {  // the communicator has failed, so no operation uses the memory of sums
    }
  }

  exchanged what() const override { return exchanged::parameters; }
  std::string describe() const override {
    return text_of({"parameter averaging every ", how_.seconds > 0 ? how_.seconds : how_.every,
                    how_.seconds > 0 ? " seconds" : " steps",
                    how_.average_optimizer_state ? ", optimizer state averaged" : "", described(how_.outer),
                    how_.overlap ? ", overlapped" : ""});
  }

  void begin(step_info const& now, replica const& mine) override {
    prepare(mine);
    if (steps_ == 0 && !unsynced_) outer_.start_from(mine);
    world_->note({now.step + steps_to_skip(now), 0});
  }

  void after_update(step_info const& now, replica const& mine, bool) override {
    if (now.examples > 0) {
      ++busy_steps_;
      busy_until_ = clock::now();
    }
    skipped_ = steps_to_skip(now);
    seen_ += now.examples;
    weight_ += now.weight;
    expected_ += now.expected * (1 + skipped_);  // the same on ranks that have data left
    votes_ |= now.mine;
    steps_ += 1 + skipped_;
    if (now.defers_meeting || !meeting_is_due()) return;
    how_.overlap && world_->size() > 1 ? exchange_overlapped(mine) : meet(mine);
  }
  void end_of_epoch(step_info const& now, replica const& mine) override {
    votes_ |= now.mine;
    if (steps_ > 0 || unsynced_) meet(mine);
  }

  bool diverged() const override { return steps_ > 0 || unsynced_ || !how_.average_optimizer_state; }
  bool supports_average_decay() const override {
    return how_.average_optimizer_state && how_.outer.is_plain() && !how_.overlap;
  }
  void consensus(replica const& mine, std::span<std::byte* const> dense) override {
    prepare(mine);
    outer_optimizer outer = outer_.copy();
    weighted_sum sum(mine.parameters.type(), elements_of(mine) * dense.size(), true);
    for (std::size_t array = 0; array < dense.size(); ++array)
      mine.read(static_cast<int>(array), sum.data() + array * mine.bytes());
    if (late_->is_pending()) late_->apply_to(mine, outer, sum.data());
    exchange_meter shown;  // discarded, because a consensus is not a meeting
    bool const agree = average(mine, sum, dense.size(), outer, {}, shown).weight > 0;
    for (std::size_t array = 0; array < dense.size(); ++array)
      if (agree)
        std::memcpy(dense[array], sum.data() + array * mine.bytes(), mine.bytes());
      else
        mine.read(static_cast<int>(array), dense[array]);
  }

  void abandon(std::string_view why) noexcept override {
    if (std::exchange(in_flight_, false) || late_->is_pending()) world_->abort(std::string(why));
  }
  bool meets_each_step() const override { return false; }
  bool meeting_is_due() const override { return steps_ >= period_; }
  bool has_local_optimizer_state() const override { return !how_.average_optimizer_state; }
  agreement const* agreed() const override { return &agreed_; }
  /// Counts the averaged arrays in the sum, two arrays for the outer step, two for an overlapped mean, and
  /// one more during a meeting.
  std::size_t bytes(replica const& mine) const override {
    int const arrays = (how_.average_optimizer_state ? mine.arrays() : 1) + (how_.outer.is_plain() ? 0 : 2)
                       + (how_.overlap && world_->size() > 1 ? 2 : 0) + 1;
    return static_cast<std::size_t>(arrays) * mine.bytes();
  }
  std::vector<measurement> report() const override {
    return world_->size() == 1 ? std::vector<measurement>() : meter_.report();
  }
  exchange_times last_exchange() const override { return meter_.last(); }

  strategy_state state() const override {
    strategy_state all{.counts = {{"steps", steps_},
                                  {"seen", seen_},
                                  {"weight", std::bit_cast<std::int64_t>(weight_)},
                                  {"expected", expected_},
                                  {"period", period_},
                                  {"loose", unsynced_ ? 1 : 0},
                                  {"not_finite", votes_.not_finite ? 1 : 0}}};
    outer_.save(all);
    late_->save(all);
    return all;
  }
  void restore(strategy_state const& saved) override {
    restored_ = true;
    sum_.reset();  // prepare creates the sum again and checks the state's sizes
    late_->discard();
    votes_ = {};
    busy_steps_ = 0;
    for (strategy_state::count const& one : saved.counts) {
      if (one.name == "steps") steps_ = one.value;
      if (one.name == "seen") seen_ = one.value;
      if (one.name == "weight") weight_ = std::bit_cast<double>(one.value);
      if (one.name == "expected") expected_ = one.value;
      if (one.name == "not_finite") votes_.not_finite = one.value != 0;
      if (one.name == "loose") unsynced_ = one.value != 0;
      if (one.name == "period" && how_.seconds > 0) period_ = std::max<std::int64_t>(one.value, 1);
    }
    outer_.restore(saved);
    late_->restore(saved);
  }
  /// Keeps the velocity, which is the same on all ranks.
  void restore_from_ranks(strategy_state const& had, int former, int) override {
    if (former == 0) outer_.restore(had);
  }
  std::function<std::unique_ptr<strategy>(communicator&)> renewal() const override {
    if (how_.overlap) return {};
    return [settings = how_](communicator& world) { return settings.on(world); };
  }
  void join(strategy_state const& of_rank) override {
    restore(of_rank);
    seen_ = 0;
    weight_ = 0;
    votes_ = {};
  }

 private:
  using clock = std::chrono::steady_clock;

  static std::size_t elements_of(replica const& mine) {
    return static_cast<std::size_t>(mine.parameters.elements());
  }

  /// Returns the number of steps before the next meeting that this rank skips because its data has ended.
  std::int64_t steps_to_skip(step_info const& now) const {
    return now.data_ended ? std::max<std::int64_t>(period_ - steps_ - 1, 0) : 0;
  }

  /// Creates the sum. Called before the first step, or before the first meeting if a run continues at an
  /// epoch's end.
  void prepare(replica const& mine) {
    if (sum_) return;
    arrays_ = how_.average_optimizer_state ? mine.arrays() : 1;
    bool const may_stay = can_average_in_place(mine);
    bool const has_outer = outer_.fits(mine);
    std::uint64_t const kind = may_stay ? mine.parameters.layout_hash() : has_outer ? 0 : 1;
    bool const is_same = is_same_on_all_ranks(*world_, kind);
    in_place_ = is_same && may_stay;
    sum_.emplace(mine.parameters.type(),
                 (in_place_ ? mine.parameters.arena_elements() : elements_of(mine))
                     * static_cast<std::size_t>(arrays_),
                 true);
    if (!restored_) broadcast_replica(*world_, mine);
    if (!late_->fits(mine)) late_->discard();
    // Ranks differ if a change of the ranks has interrupted this broadcast.
    if (!how_.outer.is_plain() && !(is_same && has_outer)) {
      outer_.start_from(mine);
      world_->broadcast(outer_.reference(), 0);
    }
    began_ = clock::now();
  }

  /// Returns whether the arenas can be summed in place. average_in_place requires a step before every
  /// meeting, which only a run without overlap guarantees.
  bool can_average_in_place(replica const& mine) const {
    parameter_set const& all = mine.parameters;
    return how_.outer.is_plain() && !how_.overlap && !unsynced_ && !mine.update.has_constraints()
           && !all.passes().space() && is_nearly_packed(elements_of(mine), all.arena_elements());
  }

  /// This rank's array in sum_.
  std::byte* array_in_sum(replica const& mine, int array) {
    return sum_->data()
           + static_cast<std::size_t>(array) * (in_place_ ? mine.parameters.arena_bytes() : mine.bytes());
  }

  /// Averages the arrays of all ranks. Afterwards all ranks have the same parameters.
  void meet(replica const& mine) {
    prepare(mine);
    std::int64_t const next_period = choose_period();
    votes const earlier = late_->is_pending() ? finish_overlapped(mine).all : votes{};
    for (int array = 0; array < arrays_; ++array)
      if (in_place_)
        std::memcpy(array_in_sum(mine, array), mine.arena(array), mine.parameters.arena_bytes());
      else
        mine.read(array, array_in_sum(mine, array));
    in_flight_ = true;
    agreement met = in_place_
                        ? average_in_place(mine)
                        : average(mine, *sum_, static_cast<std::size_t>(arrays_), outer_, votes_, meter_);
    in_flight_ = false;
    if (met.weight > 0) {
      for (int array = 0; array < arrays_; ++array)
        if (in_place_)
          std::memcpy(mine.arena(array), array_in_sum(mine, array), mine.parameters.arena_bytes());
        else
          mine.write(array, array_in_sum(mine, array));
      mine.parameters.mark_changed();
    }
    met.all |= earlier;
    record_agreement(met);
    votes_ = {};
    unsynced_ = false;
    end_period(next_period);
  }

  /// Applies the mean of the previous period and starts the mean of the current period.
  void exchange_overlapped(replica const& mine) {
    prepare(mine);
    std::int64_t const next_period = choose_period();
    if (late_->is_pending()) {
      agreement const earlier = finish_overlapped(mine);
      record_agreement(earlier);
      if (earlier.examples == 0) return end_period(next_period);  // no rank has examples left
      votes_ = {votes_.stop && !earlier.all.stop, votes_.save && !earlier.all.save,
                votes_.not_finite && !earlier.all.not_finite};  // counted votes are not sent again
    }
    start_meter(mine.bytes(), meter_);
    late_->start(*world_, mine, {seen_, weight_}, expected_, std::exchange(votes_, {}));
    unsynced_ = true;
    end_period(next_period);
  }

  /// Replaces this rank's elements in `sum` with the weighted mean of all ranks; undefined if no rank has
  /// examples.
  agreement mean(weighted_sum& sum, weighted_sum::contribution const& own, std::int64_t expected,
                 votes const& wanted, exchange_meter& meter) {
    start_meter(sum.bytes(), meter);
    sum.start(*world_, own, expected, wanted);
    meter.measure_wait([&] { return sum.wait(); });
    meter.finish();
    agreement const met = sum.read_agreement(0);
    if (met.weight > 0) sum.make_mean(met.weight, expected);
    return met;
  }

  /// Replaces the arenas in sum_ with the weighted mean of all ranks; frozen parameters keep their bits.
  agreement average_in_place(replica const& mine) {
    weighted_sum::contribution const own{seen_, weight_};
    agreement const met = mean(*sum_, own, expected_, votes_, meter_);
    if (met.weight <= 0) return met;
    merge_running_statistics(*world_, mine, own.weight, sum_->data(), parameters_in::arena);
    std::size_t const size = bytes_of(mine.parameters.type());
    for (parameter const& one : mine.parameters.table())
      for (int array = 0; one.frozen && array < arrays_; ++array) {
        std::size_t const at = one.offset * size;
        std::memcpy(array_in_sum(mine, array) + at, mine.arena(array) + at, one.room * size);
      }
    return met;
  }

  /// Replaces this rank's arrays in `sum` with the weighted mean of all ranks. The outer step is applied to
  /// trained parameters.
  agreement average(replica const& mine, weighted_sum& sum, std::size_t arrays, outer_optimizer& outer,
                    votes const& wanted, exchange_meter& meter) {
    bool const met_before =
        steps_ == 0;  // then all weights are equal, and ranks have equal trained parameters
    buffer const same = copy_of({sum.data(), met_before ? mine.bytes() : 0});
    std::int64_t const expected = met_before ? world_->size() : expected_;
    weighted_sum::contribution const own =
        met_before ? weighted_sum::contribution{1, 1} : weighted_sum::contribution{seen_, weight_};
    agreement const met = mean(sum, own, expected, wanted, meter);
    if (met.weight <= 0) return met;
    merge_running_statistics(*world_, mine, own.weight, sum.data(), parameters_in::dense);
    std::size_t const size = bytes_of(mine.parameters.type());
    if (met_before)
      for_each_trained(mine.parameters, [&](std::size_t first, std::size_t count) {
        std::memcpy(sum.data() + first * size, same.data() + first * size, count * size);
      });
    else
      outer.step(mine.parameters, sum.data());
    if (!met_before && (world_->size() > 1 || outer.reference().count > 0)) mine.update.constrain(sum.data());
    for (std::size_t array = 0; array < arrays; ++array)
      mine.restore_frozen(static_cast<int>(array), sum.data() + array * mine.bytes());
    return met;
  }

  /// Waits for the pending mean and applies it.
  agreement finish_overlapped(replica const& mine) {
    meter_.measure_wait([&] { return late_->wait(); });
    meter_.finish();
    return late_->finish(mine, outer_);
  }
  void start_meter(std::size_t bytes, exchange_meter& meter) const {
    if (world_->size() > 1) meter.start(bytes, bytes);
  }

  void record_agreement(agreement const& met) {
    agreed_ = {agreed_.meetings + 1, met.examples, met.weight, met.all, skipped_};
  }

  void end_period(std::int64_t next) {
    period_ = next;
    began_ = clock::now();
    steps_ = busy_steps_ = seen_ = expected_ = skipped_ = 0;
    weight_ = 0;
  }

  /// Returns the number of steps until the meeting after this one.  Order: collective, before a meeting, so
  /// that an error changes nothing.
  std::int64_t choose_period() {
    if (how_.seconds == 0) return period_;
    double const passed = std::chrono::duration<double>(busy_until_ - began_).count();
    double slowest = busy_steps_ > 0 ? passed / static_cast<double>(busy_steps_) : 0;
    world_->allreduce(std::span<double>(&slowest, 1), reduction::maximum);
    return slowest > 0 ? static_cast<std::int64_t>(std::clamp(how_.seconds / slowest, 1.0, 1e9)) : period_;
  }

  std::unique_ptr<communicator> world_;
  parameter_averaging how_;
  std::int64_t period_;
  std::optional<weighted_sum> sum_;
  outer_optimizer outer_;
  std::unique_ptr<overlapped_mean> late_ = std::make_unique<overlapped_mean>();
  int arrays_ = 1;
  std::int64_t steps_ = 0;       // number of steps since the last meeting
  std::int64_t busy_steps_ = 0;  // number of these steps with examples on this rank
  std::int64_t seen_ = 0;        // number of this rank's examples in these steps
  double weight_ = 0;            // sum of these examples' weights
  std::int64_t expected_ = 0;    // number of all ranks' examples in these steps
  std::int64_t skipped_ = 0;     // number of steps skipped after the end of this rank's data
  votes votes_{};
  agreement agreed_{};
  exchange_meter meter_;
  clock::time_point began_{}, busy_until_{};
  bool unsynced_ = false;  // whether ranks differ because of an overlapped mean
  bool in_flight_ = false;
  bool restored_ = false;
  bool in_place_ = false;  // whether the arenas are summed in place
};

}  // namespace cohort::detail

namespace cohort {

std::unique_ptr<strategy> parameter_averaging::on(communicator& world) const {
  if (every < 1 || !(seconds >= 0 && std::isfinite(seconds)))
    throw setting_error({.what = "invalid period",
                         .where = "parameter_averaging",
                         .expected = "every ≥ 1 step, or seconds > 0",
                         .got = {"every ", every, ", seconds ", seconds}});
  double const momentum = outer.momentum.value_or(0);
  if (!(outer.rate > 0 && std::isfinite(outer.rate) && momentum >= 0 && momentum < 1))
    throw setting_error({.what = "invalid outer step",
                         .where = "parameter_averaging.outer",
                         .expected = "rate > 0, 0 ≤ momentum < 1",
                         .got = {"rate ", outer.rate, ", momentum ", momentum}});
  return std::make_unique<detail::averaging_strategy>(world.duplicate(), *this);
}

}  // namespace cohort
