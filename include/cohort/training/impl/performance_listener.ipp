// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/text.hpp>
#include <cohort/detail/text_table.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/plan/plan_text.hpp>
#include <cohort/training/exchange_text.hpp>
#include <cohort/training/performance_listener.hpp>
#include <utility>

namespace cohort {

performance_listener::performance_listener(std::int64_t every, sink to)
    : to_(to ? std::move(to) : silent_sink()) {
  if (every < 1 || every > largest_interval)
    throw setting_error({.what = "invalid report interval",
                         .where = "performance_listener",
                         .expected = {"every 1 to ", largest_interval, " steps"},
                         .got = {every}});
  every_ = static_cast<std::size_t>(every);
  seconds_.reserve(every_);
}

void performance_listener::on_step(training& run, step_report const& done) {
  seconds_.push_back(done.step_seconds);
  working_ += done.step_seconds;
  waiting_ += done.wait_seconds;
  exchanging_ += done.exchange_seconds;
  bytes_sent_ += done.bytes_sent;
  messages_sent_ += done.messages_sent;
  examples_ += done.examples;
  if (seconds_.size() < every_) return;
  log_speed(done);
  if (done.ranks > 1) log_exchange(run.exchange_report());
  seconds_.clear();
  working_ = waiting_ = exchanging_ = 0;
  bytes_sent_ = messages_sent_ = 0;
  examples_ = 0;
}

void performance_listener::log_speed(step_report const& done) {
  double const all = working_ + waiting_;
  std::string text = line(done.step + 1);
  if (done.ranks > 1) {
    double const bytes = static_cast<double>(bytes_sent_) / static_cast<double>(every_);
    text += ", " + detail::decimal_text(all > 0 ? 100 * exchanging_ / all : 0, 1)
            + " % waiting for other ranks, " + detail::in_bytes(bytes) + " sent a step";
  }
  to_(text);
}

void performance_listener::log_exchange(std::vector<measurement> measured) {
  auto const steps = static_cast<std::int64_t>(every_);
  if (std::string const text = exchange_text(measured, measured_before_, steps); !text.empty())
    to_("exchange: " + text);
  bool selects = false;
  for (measurement const& one : measured) selects |= one.name == "density";
  std::string const warning = exchange_warning({.steps = static_cast<double>(steps),
                                                .compute_seconds = working_ - exchanging_,
                                                .exchange_seconds = exchanging_,
                                                .bytes = static_cast<double>(bytes_sent_),
                                                .messages = static_cast<double>(messages_sent_),
                                                .selects = selects});
  if (!warning.empty()) to_(warning);
  measured_before_ = std::move(measured);
}

std::string performance_listener::line(std::int64_t last) {
  double const all = working_ + waiting_;
  std::int64_t const first = last - static_cast<std::int64_t>(every_) + 1;
  return "steps " + std::to_string(first) + " to " + std::to_string(last) + ": "
         + detail::decimal_text(median() * 1e3, 3) + " ms a step (median), "
         + detail::decimal_text(all > 0 ? 100 * waiting_ / all : 0, 1) + " % of the time waiting for data, "
         + detail::decimal_text(all > 0 ? static_cast<double>(examples_) / all : 0, 0) + " samples/s";
}

double performance_listener::median() {
  auto const middle = seconds_.begin() + static_cast<std::ptrdiff_t>(seconds_.size() / 2);
  std::nth_element(seconds_.begin(), middle, seconds_.end());
  if (seconds_.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(seconds_.begin(), middle)) / 2;
}

}  // namespace cohort
