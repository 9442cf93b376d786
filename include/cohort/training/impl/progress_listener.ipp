// SPDX-License-Identifier: Apache-2.0
#include <sys/ioctl.h>

#include <algorithm>
#include <cohort/detail/text_table.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/progress_listener.hpp>
#include <cohort/training/stop_on_signal.hpp>
#include <cohort/training/training.hpp>
#include <cstdio>
#include <optional>
#include <string_view>

namespace cohort {

namespace detail {

/// Returns the longest prefix of `text` that fits on one line of a terminal. (The next text cannot replace a
/// wrapped line.) Returns the whole text if `file` is not a terminal, or has no width.
std::string_view cut_to_terminal(std::string_view text, int file) {
  winsize window{};
  if (::ioctl(file, TIOCGWINSZ, &window) != 0 || window.ws_col < 2) return text;
  std::size_t characters = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    bool const begins = (static_cast<unsigned char>(text[at]) & 0xc0U) != 0x80U;  // a character begins
    if (begins && ++characters == window.ws_col) return text.substr(0, at);
  }
  return text;
}

}  // namespace detail

sink stderr_bar() {
  return [](std::string_view text) {
    text = detail::cut_to_terminal(text, 2);
    std::string const whole = "\r" + std::string(text) + "\x1b[K" + (text.empty() ? "\r" : "");
    std::fwrite(whole.data(), 1, whole.size(), stderr);
    std::fflush(stderr);
  };
}

void progress_listener::on_step(training& run, step_report const& done) {
  if (run.world().rank() != 0) return;
  // an interrupted epoch starts again with the same number
  if (done.epoch != epoch_ || done.step_in_epoch == 0) begin(done.epoch);
  loss_.add(done);
  step_in_epoch_ = done.step_in_epoch;
  learning_rate_ = run.state().learning_rate(done.step, done.epoch);
  ++steps_;
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

void progress_listener::on_epoch(training& run, epoch_report const& done) {
  if (run.world().rank() != 0) return;
  remove_bar();
  if (!show_.lines) return;
  double const each_second = done.seconds > 0 ? static_cast<double>(done.examples) / done.seconds : 0;
  auto const known = [](double number) { return is_finite(number) ? std::optional(number) : std::nullopt; };
  std::string line = "epoch " + std::to_string(done.epoch + 1)
                     + (done.epochs > 0 ? " of " + std::to_string(done.epochs) : "") + ": loss "
                     + detail::loss_text(known(done.loss)) + ", "
                     + (done.ignored > 0 ? std::to_string(done.examples - done.ignored) + " of " : "")
                     + std::to_string(done.examples) + " examples in " + detail::decimal_text(done.seconds, 1)
                     + " s, " + detail::decimal_text(each_second, 0) + " samples/s";
  if (done.epoch == epoch_) line += ", learning rate " + detail::three_digits(learning_rate_);
  for (metric_value const& one : done.validation)
    line += ", " + one.name + " " + detail::decimal_text(known(one.value), 4);
  show_.lines(line);
}

void progress_listener::on_vote(training& run, votes const& agreed) {
  if (run.world().rank() != 0 || !agreed.stop || !stop_on_signal::arrived()) return;
  remove_bar();
  if (show_.lines)
    show_.lines("epoch " + std::to_string(epoch_ + 1) + ": stopped by a signal after step "
                + std::to_string(step_in_epoch_ + 1));
}

void progress_listener::on_end(training&) { remove_bar(); }

void progress_listener::begin(std::int64_t epoch) {
  epoch_ = epoch;
  loss_ = {};
  seconds_ = shown_at_ = 0;
  steps_ = examples_ = 0;
}

void progress_listener::remove_bar() {
  if (std::exchange(drawn_, false)) show_.bar("");
}

std::string progress_listener::numbers(step_report const& now) const {
  std::string text = ", loss " + detail::loss_text(loss_.value());
  if (seconds_ <= 0) return text;
  text +=
      ", " + detail::decimal_text(static_cast<double>(examples_) * now.ranks / seconds_, 0) + " samples/s";
  if (now.ranks > 1) text += " by " + std::to_string(now.ranks) + " ranks";
  if (now.steps_in_epoch > 0) {
    auto const remaining = static_cast<double>(now.steps_in_epoch - now.step_in_epoch - 1);
    text += ", " + time_text(remaining * seconds_ / static_cast<double>(steps_)) + " left";
  }
  return text;
}

std::string progress_listener::time_text(double seconds) {
  auto const whole = static_cast<std::int64_t>(std::min(seconds, 1e9) + 0.5);
  if (whole < 100) return std::to_string(whole) + " s";
  if (whole < 100 * 60) return std::to_string((whole + 30) / 60) + " min";
  return std::to_string((whole + 1800) / 3600) + " h";
}

std::int64_t progress_listener::percent(step_report const& now) {
  return 100 * (now.step_in_epoch + 1) / now.steps_in_epoch;
}

std::string progress_listener::bar_text(step_report const& now) const {
  std::string text = "epoch " + std::to_string(now.epoch + 1);
  if (now.steps_in_epoch <= 0) return text + ": step " + std::to_string(now.step_in_epoch + 1) + numbers(now);
  auto const full = static_cast<std::size_t>(cells * (now.step_in_epoch + 1) / now.steps_in_epoch);
  std::string inside = std::string(full, '=') + (full < cells ? ">" : "");
  inside.resize(static_cast<std::size_t>(cells), ' ');
  std::string const share = std::to_string(percent(now));
  return text + " [" + inside + "] " + std::string(3 - std::min<std::size_t>(share.size(), 3), ' ') + share
         + " %" + numbers(now);
}

std::string progress_listener::line_text(step_report const& now) const {
  std::string text =
      "epoch " + std::to_string(now.epoch + 1) + ": step " + std::to_string(now.step_in_epoch + 1);
  if (now.steps_in_epoch > 0)
    text += " of " + std::to_string(now.steps_in_epoch) + " (" + std::to_string(percent(now)) + " %)";
  return text + numbers(now);
}

}  // namespace cohort
