// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cohort/detail/json_string.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/calibration.hpp>
#include <cohort/evaluation/classification.hpp>
#include <cohort/evaluation/roc.hpp>
#include <cohort/graph/summary.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/json_writer.hpp>
#include <cohort/layer/binary_cross_entropy.hpp>
#include <cohort/layer/softmax_cross_entropy.hpp>
#include <cohort/monitoring/html_report_listener.hpp>
#include <cohort/plan/plan_text.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/training/detail/loss_rows.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/exchange_text.hpp>
#include <cohort/training/training.hpp>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cohort::detail {

inline constexpr std::string_view report_page =
#include <cohort/monitoring/detail/report_page.inc>
    ;

/// Writes a number (null if it is not finite), a text ('?' replaces bytes that are not UTF-8), an optional
/// (null if it is empty), or a range or tuple as an array.
template <class Value>
void write_json(io::json_writer& out, Value const& content) {
  if constexpr (std::is_floating_point_v<Value>) {
    is_finite(content) ? out.value(content) : out.value(nullptr);
  } else if constexpr (std::is_arithmetic_v<Value>) {
    out.value(content);
  } else if constexpr (std::convertible_to<Value const&, std::string_view>) {
    std::string text(content);
    for (std::size_t bad; (bad = invalid_utf8_at(text)) != text.size();) text[bad] = '?';
    out.value(text);
  } else if constexpr (requires { content.has_value(); }) {
    content ? write_json(out, *content) : void(out.value(nullptr));
  } else {
    out.begin_array();
    if constexpr (std::ranges::range<Value const>)
      for (auto const& element : content) write_json(out, element);
    else
      std::apply([&](auto const&... elements) { (write_json(out, elements), ...); }, content);
    out.end_array();
  }
}

/// Returns a JSON object of alternating names and values. A value may be a report_json.
report_json json_object(auto const&... fields) {
  std::string text;
  auto const add = [&](auto const& field) {
    if constexpr (std::same_as<decltype(field), report_json const&>) {
      text += field.text;
    } else {
      io::json_writer out;
      write_json(out, field);
      text += out.text();
    }
  };
  std::size_t index = 0;
  ((text += index == 0 ? "{" : index % 2 == 0 ? "," : ":", ++index, add(fields)), ...);
  return {text + "}"};
}

/// Returns the name, the last value and the points of each curve.
auto curves_of(std::span<report_curve const> curves) {
  std::vector<std::tuple<std::string_view, double, std::span<report_curve::point const>>> shown;
  for (report_curve const& curve : curves) shown.emplace_back(curve.name(), curve.last(), curve.points());
  return shown;
}

/// Returns the row of a class or output: examples, predictions, precision, recall, F1, area under ROC.
auto class_row(binary_counts const& counts, std::optional<double> area) {
  return std::tuple(counts.actual(), counts.predicted(), counts.precision(), counts.recall(), counts.f_beta(),
                    area);
}

/// Returns index, area and points of the columns' ROC curves; of more than 8, the 8 with the smallest areas.
auto curves_of(roc_report const& report) {
  constexpr std::size_t most = 8;
  std::vector<std::tuple<int, double, std::vector<report_curve::point>>> curves;
  for (int c = 0; c < report.columns(); ++c)
    if (auto const area = report.auc(c)) curves.push_back({c, *area, {}});
  if (curves.size() > most) {
    std::ranges::stable_sort(curves, {}, [](auto const& curve) { return std::get<1>(curve); });
    curves.resize(most);
  }
  for (auto& [column, area, shown] : curves) {
    std::vector<roc_point> const points = report.of(column).points();
    for (std::size_t i = 0; i < points.size(); ++i) {
      auto const [x, y] = std::pair(points[i].false_positive_rate, points[i].true_positive_rate);
      if (shown.empty() || i + 1 == points.size() || x - shown.back().first >= 0.004
          || y - shown.back().second >= 0.004)
        shown.emplace_back(x, y);
    }
  }
  return curves;
}

