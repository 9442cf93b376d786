// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>
#include <cohort/execution/sink.hpp>
#include <cohort/training/detail/mean_loss.hpp>
#include <cohort/training/listener.hpp>
#include <cstdint>
#include <string>
#include <utility>

namespace cohort {

/// Returns a sink for one line of the terminal: each text replaces the previous one, and "" removes the line.
/// A text that is wider than the terminal is cut.
sink stderr_bar();

/// Settings of a progress_listener.
///
/// `lines`   receives a line at the end of each epoch and, without a bar, every `line_seconds` within an
///           epoch
/// `bar`     draws the bar; empty: no bar
struct progress_settings {
  sink lines = stderr_sink();
  sink bar = ::isatty(2) != 0 ? stderr_bar() : sink{};
  double line_seconds = 10;  ///< interval between two lines within an epoch
  double bar_seconds = 0.1;  ///< interval between two drawings of the bar
};

/// Shows the progress of training: a bar if the standard error stream is a terminal, otherwise lines.
///
///     epoch 2 [==========>         ]  52 %, loss 0.0612, 26290 samples/s, 1 s left
///     epoch 2 [==========>         ]  52 %, loss 0.0612, 51310 samples/s by 2 ranks, 1 s left
///     epoch 2 of 6: loss 0.0588, 60000 examples in 2.3 s, 26102 samples/s, learning rate 0.01
///
/// The line at the end of an epoch also contains the metrics of fit_settings, if any. If some examples did
/// not count (epoch_report::ignored), the line contains "58213 of 60000 examples"; without a loss, "loss
/// none". If stop_on_signal stops the run after SIGINT or SIGTERM, a line reports the stop. Only rank 0
/// writes, so every rank can have a progress_listener.
///
/// Units     epochs count from 1. The loss is the mean over the epoch so far: over rank 0's examples within
///           an epoch, over the examples of all ranks at the epoch's end. In a resumed epoch, the numbers
///           cover only the resumed part. Samples are those of all ranks; within an epoch, their number is
///           estimated as rank 0's samples times the number of ranks. The learning rate is that of the last
///           step, without a layer's own factor. Times are those of the reports.
/// Order     the bar is removed at the end of its epoch, at the end of fit, and by the destructor, so later
///           output starts on an empty line.
class progress_listener final : public listener {
 public:
  explicit progress_listener(progress_settings settings = {}) : show_(std::move(settings)) {}
  progress_listener(progress_listener const&) = delete;
  progress_listener& operator=(progress_listener const&) = delete;
  ~progress_listener() override { remove_bar(); }

  void on_step(training& run, step_report const& done) override;

  void on_epoch(training& run, epoch_report const& done) override;

  void on_vote(training& run, votes const& agreed) override;

  void on_end(training& run) override;

 private:
  static constexpr std::int64_t cells = 20;

  void begin(std::int64_t epoch);

  void remove_bar();

  /// Returns a text such as ", loss 0.0612, 51310 samples/s by 2 ranks, 1 s left".
  std::string numbers(step_report const& now) const;
  static std::string time_text(double seconds);
  static std::int64_t percent(step_report const& now);

  std::string bar_text(step_report const& now) const;

  std::string line_text(step_report const& now) const;

  progress_settings show_;
  std::int64_t epoch_ = -1;
  std::int64_t step_in_epoch_ = 0;  // step number of the last step within its epoch
  double learning_rate_ = 0;        // learning rate of the last step
  std::int64_t steps_ = 0, examples_ = 0;
  detail::mean_loss loss_{};
  double seconds_ = 0;
  double shown_at_ = 0;
  bool drawn_ = false;
};

}  // namespace cohort
