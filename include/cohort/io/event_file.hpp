// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cohort::io {

/// Histogram with intervals of equal width.
///
/// Units     `limits`: upper bound of each interval, ascending. `counts`: how many numbers each interval
///           contains. `count`, `sum` and `sum_squares` cover all finite numbers.
struct value_histogram {
  double smallest = 0;
  double largest = 0;
  double count = 0;
  double sum = 0;
  double sum_squares = 0;
  std::vector<double> limits{};
  std::vector<double> counts{};
};

/// Returns the histogram of the finite numbers. Without finite numbers, the histogram has one empty interval;
/// if all numbers are equal, it has one interval.
value_histogram histogram_of(std::span<float const> numbers, int intervals = 30);
value_histogram histogram_of(std::span<double const> numbers, int intervals = 30);

/// A named setting of a run, for TensorBoard's HParams page.
struct hyperparameter {
  std::string name;
  std::variant<double, bool, std::string> value;
};

/// Status of a run on TensorBoard's HParams page.
enum class run_status : std::uint8_t { succeeded = 1, failed = 2, running = 3 };

/// Writes an event file of TensorBoard: "events.out.tfevents.TIME.HOST.PID.NUMBER" in a folder. TensorBoard
/// shows each folder with event files as a run and reads the file while it grows.
///
/// Units     `step`: any count that does not decrease for a tag. `tag`: name of a curve or panel; the part
///           before the first '/' is its group.
/// Order     one thread at a time. Records are buffered until flush, the destructor, or 64 KiB.
/// Errors    file_error if the folder or the file cannot be created or written. After an error the buffered
///           records are lost and the file may end with an incomplete record, which TensorBoard ignores.
/// Source    tensorflow/core/util/event.proto; TFRecord; the plugins text and hparams of TensorBoard.
class event_file {
 public:
  /// Creates the folder if it does not exist, and a new file in it.
  explicit event_file(std::string const& folder);
  event_file(event_file const&) = delete;
  event_file& operator=(event_file const&) = delete;
  /// Writes the buffered records; errors are ignored.
  ~event_file();

  std::string const& path() const { return path_; }

  /// A point of a curve.
  void scalar(std::string_view tag, std::int64_t step, double value);
  /// A histogram, on the pages Histograms and Distributions.
  void histogram(std::string_view tag, std::int64_t step, value_histogram const& of);
  /// An image of height × width × channels bytes, 1 channel (grey) or 3 (red, green, blue).
  ///
  /// Errors    shape_error for another number of channels or bytes.
  void image(std::string_view tag, std::int64_t step, int height, int width, int channels,
             std::span<std::uint8_t const> pixels);
  /// Text in Markdown.
  void text(std::string_view tag, std::int64_t step, std::string_view markdown);

  /// Writes the settings of the run. Call once per file, before end_run.
  ///
  /// Errors    numeric_error for a number that is not finite.
  void begin_run(std::span<hyperparameter const> settings);
  /// Writes the settings, and the tags of the scalars, that the HParams page compares over all runs.
  void compare_runs(std::span<hyperparameter const> settings, std::span<std::string const> metric_tags);
  void end_run(run_status how = run_status::succeeded);

  /// Writes the buffered records to the file.
  void flush();

 private:
  void add_value(std::int64_t step, std::string_view value);
  void add_plugin_value(std::string_view tag, std::string_view plugin, std::string_view content,
                        std::string_view tensor, std::int64_t step);
  void add_event(std::string_view fields);

  std::string path_;
  std::string pending_{};
  int file_ = -1;
};

}  // namespace cohort::io

namespace cohort::detail {

/// Returns whether the value is a text, a bool or a finite number.
bool has_finite_value(io::hyperparameter const& one);

}  // namespace cohort::detail
