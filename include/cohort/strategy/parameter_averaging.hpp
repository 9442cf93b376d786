// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/spread_of_means.hpp>
#include <cohort/strategy/weighted_sum.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cohort {

/// Each rank trains on its own; every `every` steps all take the mean of their parameters.
///
/// Shapes    the canonical flat view, and as many arrays more as updaters remember if `average_updater_state`.
/// Units     `every` in steps; if `seconds` > 0 it counts instead: the slowest rank's speed since the last meeting says how
///           many steps that is, the same number on all ranks (the clock then decides the bits).
/// Order     all ranks meet in the same steps, and at the end of each epoch if steps are left: no data is dropped. Where ranks
///           share a stream, one that has run out makes empty steps until the next meeting.
/// Before    rank r holds w_r, having seen m_r examples since the last meeting.   After  all hold Σ m_r·w_r / Σ m_r.
/// Moves     2(P−1)/P · (n·(1 + state arrays) + 5) elements a rank and meeting, running variances once more; 8 bytes more with `seconds`; in the
///           beginning rank 0's arrays once to all.
/// Errors    communicator_error on all ranks if one is lost.
/// Exact     the same bits on every rank after a meeting; `every` 1 with sgd is allreduce, to rounding. With one rank no
///           bit differs from no strategy. What is frozen keeps its bits.
/// Source    Deeplearning4j's ParameterAveragingTrainingMaster, which does not weigh.
struct parameter_averaging {
  int every = 5;
  double seconds = 0;
  bool average_updater_state = true;

  std::unique_ptr<strategy> on(communicator& world) const;
};

namespace detail {

class averaging_strategy final : public strategy {
 public:
  averaging_strategy(std::unique_ptr<communicator> world, parameter_averaging how)
      : world_(std::move(world)), how_(how), period_(how.seconds > 0 ? 1 : how.every) {}
  ~averaging_strategy() override { abandon("a rank gave up while parameters were averaged"); }

  exchanged what() const override { return exchanged::parameters; }
  std::string describe() const override {
    return text_of({"parameter averaging every ", how_.seconds > 0 ? how_.seconds : how_.every,
                    how_.seconds > 0 ? " seconds" : " steps",
                    how_.average_updater_state ? ", with the updaters' state" : ""});
  }

  void begin(step_info const& now, replica const& mine) override {
    prepare(mine);
    world_->note({now.step, 0});
  }

  void after_update(step_info const& now, replica const& mine, bool) override {
    busy_ += now.examples > 0 ? 1 : 0;
    seen_ += now.examples;
    expected_ += now.expected;
    own_ |= now.mine;
    if (++steps_ >= period_) meet(mine);
  }
  void end_of_epoch(step_info const& now, replica const& mine) override {
    own_ |= now.mine;
    if (steps_ > 0) meet(mine);
  }

  bool differs() const override { return steps_ > 0 || !how_.average_updater_state; }
  void merged(replica const& mine, std::span<std::byte* const> dense) override {
    weighted_sum sum(mine.parameters.type(), elements_of(mine) * dense.size(), true);
    for (std::size_t array = 0; array < dense.size(); ++array)
      mine.read(static_cast<int>(array), sum.data() + array * mine.bytes());
    // Right after a meeting only what is not averaged there differs, and nobody has seen more than others.
    std::int64_t const weight = steps_ > 0 ? seen_ : 1, expected = steps_ > 0 ? expected_ : world_->size();
    weighted_sum::share const own{weight, static_cast<double>(weight)};
    sum.start(*world_, own, expected, {});
    sum.wait();
    if (std::int64_t const examples = sum.voted(0).examples; examples > 0) {
      sum.settle(static_cast<double>(examples), expected);
      add_spread_of_means(*world_, mine, sum.data(), own, expected, static_cast<double>(examples));
      for (std::size_t array = 0; array < dense.size(); ++array) {
        std::memcpy(dense[array], sum.data() + array * mine.bytes(), mine.bytes());
        mine.keep_frozen(static_cast<int>(array), dense[array]);
      }
    } else {
      for (std::size_t array = 0; array < dense.size(); ++array)
        mine.read(static_cast<int>(array), dense[array]);
    }
  }