/// Returns the probability, the frequency and the number of examples of each bin that has examples.
auto bins_of(calibration_report const& report) {
  std::vector<std::tuple<double, double, std::int64_t>> bins;
  for (calibration_bin const& bin : report.bins())
    if (bin.examples > 0) bins.emplace_back(*bin.probability, *bin.frequency, bin.examples);
  return bins;
}

/// Returns the name, kind, output, description and inputs of each layer.
auto layers_of(graph_view net) {
  std::vector<std::tuple<std::string, std::string, std::string, std::string, decltype(net.inputs(0))>> layers;
  for (int id = 0; id < net.size(); ++id)
    layers.emplace_back(net.name(id), net.kind(id).name, to_string(net[id].output), layer_text(net, id),
                        net.inputs(id));
  return layers;
}

double peak_resident_bytes() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return 1024.0 * static_cast<double>(used.ru_maxrss);
}

report_curve& curve_named(std::vector<report_curve>& curves, std::string const& name) {
  auto const found = std::ranges::find(curves, name, &report_curve::name);
  return found != curves.end() ? *found : curves.emplace_back(name);
}

inline constexpr int most_reported_classes = 100;

/// Returns the counts of a column. Scores of at least 0.5 are positive predictions.
binary_counts counts_of(roc_curve const& column) {
  binary_counts counts;
  for (roc_curve::group const& one : column.groups()) {
    (one.score >= 0.5 ? counts.true_positive : counts.false_negative) += one.positive;
    (one.score >= 0.5 ? counts.false_positive : counts.true_negative) += one.negative;
  }
  return counts;
}

/// Returns a row for each of the first 100 classes, and the confusion matrix if there are at most 40 classes.
report_json classes_json(classification_report const& report, std::span<std::string const> labels,
                         roc_report const& curves, calibration_report const& calibration) {
  constexpr int most_in_matrix = 40;
  int const classes = report.classes();
  std::vector<decltype(class_row({}, {}))> rows;
  std::vector<std::vector<std::int64_t>> confusion;
  for (int c = 0; c < std::min(classes, most_reported_classes); ++c) {
    rows.push_back(class_row(report.of(c), c < curves.columns() ? curves.auc(c) : std::nullopt));
    if (classes > most_in_matrix || report.examples() == 0) continue;
    confusion.emplace_back();
    for (int column = 0; column < classes; ++column) confusion.back().push_back(report.count(c, column));
  }
  return json_object("classes", classes, "labels", labels, "examples", report.examples(), "accuracy",
                     report.accuracy(), "rows", rows, "confusion", confusion, "curves", curves_of(curves),
                     "calibration", bins_of(calibration), "calibration_error", calibration.expected_error());
}

/// Returns a row for each output. The outputs are probabilities of independent binary decisions.
report_json outputs_json(roc_report const& curves, calibration_report const& calibration) {
  std::vector<decltype(class_row({}, {}))> rows;
  double correct = 0;
  for (int c = 0; c < curves.columns(); ++c) {
    binary_counts const counts = counts_of(curves.of(c));
    correct += static_cast<double>(counts.true_positive + counts.true_negative);
    rows.push_back(class_row(counts, curves.auc(c)));
  }
  double const accuracy = correct / static_cast<double>(curves.examples() * curves.columns());
  return json_object("outputs", curves.columns(), "examples", curves.examples(), "accuracy", accuracy, "rows",
                     rows, "curves", curves_of(curves), "calibration", bins_of(calibration),
                     "calibration_error", calibration.expected_error());
}

/// Content of the report about the data set `classified`.
enum class class_report : unsigned char { none, of_classes, of_classes_with_curves, of_outputs };

class_report class_report_of(graph_view net) {
  int const loss = net.with_role(layer_role::loss).at(0);
  std::string_view const kind = net.kind(loss).name;
  if (kind == softmax_cross_entropy::kind_name)
    return channels_of(net[loss].output) <= most_reported_classes ? class_report::of_classes_with_curves
                                                                  : class_report::of_classes;
  if (kind == binary_cross_entropy::kind_name
      && loss_rows::of_output(net[loss].output).elements() <= most_reported_classes)
    return class_report::of_outputs;
  return net.target(loss).classes > 0 ? class_report::of_classes : class_report::none;
}

}  // namespace cohort::detail

