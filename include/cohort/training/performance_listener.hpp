// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/sink.hpp>
#include <cohort/training/training.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cohort {

/// Logs the speed every `every` steps: "steps 101 to 200: 1.213 ms a step (median), 0.4 % of the time waiting
/// for data, 26290 samples/s", and with several ranks ", 12.0 % waiting for other ranks, 271 kB sent a step".
/// With several ranks, also logs the strategy's measurements of these steps (exchange_text). If the exchange
/// takes longer than compute, also logs a warning with the cause (exchange_warning).
///
/// Units     times, samples and bytes are those of this rank's reports, without the time of listeners.
///           samples/s: samples divided by the time of the steps and of the waits for data. Bytes: sent in
///           steps, not in evaluations or at the ends of epochs.
/// Errors    setting_error unless 1 ≤ `every` ≤ 10,000,000.
/// Cost      allocates only in the steps that log a line.
class performance_listener final : public listener {
 public:
  explicit performance_listener(std::int64_t every = 100, sink to = stderr_sink());

  void on_step(training& run, step_report const& done) override;

 private:
  static constexpr std::int64_t largest_interval = 10'000'000;

  void log_speed(step_report const& done);

  void log_exchange(std::vector<measurement> measured);

  std::string line(std::int64_t last);

  /// Median of the step times; for an even number of steps, the mean of the middle two.
  double median();

  std::size_t every_ = 1;
  sink to_;
  std::vector<double> seconds_;
  double working_ = 0;
  double waiting_ = 0;
  double exchanging_ = 0;
  std::int64_t examples_ = 0;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t messages_sent_ = 0;
  std::vector<measurement> measured_before_;
};

}  // namespace cohort