  void abandon(std::string_view why) noexcept override {
    if (std::exchange(under_way_, false)) world_->abort(std::string(why));
  }
  agreement const* agreed() const override { return &agreed_; }

  strategy_state state() const override {
    return {.counts = {{"steps", steps_}, {"seen", seen_}, {"expected", expected_}, {"period", period_}}};
  }
  void restore(strategy_state const& saved) override {
    restored_ = true;
    for (strategy_state::count const& one : saved.counts) {
      if (one.name == "steps") steps_ = one.value;
      if (one.name == "seen") seen_ = one.value;
      if (one.name == "expected") expected_ = one.value;
      if (one.name == "period" && how_.seconds > 0) period_ = std::max<std::int64_t>(one.value, 1);
    }
  }

 private:
  using clock = std::chrono::steady_clock;

  static std::size_t elements_of(replica const& mine) {
    return static_cast<std::size_t>(mine.parameters.elements());
  }

  /// Before the first step, or, of a run that goes on at an epoch's end, before the first meeting.
  void prepare(replica const& mine) {
    if (sum_) return;
    arrays_ = how_.average_updater_state ? mine.arrays() : 1;
    sum_.emplace(mine.parameters.type(), elements_of(mine) * static_cast<std::size_t>(arrays_), true);
    if (!restored_) broadcast_replica(*world_, mine, mine.arrays());
    began_ = clock::now();
  }

  /// The weighted mean of all ranks' arrays, and what they voted.
  void meet(replica const& mine) {
    prepare(mine);
    auto const part = [&](int array) {
      return sum_->data() + static_cast<std::size_t>(array) * mine.bytes();
    };
    for (int array = 0; array < arrays_; ++array) mine.read(array, part(array));
    weighted_sum::share const own{seen_, static_cast<double>(seen_)};
    under_way_ = true;
    sum_->start(*world_, own, expected_, own_);
    sum_->wait();
    under_way_ = false;
    agreed_ = sum_->voted(agreed_.meetings + 1);
    if (agreed_.examples > 0) {
      sum_->settle(agreed_.weight, expected_);
      add_spread_of_means(*world_, mine, part(0), own, expected_, agreed_.weight);
      for (int array = 0; array < arrays_; ++array) {
        mine.keep_frozen(array, part(array));
        mine.write(array, part(array));
      }
      mine.parameters.changed();
    }
    if (how_.seconds > 0) choose_period();
    steps_ = busy_ = seen_ = expected_ = 0;
    own_ = {};
  }

  void choose_period() {
    clock::time_point const now = clock::now();
    double const passed = std::chrono::duration<double>(now - std::exchange(began_, now)).count();
    double slowest = busy_ > 0 ? passed / static_cast<double>(busy_) : 0;
    world_->allreduce(std::span<double>(&slowest, 1), reduction::maximum);
    if (slowest > 0) period_ = static_cast<std::int64_t>(std::clamp(how_.seconds / slowest, 1.0, 1e9));
  }

  std::unique_ptr<communicator> world_;
  parameter_averaging how_;
  std::int64_t period_;
  std::optional<weighted_sum> sum_;
  int arrays_ = 1;
  std::int64_t steps_ = 0;     // since the last meeting
  std::int64_t busy_ = 0;      // of these, with examples on this rank
  std::int64_t seen_ = 0;      // examples of this rank since then
  std::int64_t expected_ = 0;  // examples of all ranks since then
  votes own_{};
  agreement agreed_{};
  clock::time_point began_{};
  bool under_way_ = false;
  bool restored_ = false;
};

}  // namespace detail

inline std::unique_ptr<strategy> parameter_averaging::on(communicator& world) const {
  if (every < 1 || !(seconds >= 0 && std::isfinite(seconds)))
    throw setting_error({.what = "the period makes no sense",
                         .where = "parameter_averaging",
                         .expected = "every ≥ 1 step, or seconds > 0",
                         .got = {"every ", every, ", seconds ", seconds}});
  return std::make_unique<detail::averaging_strategy>(world.duplicate(), *this);
}

}  // namespace cohort
