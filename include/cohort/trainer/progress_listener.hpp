// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>
#include <algorithm>
#include <cohort/execution/detail/text_table.hpp>
#include <cohort/execution/sink.hpp>
#include <cohort/trainer/listener.hpp>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace cohort {

/// A line of a terminal that is drawn again and again: each text replaces the former one, "" removes it.
inline sink stderr_bar() {
  return [](std::string_view text) {
    std::string const whole = "\r" + std::string(text) + "\x1b[K" + (text.empty() ? "\r" : "");
    std::fwrite(whole.data(), 1, whole.size(), stderr);
    std::fflush(stderr);
  };
}

/// Where progress is shown.
///
/// `lines`   a line at the end of each epoch, and without a bar also now and then within it
/// `bar`     what draws the bar; empty: none
struct progress_settings {
  sink lines = stderr_sink();
  sink bar = ::isatty(2) != 0 ? stderr_bar() : sink{};
  double line_seconds = 10;  ///< between two lines within an epoch
  double bar_seconds = 0.1;  ///< between two drawings of the bar
};

/// Shows how far training is: a bar where the standard error stream is a terminal, else plain lines.
///
///     epoch 2 [==========>         ]  52 %, loss 0.0612, 26290 samples/s, 1 s left
///     epoch 2: loss 0.0588, 60000 examples in 2.3 s, 26102 samples/s
///
/// Units     epochs count from 1; the loss is the mean over the epoch so far; times are the reports'.
/// Order     a bar is removed at the end of its epoch and when the listener ends, so that what others print
///           after that stands on a line of its own.
class progress_listener final : public listener {
 public:
  explicit progress_listener(progress_settings settings = {}) : show_(std::move(settings)) {}
  progress_listener(progress_listener const&) = delete;
  progress_listener& operator=(progress_listener const&) = delete;
  ~progress_listener() override { remove_bar(); }

  void on_step(training&, step_report const& done) override {
    // an epoch that was broken off comes again under its number
    if (done.epoch != epoch_ || done.step_in_epoch == 0) begin(done.epoch);
    loss_ += done.loss * done.examples;
    examples_ += done.examples;
    seconds_ += done.step_seconds + done.wait_seconds;
    double const due = shown_at_ + (show_.bar ? show_.bar_seconds : show_.line_seconds);
    if (seconds_ < due) return;
    shown_at_ = seconds_;
    drawn_ = static_cast<bool>(show_.bar);
    if (drawn_)
      show_.bar(bar_text(done));
    else if (show_.lines)
      show_.lines(line_text(done));
  }

  void on_epoch(training&, epoch_report const& done) override {
    remove_bar();
    if (!show_.lines) return;
    double const each_second = done.seconds > 0 ? static_cast<double>(done.examples) / done.seconds : 0;
    show_.lines("epoch " + std::to_string(done.epoch + 1) + ": loss " + detail::decimal_text(done.loss, 4)
                + ", " + std::to_string(done.examples) + " examples in "
                + detail::decimal_text(done.seconds, 1) + " s, " + detail::decimal_text(each_second, 0)
                + " samples/s");
  }

 private:
  static constexpr std::int64_t cells = 20;

  void begin(std::int64_t epoch) {
    epoch_ = epoch;
    loss_ = seconds_ = shown_at_ = 0;
    examples_ = 0;
  }

  void remove_bar() {
    if (std::exchange(drawn_, false)) show_.bar("");
  }

  /// ", loss 0.0612, 26290 samples/s, 1 s left"
  std::string numbers(step_report const& now) const {
    std::string text =
        ", loss "
        + detail::decimal_text(loss_ / static_cast<double>(std::max<std::int64_t>(examples_, 1)), 4);
    if (seconds_ <= 0) return text;
    text += ", " + detail::decimal_text(static_cast<double>(examples_) / seconds_, 0) + " samples/s";
    if (now.steps_in_epoch > 0) text += ", " + time_text(seconds_ * left(now)) + " left";
    return text;
  }
  /// Steps to come per step done.
  static double left(step_report const& now) {
    return static_cast<double>(now.steps_in_epoch - now.step_in_epoch - 1)
           / static_cast<double>(now.step_in_epoch + 1);
  }
  static std::string time_text(double seconds) {
    auto const whole = static_cast<std::int64_t>(std::min(seconds, 1e9) + 0.5);
    if (whole < 100) return std::to_string(whole) + " s";
    if (whole < 100 * 60) return std::to_string((whole + 30) / 60) + " min";
    return std::to_string((whole + 1800) / 3600) + " h";
  }
  static std::int64_t percent(step_report const& now) {
    return 100 * (now.step_in_epoch + 1) / now.steps_in_epoch;
  }

  std::string bar_text(step_report const& now) const {
    std::string text = "epoch " + std::to_string(now.epoch + 1);
    if (now.steps_in_epoch <= 0)
      return text + ": step " + std::to_string(now.step_in_epoch + 1) + numbers(now);
    auto const full = static_cast<std::size_t>(cells * (now.step_in_epoch + 1) / now.steps_in_epoch);
    std::string inside = std::string(full, '=') + (full < cells ? ">" : "");
    inside.resize(static_cast<std::size_t>(cells), ' ');
    std::string const share = std::to_string(percent(now));
    return text + " [" + inside + "] " + std::string(3 - std::min<std::size_t>(share.size(), 3), ' ') + share
           + " %" + numbers(now);
  }

  std::string line_text(step_report const& now) const {
    std::string text =
        "epoch " + std::to_string(now.epoch + 1) + ": step " + std::to_string(now.step_in_epoch + 1);
    if (now.steps_in_epoch > 0)
      text += " of " + std::to_string(now.steps_in_epoch) + " (" + std::to_string(percent(now)) + " %)";
    return text + numbers(now);
  }

  progress_settings show_;
  std::int64_t epoch_ = -1;
  std::int64_t examples_ = 0;
  double loss_ = 0;
  double seconds_ = 0;
  double shown_at_ = 0;
  bool drawn_ = false;
};

}  // namespace cohort
