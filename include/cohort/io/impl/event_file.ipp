// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/host_identity.hpp>
#include <cohort/io/detail/protobuf.hpp>
#include <cohort/io/detail/stored_png.hpp>
#include <cohort/io/detail/tfrecord_frame.hpp>
#include <cohort/io/event_file.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/folder.hpp>
#include <cohort/tensor/finite.hpp>
#include <cstddef>
#include <utility>

namespace cohort::detail {

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

template <class T>
io::value_histogram equal_width_histogram(std::span<T const> numbers, int intervals) {
  io::value_histogram made;
  for (T const one : numbers) {
    auto const number = static_cast<double>(one);
    if (!is_finite(number)) continue;
    made.smallest = made.count > 0 ? std::min(made.smallest, number) : number;
    made.largest = made.count > 0 ? std::max(made.largest, number) : number;
    made.count += 1;
    made.sum += number;
    made.sum_squares += number * number;
  }
  intervals = std::max(intervals, 1);
  double const width = (made.largest - made.smallest) / intervals;
  if (!(width > 0) || !is_finite(width)) {  // no numbers, equal numbers, or a range above the largest double
    made.limits = {made.largest};
    made.counts = {made.count};
    return made;
  }
  made.counts.resize(static_cast<std::size_t>(intervals));
  for (int k = 1; k < intervals; ++k) made.limits.push_back(made.smallest + width * k);
  made.limits.push_back(made.largest);
  for (T const one : numbers) {
    if (!is_finite(static_cast<double>(one))) continue;
    double const at = (static_cast<double>(one) - made.smallest) / width;
    made.counts[static_cast<std::size_t>(std::min(at, static_cast<double>(intervals - 1)))] += 1;
  }
  return made;
}

bool has_finite_value(io::hyperparameter const& one) {
  double const* const number = std::get_if<double>(&one.value);
  return !number || is_finite(*number);
}

void refuse_non_finite(io::hyperparameter const& one) {
  if (!has_finite_value(one))
    throw numeric_error({.what = "a hyperparameter is not finite",
                         .where = {"event file, ", one.name},
                         .expected = "a finite number",
                         .got = {std::get<double>(one.value)}});
}

/// Returns a google.protobuf.Value message with the value of a hyperparameter.
std::string protobuf_value(io::hyperparameter const& one) {
  protobuf_writer value;
  if (auto const* const number = std::get_if<double>(&one.value)) value.f64(2, *number);
  if (auto const* const text = std::get_if<std::string>(&one.value)) value.bytes(3, *text);
  if (auto const* const flag = std::get_if<bool>(&one.value)) value.integer(4, *flag ? 1 : 0);
  return value.text();
}

/// Returns an HParamsPluginData message with one field.
std::string hparams_content(std::uint32_t field, protobuf_writer const& message) {
  protobuf_writer content;
  content.bytes(field, message.text());
  return content.text();
}

inline constexpr std::string_view hparams_tensor("\x08\x01\x12\x00", 4);  // DT_FLOAT, without dimensions

}  // namespace cohort::detail

