// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/error/text.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/execution/text_table.hpp>
#include <cohort/plan/table.hpp>
#include <cohort/trainer/training.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace cohort {

/// Says every `every` steps how fast they were:
/// "steps 101 to 200: 1.213 ms a step (median), 0.4 % of the time waiting for data, 26290 samples/s", and with several ranks
/// ", 12.0 % waiting for other ranks, 271 kB sent a step"; then what the strategy has measured, of those steps where it is a sum:
/// "exchange: threshold 0.00012, density 0.001, …". Warns where ranks wait for each other longer than they
/// compute.
///
/// Units     times, samples and bytes are those of this rank's reports: what listeners do is not in them. samples/s counts
///           waiting too.
/// Moves     allocates nothing in a step but the line itself.
/// Errors    setting_error if `every` is not positive or so large that it must be a mistake.
class performance_listener final : public listener {
 public:
  explicit performance_listener(std::int64_t every = 100, sink to = stderr_sink())
      : to_(to ? std::move(to) : silent_sink()) {
    if (every < 1 || every > largest_interval)
      throw setting_error({.what = "the speed cannot be said that often",
                           .where = "performance_listener",
                           .expected = {"every 1 to ", largest_interval, " steps"},
                           .got = {every}});
    every_ = static_cast<std::size_t>(every);
    seconds_.reserve(every_);
  }

  void on_step(training& run, step_report const& done) override {
    seconds_.push_back(done.step_seconds);
    working_ += done.step_seconds;
    waiting_ += done.wait_seconds;
    exchanging_ += done.exchange_seconds;
    examples_ += done.examples;
    if (seconds_.size() < every_) return;
    say(done);
    say(run.exchange_report());
    seconds_.clear();
    working_ = waiting_ = exchanging_ = 0;
    examples_ = 0;
    sent_before_ = done.bytes_sent;
  }

 private:
  static constexpr std::int64_t largest_interval = 10'000'000;

  void say(step_report const& done) {
    double const all = working_ + waiting_;
    std::string text = line(done.step + 1);
    if (done.ranks > 1) {
      double const bytes = static_cast<double>(done.bytes_sent - sent_before_) / static_cast<double>(every_);
      text += ", " + detail::decimal_text(all > 0 ? 100 * exchanging_ / all : 0, 1)
              + " % waiting for other ranks, " + detail::in_bytes(bytes) + " sent a step";
    }
    to_(text);
    if (done.ranks > 1 && exchanging_ > working_ - exchanging_)
      to_("the exchange outlasts the step: ranks wait for each other longer than they compute; larger "
          "batches, rarer "
          "averaging or fewer ranks would use them better");
  }

  void say(std::vector<measurement> measured) {
    if (measured.empty()) return;
    std::string text;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      double const before = measured[i].is_sum && i < measured_before_.size() ? measured_before_[i].value : 0;
      char number[32];
      std::snprintf(number, sizeof number, "%.4g", measured[i].value - before);
      text += detail::text_of({i == 0 ? "exchange: " : ", ", measured[i].name, " ", number});
    }
    measured_before_ = std::move(measured);
    to_(text);
  }

  std::string line(std::int64_t last) {
    double const all = working_ + waiting_;
    std::int64_t const first = last - static_cast<std::int64_t>(every_) + 1;
    return "steps " + std::to_string(first) + " to " + std::to_string(last) + ": "
           + detail::decimal_text(median() * 1e3, 3) + " ms a step (median), "
           + detail::decimal_text(all > 0 ? 100 * waiting_ / all : 0, 1) + " % of the time waiting for data, "
           + detail::decimal_text(all > 0 ? static_cast<double>(examples_) / all : 0, 0) + " samples/s";
  }

  /// Of an even number the mean of the middle two.
  double median() {
    auto const middle = seconds_.begin() + static_cast<std::ptrdiff_t>(seconds_.size() / 2);
    std::nth_element(seconds_.begin(), middle, seconds_.end());
    if (seconds_.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(seconds_.begin(), middle)) / 2;
  }

  std::size_t every_ = 1;
  sink to_;
  std::vector<double> seconds_;
  double working_ = 0;
  double waiting_ = 0;
  double exchanging_ = 0;
  std::int64_t examples_ = 0;
  std::uint64_t sent_before_ = 0;
  std::vector<measurement> measured_before_;
};

}  // namespace cohort
