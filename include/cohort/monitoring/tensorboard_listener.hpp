// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/sink.hpp>
#include <cohort/io/event_file.hpp>
#include <cohort/monitoring/detail/dense_parameters.hpp>
#include <cohort/monitoring/detail/implementation.hpp>
#include <cohort/training/detail/mean_loss.hpp>
#include <cohort/training/listener.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Settings of a tensorboard_listener.
///
/// Units     `every`: steps between two points of the curves; automatic: 100, with additional points after 1,
///           2, 5, 10, 20 and 50 steps and after each epoch. `histograms_every`: steps between histograms,
///           update ratios and images of filters; 0: never; automatic: 1000, and once after the first epoch
///           or, for a stream, after 100 steps. `hyperparameters`: shown with the run's hyperparameters;
///           replace those of the same name. `lines` receives the error if the files cannot be written.
struct tensorboard_settings {
  static constexpr std::int64_t automatic = -1;

  std::int64_t every = automatic;
  std::int64_t histograms_every = automatic;
  std::vector<io::hyperparameter> hyperparameters{};
  sink lines = stderr_sink();
};

/// Writes event files that TensorBoard shows: `tensorboard --logdir runs`, with the folder "runs/first".
///
///     train/loss, train/learning_rate          scalars every `every` steps
///     speed/…, exchange/…                      samples/s, ms a step, waits, bytes; values of the strategy
///     epoch/loss, validation/…                 scalars after each epoch
///     parameters/…, gradients/…, updates/…     histograms: trained tensors, last gradients and updates
///     update_ratio/…                           norm of the last update / norm of the tensor before it
///     filters/…                                image of the first convolution's weights
///     network, settings                        text
///     HParams                                  settings, and the metrics of the epochs
///
/// Only rank 0 writes, so every rank can have a tensorboard_listener.
///
/// Units     steps are counted from 1, over all epochs; values of an epoch belong to the epoch's last step.
///           Losses and samples are those of progress_listener. The learning rate is that of
///           training_settings::optimizer, with the factor of `plateau`. The HParams page names the
///           training_settings by their paths. Bytes are those that rank 0 sends in steps, not in
///           evaluations or at the ends of epochs. Gradients: see training::last_gradient. If the strategy
///           exchanges parameters, an update includes the exchange. If a step does not update the parameters,
///           no gradients or updates are written.
/// Order     a resumed run writes a new file to the same folder. TensorBoard shows all files of a folder as
///           one run.
/// Errors    setting_error unless `every` ≥ 1 or automatic, `histograms_every` ≥ 0 or automatic, and the
///           hyperparameters are finite. If a file cannot be written, the listener logs the error and writes
///           nothing more; training continues.
/// Cost      a point of the curves: some 30 µs. Histograms: memory for two copies of the parameters and 12
///           bytes per element of the largest tensor, and the time of some passes over the parameters. See
///           docs/monitoring.md for measurements.
class tensorboard_listener final : public listener {
 public:
  explicit tensorboard_listener(std::string folder, tensorboard_settings settings = {});
  tensorboard_listener(tensorboard_listener const&) = delete;
  tensorboard_listener& operator=(tensorboard_listener const&) = delete;
  ~tensorboard_listener() override;

  void on_step(training& run, step_report const& done) override;
  void on_epoch(training& run, epoch_report const& done) override;
  void on_end(training& run) override;

  /// Adds a point to a curve that the program defines, such as "validation/accuracy". The HParams page
  /// compares such a curve if it has points before the end of the first epoch. Does nothing on ranks other
  /// than 0, before the first step, and after an error.
  void scalar(std::string_view tag, std::int64_t step, double value);
  /// Returns the file, for images, texts and curves that the program adds. Null on ranks other than 0, before
  /// the first step, and after an error.
  io::event_file* file() { return file_.get(); }
  /// Returns the error after which nothing more is written; empty if there was none.
  std::string const& last_error() const { return last_error_; }

 private:
  void begin(training& run, step_report const& done);
  bool has_point(step_report const& done) const;
  /// Returns whether histograms are written after the step that is `later` steps after `done`.
  bool has_histograms(step_report const& done, std::int64_t later) const;
  void write_scalars(training& run, step_report const& done);
  void write_parameters(training& run, step_report const& done);
  void write_filters(training& run, detail::dense_parameters const& now);
  /// Calls `write`, unless an earlier call has failed. After a file_error, nothing more is written.
  template <class F>
  void attempt(F const& write);

  std::string folder_;
  tensorboard_settings settings_;
  std::unique_ptr<io::event_file> file_{};
  std::vector<io::hyperparameter> hyperparameters_{};
  std::string last_error_{};
  std::vector<std::string> compared_{};  // tags that the HParams page compares
  bool has_compared_ = false;            // whether compared_ is written
  /// Epoch of the last on_epoch; −1 after a step. If the ranks change, fit repeats on_epoch.
  std::int64_t epoch_of_point_ = -1;
  std::int64_t first_step_ = 0, first_epoch_ = 0;
  detail::dense_parameters before_{};      // parameters before the step whose update is shown
  std::int64_t steps_ = 0, examples_ = 0;  // numbers since the last point
  detail::mean_loss loss_{};
  double step_seconds_ = 0, wait_seconds_ = 0, exchange_seconds_ = 0;
  std::uint64_t bytes_sent_ = 0;  // bytes since the last point, without the first step
  std::int64_t steps_of_bytes_ = 0;
};

}  // namespace cohort
