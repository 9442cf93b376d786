// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/error/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/detail/text_table.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/plan/table.hpp>
#include <cohort/trainer/exchange_text.hpp>
#include <cohort/trainer/training.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cohort {

/// Says every `every` steps how fast they were:
/// "steps 101 to 200: 1.213 ms a step (median), 0.4 % of the time waiting for data, 26290 samples/s", and with several ranks
/// ", 12.0 % waiting for other ranks, 271 kB sent a step"; then what the strategy has measured in those steps: exchange_text.
/// Warns, with a reason, where ranks wait for each other longer than they compute: exchange_warning.
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
    if (done.ranks > 1) say(run.exchange_report(), run.world().sent());
    seconds_.clear();
    working_ = waiting_ = exchanging_ = 0;
    examples_ = 0;
  }

 private:
  static constexpr std::int64_t largest_interval = 10'000'000;

  void say(step_report const& done) {
    double const all = working_ + waiting_;
    std::string text = line(done.step + 1);
    if (done.ranks > 1) {
      double const bytes =
          static_cast<double>(done.bytes_sent - sent_before_.bytes_sent) / static_cast<double>(every_);
      text += ", " + detail::decimal_text(all > 0 ? 100 * exchanging_ / all : 0, 1)
              + " % waiting for other ranks, " + detail::in_bytes(bytes) + " sent a step";
    }
    to_(text);
  }

  void say(std::vector<measurement> measured, traffic const& sent) {
    auto const steps = static_cast<std::int64_t>(every_);
    if (std::string const text = exchange_text(measured, measured_before_, steps); !text.empty())
      to_("exchange: " + text);
    bool selects = false;
    for (measurement const& one : measured) selects |= one.name == "density";
    std::string const warning =
        exchange_warning({.steps = static_cast<double>(steps),
                          .compute_seconds = working_ - exchanging_,
                          .exchange_seconds = exchanging_,
                          .bytes = static_cast<double>(sent.bytes_sent - sent_before_.bytes_sent),
                          .messages = static_cast<double>(sent.messages_sent - sent_before_.messages_sent),
                          .selects = selects});
    if (!warning.empty()) to_(warning);
    measured_before_ = std::move(measured);
    sent_before_ = sent;
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
  traffic sent_before_{};
  std::vector<measurement> measured_before_;
};

}  // namespace cohort