namespace cohort {

html_report_listener::html_report_listener(std::string path, html_report_settings settings)
    : path_(std::move(path)), settings_(std::move(settings)) {
  if (settings_.every < 1 || settings_.ratios_every < 0 || !(settings_.seconds >= 0) || settings_.refresh < 0)
    throw setting_error({.what = "invalid interval",
                         .where = "html_report_listener",
                         .expected = "every ≥ 1 step; ratios_every, seconds and refresh ≥ 0",
                         .got = {settings_.every, ", ", settings_.ratios_every, ", ", settings_.seconds,
                                 " and ", settings_.refresh}});
  if (!settings_.lines) settings_.lines = silent_sink();
}

html_report_listener::~html_report_listener() {
  if (state_ != state::running) return;
  try {
    state_ = state::interrupted;
    write();
  } catch (...) {  // there is no memory for the page
  }
}

void html_report_listener::begin(training& run) {
  if (state_ == state::not_started) {
    network_ = detail::json_object("layers", detail::layers_of(run.network()));
    settings_text_ =
        detail::text_of({"backend ", run.backend(), "; strategy ", run.state().exchange_strategy->describe(),
                         "\n", detail::describe(run.settings()), "\n"});
  }
  state_ = state::running;
}

void html_report_listener::on_step(training& run, step_report const& done) {
  bool const is_first = !std::exchange(has_stepped_, true);
  epoch_of_point_ = -1;
  if (is_first)
    require_classes(run);
  else
    add_phases(done);
  if (run.world().rank() != 0) return;
  if (state_ != state::running) begin(run);
  step_ = done.step + 1;
  if (is_first) {
    first_step_ = step_;
    exchange_before_ = run.exchange_report();
  }
  epoch_ = done.epoch;
  step_in_epoch_ = done.step_in_epoch + 1;
  steps_in_epoch_ = done.steps_in_epoch;
  ranks_ = done.ranks;
  if (!is_first) bytes_sent_ += done.bytes_sent;
  exchange_seconds_ += done.exchange_seconds;
  seconds_ += done.step_seconds + done.wait_seconds;
  ++steps_;
  examples_ += done.examples;
  mean_loss_.add(done);
  sum_of_seconds_ += done.step_seconds + done.wait_seconds;
  auto const x = static_cast<double>(step_);
  if (steps_ >= settings_.every) {
    if (auto const loss = mean_loss_.value()) detail::curve_named(loss_, "loss of rank 0").add(x, *loss);
    if (sum_of_seconds_ > 0)
      detail::curve_named(speed_, "samples/s")
          .add(x, static_cast<double>(examples_) * done.ranks / sum_of_seconds_);
    detail::curve_named(memory_, "peak resident memory of rank 0, MB")
        .add(x, detail::peak_resident_bytes() / 1e6);
    steps_ = examples_ = 0;
    mean_loss_ = {};
    sum_of_seconds_ = 0;
  }
  std::int64_t const every = settings_.ratios_every;
  auto const has_ratios = [&](std::int64_t step) {
    return every > 0 && step % every == 0 && run.parameters().is_whole();
  };
  if (before_.step() == step_ - 1 && done.updated && has_ratios(step_)) add_ratios(run, step_);
  if (has_ratios(step_ + 1)) before_ = detail::dense_parameters(run.parameters(), step_);
  if (!is_first && seconds_ < written_at_ + settings_.seconds) return;
  describe_exchange(run);
  write();
}

void html_report_listener::add_phases(step_report const& done) {
  step_times const& t = done.times;
  auto const seconds = [](auto from, auto to) {
    return std::max(0.0, std::chrono::duration<double>(to - from).count());
  };
  double const measured[phases]{done.wait_seconds,
                                seconds(t.prepare, t.forward),
                                seconds(t.forward, t.backward),
                                seconds(t.backward, t.exchange),
                                seconds(t.exchange, t.update),
                                seconds(t.update, t.after_update),
                                seconds(t.after_update, t.end)};
  for (std::size_t k = 0; k < phases; ++k) phase_seconds_[k] += measured[k];
  separate_backward_ |= t.backward > t.forward;
  ++measured_steps_;
}

void html_report_listener::add_ratios(training& run, std::int64_t step) {
  detail::dense_parameters const now(run.parameters(), step);
  for (parameter const& one : run.parameters().table()) {
    if (!one.trains() || one.spec.role != parameter_role::weights) continue;
    double const norm = before_.norm_of(one);
    if (!(norm > 0)) continue;
    std::vector<double> const update = now.change_of(one, before_);
    detail::curve_named(ratios_, one.name)
        .add(static_cast<double>(step), detail::euclidean_norm(std::span(update)) / norm);
  }
}

void html_report_listener::describe_exchange(training& run) {
  std::int64_t const steps = step_ - first_step_;
  if (ranks_ < 2 || measured_steps_ < 1) return;
  std::vector<measurement> const measured = run.exchange_report();
  std::vector<std::tuple<std::string, double>> values;
  for (measurement const& each : measured) values.emplace_back(each.name, each.value);
  std::string const sent =
      detail::in_bytes(static_cast<double>(bytes_sent_) / static_cast<double>(measured_steps_));
  exchange_ =
      detail::json_object("sent", sent, "waited", seconds_ > 0 ? exchange_seconds_ / seconds_ : 0, "text",
                          exchange_text(measured, exchange_before_, steps), "measurements", values);
}

void html_report_listener::require_classes(training& run) const {
  if (!settings_.classified) return;
  graph_view const net = run.network();
  detail::check_dataset(run.state(), *settings_.classified, "html_report_listener");
  int const loss = net.with_role(layer_role::loss).at(0);
  auto const which = detail::class_report_of(net);
  if (which == detail::class_report::none)
    throw setting_error(
        {.what = "the report cannot show classes of the first loss",
         .where = "html_report_settings::classified",
         .expected = {"a first loss with class indices, or binary_cross_entropy with at most ",
                      detail::most_reported_classes, " outputs; otherwise no data set"},
         .got = {net.kind(loss).name, " with output ", to_string(net[loss].output)}});
  if (which == detail::class_report::of_outputs) return;
  tensor_description const target = settings_.classified->describe().targets.at(0);
  if (target.type != element_type::i32)
    throw setting_error({.what = "the report cannot show classes of these targets",
                         .where = "html_report_settings::classified",
                         .expected = "class indices, i32",
                         .got = detail::text_of_part(target.example, target.type)});
  classification_report(channels_of(net[loss].output), {.top = settings_.how.top});  // checks `top`
}

void html_report_listener::describe_classes(training& run) {
  graph_view const net = run.network();
  auto const which = detail::class_report_of(net);
  dataset const& data = *settings_.classified;
  auto const targets = data.describe().targets;
  std::vector<std::string> labels = targets.empty() ? std::vector<std::string>() : targets[0].label_names;
  if (labels.empty()) labels = run.class_names(net.name(net.with_role(layer_role::loss).at(0)));
  if (which == detail::class_report::of_classes) {
    classification_report const report = run.evaluate(data, settings_.how);
    if (run.world().rank() == 0)
      classes_ = detail::classes_json(report, labels, roc_report(), calibration_report());
    return;
  }
  shape const output = net[net.with_role(layer_role::loss).at(0)].output;
  if (which == detail::class_report::of_outputs) {
    auto const columns = static_cast<int>(detail::loss_rows::of_output(output).elements());
    roc_report curves(columns, {.steps = 1000});
    calibration_report calibration(columns);
    run.evaluate(data, {&curves, &calibration}, settings_.how);
    if (run.world().rank() == 0) classes_ = detail::outputs_json(curves, calibration);
    return;
  }
  int const classes = channels_of(output);
  classification_report report(classes, {.top = settings_.how.top, .labels = labels});
  roc_report curves(classes, {.steps = 1000});
  calibration_report calibration(classes);
  run.evaluate(data, {&report, &curves, &calibration}, settings_.how);
  if (run.world().rank() == 0) classes_ = detail::classes_json(report, labels, curves, calibration);
}

void html_report_listener::describe_ranks(training& run) {
  communicator& world = run.world();
  if (world.size() == 1) return;
  std::array<double, phases> mine = phase_seconds_;
  for (double& one : mine) one /= static_cast<double>(std::max<std::int64_t>(measured_steps_, 1));
  gathered const all = world.allgatherv(std::as_bytes(std::span(mine)));
  if (world.rank() != 0) return;
  phases_of_ranks_.resize(static_cast<std::size_t>(world.size()));
  for (int rank = 0; rank < world.size(); ++rank)
    std::memcpy(&phases_of_ranks_[static_cast<std::size_t>(rank)], all.of(rank).data(), sizeof mine);
}

void html_report_listener::on_epoch(training& run, epoch_report const& done) {
  if (settings_.classified) describe_classes(run);
  describe_ranks(run);
  if (run.world().rank() != 0) return;
  if (state_ != state::running) begin(run);
  auto const x = static_cast<double>(run.step());
  epoch_ = done.epoch + 1;
  epochs_ = std::max(done.epochs, epoch_);
  step_ = run.step();
  step_in_epoch_ = 0;
  if (std::exchange(epoch_of_point_, done.epoch) != done.epoch) {
    detail::curve_named(loss_, "loss of the epoch").add(x, done.loss);
    for (metric_value const& one : done.validation)
      detail::curve_named(one.name == metrics::loss.name ? loss_ : metrics_, one.name).add(x, one.value);
  }
  describe_exchange(run);
  write();
}

void html_report_listener::on_end(training& run) {
  if (run.world().rank() != 0) return;
  if (state_ == state::not_started) begin(run);
  state_ = step_in_epoch_ > 0 || epochs_ > epoch_ ? state::stopped : state::completed;
  describe_exchange(run);
  write();
}

void html_report_listener::write() {
  written_at_ = seconds_;
  try {
    io::write_file(path_, page());
    last_error_.clear();
  } catch (file_error const& error) {
    if (last_error_.empty()) settings_.lines("html_report_listener: " + std::string(error.what()));
    last_error_ = error.what();
  }
}

std::string html_report_listener::page() const {
  char const* const states[]{"not started", "running", "completed", "stopped", "interrupted"};
  bool const changes = state_ == state::running || state_ == state::not_started;
  auto seconds_a_step = phase_seconds_;
  for (double& seconds : seconds_a_step)
    seconds /= static_cast<double>(std::max<std::int64_t>(measured_steps_, 1));
  run_memory const m = settings_.memory.value_or(run_memory{});
  std::string const document =
      detail::json_object(
          "title", settings_.title, "state", states[static_cast<std::size_t>(state_)], "refresh",
          changes ? settings_.refresh : 0, "step", step_, "epoch", epoch_, "epochs", epochs_, "step_in_epoch",
          step_in_epoch_, "steps_in_epoch", steps_in_epoch_, "ranks", ranks_, "seconds", seconds_, "loss",
          detail::curves_of(loss_), "metrics", detail::curves_of(metrics_), "speed",
          detail::curves_of(speed_), "updates", detail::curves_of(ratios_), "classes", classes_,
          "separate_backward", separate_backward_, "phases", seconds_a_step, "phases_of_ranks",
          phases_of_ranks_, "exchange", exchange_, "resident_memory", detail::curves_of(memory_), "memory",
          detail::json_object("parameters", m.parameters, "optimizer state", m.optimizer_state,
                              "working copies", m.working_copies, "gradients", m.gradients, "activations",
                              m.activations, "accumulation", m.accumulation, "staging", m.staging, "batches",
                              m.batches, "exchange", m.exchange),
          "network", network_, "settings", settings_text_)
          .text;
  constexpr std::string_view mark = "@run@";
  constexpr std::size_t place = detail::report_page.find(mark);
  std::string text(detail::report_page.substr(0, place));
  for (char const character : document)  // escapes characters, so that no text begins or ends a tag
    if (character == '<')
      text += "\\u003c";
    else
      text += character;
  return text += detail::report_page.substr(place + mark.size());
}

}  // namespace cohort