namespace cohort::io {

value_histogram histogram_of(std::span<float const> numbers, int intervals) {
  return detail::equal_width_histogram(numbers, intervals);
}

value_histogram histogram_of(std::span<double const> numbers, int intervals) {
  return detail::equal_width_histogram(numbers, intervals);
}

event_file::event_file(std::string const& folder) {
  io::make_folder(folder);
  std::string const begin = folder + "/events.out.tfevents."
                            + std::to_string(static_cast<std::int64_t>(detail::seconds_since_1970())) + '.'
                            + detail::host_name() + '.' + std::to_string(::getpid()) + '.';
  for (int number = 0; file_ < 0; ++number) {
    path_ = begin + std::to_string(number);
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (file_ < 0 && (errno != EEXIST || number == 1000))
      detail::refuse_file("cannot create the event file", path_, errno);
  }
  detail::protobuf_writer version;
  version.bytes(3, "brain.Event:2");
  add_event(version.text());
}

event_file::~event_file() {
  try {
    flush();
  } catch (file_error const&) {
  }
  ::close(file_);
}

void event_file::scalar(std::string_view tag, std::int64_t step, double value) {
  detail::protobuf_writer of;
  of.bytes(1, tag);
  of.real(2, static_cast<float>(value));
  add_value(step, of.text());
}

void event_file::histogram(std::string_view tag, std::int64_t step, value_histogram const& of) {
  detail::protobuf_writer counts, value;
  counts.f64(1, of.smallest);
  counts.f64(2, of.largest);
  counts.f64(3, of.count);
  counts.f64(4, of.sum);
  counts.f64(5, of.sum_squares);
  counts.f64s(6, of.limits);
  counts.f64s(7, of.counts);
  value.bytes(1, tag);
  value.bytes(5, counts.text());
  add_value(step, value.text());
}

void event_file::image(std::string_view tag, std::int64_t step, int height, int width, int channels,
                       std::span<std::uint8_t const> pixels) {
  if ((channels != 1 && channels != 3) || height < 1 || width < 1
      || pixels.size() / static_cast<std::size_t>(width) / static_cast<std::size_t>(height)
             != static_cast<std::size_t>(channels)
      || pixels.size() % (static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) != 0)
    throw shape_error({.what = "cannot write the image",
                       .where = {"event file, ", tag},
                       .expected = "height × width × 1 or 3 bytes",
                       .got = {height, " × ", width, " × ", channels, " and ", pixels.size(), " bytes"}});
  detail::protobuf_writer picture, value;
  picture.integer(1, height);
  picture.integer(2, width);
  picture.integer(3, channels);
  picture.bytes(4, detail::stored_png(height, width, channels, pixels));
  value.bytes(1, tag);
  value.bytes(4, picture.text());
  add_value(step, value.text());
}

void event_file::text(std::string_view tag, std::int64_t step, std::string_view markdown) {
  detail::protobuf_writer extent, dims, tensor;
  extent.integer(1, 1);
  dims.bytes(2, extent.text());
  tensor.integer(1, 7);  // DT_STRING
  tensor.bytes(2, dims.text());
  tensor.bytes(8, markdown);
  add_plugin_value(tag, "text", {}, tensor.text(), step);
}

void event_file::begin_run(std::span<hyperparameter const> settings) {
  detail::protobuf_writer start;
  for (hyperparameter const& one : settings) {
    detail::refuse_non_finite(one);
    detail::protobuf_writer entry;
    entry.bytes(1, one.name);
    entry.bytes(2, detail::protobuf_value(one));
    start.bytes(1, entry.text());
  }
  start.f64(5, detail::seconds_since_1970());
  add_plugin_value("_hparams_/session_start_info", "hparams", detail::hparams_content(3, start),
                   detail::hparams_tensor, 0);
}

void event_file::compare_runs(std::span<hyperparameter const> settings,
                              std::span<std::string const> metric_tags) {
  detail::protobuf_writer experiment;
  experiment.f64(3, detail::seconds_since_1970());
  for (hyperparameter const& one : settings) {
    detail::protobuf_writer info;
    info.bytes(1, one.name);
    constexpr int types[]{3, 2, 1};  // DATA_TYPE_FLOAT64, _BOOL, _STRING: the order of the variant
    info.integer(4, types[one.value.index()]);
    experiment.bytes(4, info.text());
  }
  for (std::string const& one : metric_tags) {
    detail::protobuf_writer name, info;
    name.bytes(2, one);
    info.bytes(1, name.text());
    experiment.bytes(5, info.text());
  }
  add_plugin_value("_hparams_/experiment", "hparams", detail::hparams_content(2, experiment),
                   detail::hparams_tensor, 0);
}

void event_file::end_run(run_status how) {
  detail::protobuf_writer end;
  end.integer(1, static_cast<int>(how));
  end.f64(2, detail::seconds_since_1970());
  add_plugin_value("_hparams_/session_end_info", "hparams", detail::hparams_content(4, end),
                   detail::hparams_tensor, 0);
}

void event_file::flush() {
  std::string const bytes = std::exchange(pending_, {});
  for (std::size_t at = 0; at < bytes.size();) {
    ssize_t const count = ::write(file_, bytes.data() + at, bytes.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) detail::refuse_file("cannot write the event file", path_, errno);
    at += static_cast<std::size_t>(count);
  }
}

void event_file::add_value(std::int64_t step, std::string_view value) {
  detail::protobuf_writer summary, event;
  summary.bytes(1, value);
  event.integer(2, step);
  event.bytes(5, summary.text());
  add_event(event.text());
}

void event_file::add_plugin_value(std::string_view tag, std::string_view plugin, std::string_view content,
                                  std::string_view tensor, std::int64_t step) {
  detail::protobuf_writer data, metadata, value;
  data.bytes(1, plugin);
  data.bytes(2, content);
  metadata.bytes(1, data.text());
  value.bytes(1, tag);
  value.bytes(8, tensor);
  value.bytes(9, metadata.text());
  add_value(step, value.text());
}

void event_file::add_event(std::string_view fields) {
  detail::protobuf_writer event;
  event.f64(1, detail::seconds_since_1970());
  std::string const content = event.text() + std::string(fields);
  detail::tfrecord_frame const around = detail::frame_of(std::as_bytes(std::span(content)));
  pending_.append(around.head.data(), around.head.size());
  pending_ += content;
  pending_.append(around.tail.data(), around.tail.size());
  constexpr std::size_t most_pending = std::size_t{64} << 10;
  if (pending_.size() >= most_pending) flush();
}

}  // namespace cohort::io
