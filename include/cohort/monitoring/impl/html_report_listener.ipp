// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cohort/error/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/layer/binary_cross_entropy.hpp>
#include <cohort/layer/softmax_cross_entropy.hpp>
#include <cohort/monitoring/html_report_listener.hpp>
#include <cohort/plan/plan_text.hpp>
#include <cohort/training/detail/loss_rows.hpp>
#include <cohort/training/detail/run_checks.hpp>
#include <cohort/training/detail/training_state.hpp>
#include <cohort/training/exchange_text.hpp>
#include <cohort/training/training.hpp>
#include <cstddef>
#include <cstring>
#include <utility>

namespace cohort::detail {

inline constexpr std::string_view report_style = R"(
:root { color-scheme: light dark; --ground: #fcfcfb; --text: #1c1c1a; --dim: #6a6a66; --grid: #e3e3df;
  --c0: #2a6fdb; --c1: #d9622b; --c2: #1f8a5b; --c3: #c23a6b; --c4: #7a56c8; --c5: #9a7b12; --c6: #1788a0;
  --c7: #7b7b77; }
@media (prefers-color-scheme: dark) { :root { --ground: #191a1c; --text: #ececea; --dim: #a0a09b;
  --grid: #34363a; --c0: #6ea3f5; --c1: #f0905f; --c2: #57c08f; --c3: #ec7fa6; --c4: #ad92ee; --c5: #d2b04a;
  --c6: #58bfd6; --c7: #a9a9a4; } }
body { margin: 0 auto; padding: 1rem; max-width: 72rem; background: var(--ground); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1.05rem; margin: 1.6rem 0 .4rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem; }
figure { margin: 0; overflow-x: auto; } figcaption, .dim, th { color: var(--dim); font-weight: 400; }
svg { width: 100%; max-width: 40rem; height: auto; } svg.natural { width: auto; max-width: none; }
svg text { font: 11px system-ui, sans-serif; fill: var(--text); } svg text.dim { fill: var(--dim); }
.grid { stroke: var(--grid); } .curve { fill: none; stroke: var(--c); stroke-width: 2; }
.curve.dashed { stroke-dasharray: 5 3; } rect, circle { fill: var(--c); }
.layer { fill: var(--ground); stroke: var(--dim); } .edge { fill: none; stroke: var(--dim); opacity: .6; }
.network { max-height: 36rem; overflow: auto; }
.c0 { --c: var(--c0); } .c1 { --c: var(--c1); } .c2 { --c: var(--c2); } .c3 { --c: var(--c3); }
.c4 { --c: var(--c4); } .c5 { --c: var(--c5); } .c6 { --c: var(--c6); } .c7 { --c: var(--c7); }
.key { padding: 0 .45em; margin-right: .4em; background: var(--c); }
.key.dashed { opacity: .6; } ul.legend { display: flex; flex-wrap: wrap; gap: .2rem 1rem; padding: 0;
  margin: .2rem 0; list-style: none; font-size: .85rem; }
table { display: block; overflow-x: auto; border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: .1rem .8rem .1rem 0; text-align: right; white-space: nowrap; } td:first-child, th:first-child { text-align: left; }
pre { overflow-x: auto; font-size: .8rem; white-space: pre-wrap; }
)";

/// A heading and its content; nothing without content.
std::string report_section(char const* heading, std::string const& content) {
  return content.empty() ? content : text_of({"<section><h2>", heading, "</h2>\n", content, "</section>\n"});
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

/// A table with one row per class or output.
class classes_table {
 public:
  /// `of` and `actual`: headings of the names and of the numbers of examples. `has_areas`: a column for the
  /// area under the ROC curve.
  classes_table(char const* of, char const* actual, std::span<std::string const> names, bool has_areas)
      : of_(of), actual_(actual), names_(names), has_areas_(has_areas) {}

  void add(binary_counts const& counts, std::optional<double> area) {
    auto const k = static_cast<std::size_t>(row_++);
    rows_ += text_of({"<tr><td>", k < names_.size() ? escape_html(names_[k]) : std::to_string(k), "</td><td>",
                      counts.actual(), "</td><td>", counts.predicted(), "</td><td>", text(counts.precision()),
                      "</td><td>", text(counts.recall()), "</td><td>", text(counts.f_beta()), "</td>"});
    if (has_areas_) rows_ += text_of({"<td>", area ? decimal_text(*area, 4) : std::string("-"), "</td>"});
    rows_ += "</tr>\n";
  }
  void add_others(int count) {
    if (count > 0)
      rows_ +=
          text_of({"<tr><td>and ", count, count == 1 ? " other class" : " other classes", "</td></tr>\n"});
  }
  std::string text(std::int64_t examples, std::optional<double> accuracy) const {
    return text_of({"<p>", examples, " examples, accuracy <b>", text(accuracy), "</b></p>\n<table><tr><th>",
                    of_, "</th><th>", actual_,
                    "</th><th>predicted</th><th>precision</th>"
                    "<th>recall</th><th>F1</th>",
                    has_areas_ ? "<th>area under ROC</th>" : "", "</tr>\n", rows_, "</table>\n"});
  }

 private:
  static std::string text(std::optional<double> share) {
    return share ? decimal_text(100 * *share, 1) + " %" : std::string("-");
  }

  char const* of_;
  char const* actual_;
  std::span<std::string const> names_;
  bool has_areas_;
  int row_ = 0;
  std::string rows_{};
};

/// Counts of a column, of which scores of at least 0.5 are positive predictions.
binary_counts counts_of(roc_curve const& column) {
  binary_counts counts;
  for (roc_curve::group const& one : column.groups()) {
    (one.score >= 0.5 ? counts.true_positive : counts.false_negative) += one.positive;
    (one.score >= 0.5 ? counts.false_positive : counts.true_negative) += one.negative;
  }
  return counts;
}

/// The table of class indices. `curves`: with one column per class; null: no areas.
std::string table_of_classes(classification_report const& report, std::span<std::string const> labels,
                             roc_report const* curves) {
  int const shown = std::min(report.classes(), most_reported_classes);
  classes_table table("class", "examples", labels, curves != nullptr);
  for (int c = 0; c < shown; ++c) table.add(report.of(c), curves ? curves->auc(c) : std::nullopt);
  table.add_others(report.classes() - shown);
  return table.text(report.examples(), report.accuracy());
}

/// The table of outputs that are probabilities of independent properties.
std::string table_of_outputs(roc_report const& curves) {
  classes_table table("output", "positive", {}, true);
  std::int64_t correct = 0;
  for (int c = 0; c < curves.columns(); ++c) {
    binary_counts const counts = counts_of(curves.of(c));
    correct += counts.true_positive + counts.true_negative;
    table.add(counts, curves.auc(c));
  }
  std::int64_t const all = curves.examples() * curves.columns();
  return table.text(
      curves.examples(),
      all > 0 ? std::optional(static_cast<double>(correct) / static_cast<double>(all)) : std::nullopt);
}

/// What the report shows of a data set.
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
  } catch (...) {  // no memory for the page
  }
}

void html_report_listener::begin(training& run) {
  if (state_ == state::not_started) {
    network_ = detail::network_picture(run.network());
    settings_text_ =
        detail::text_of({"backend ", run.backend(), "; strategy ", run.state().exchange_strategy->describe(),
                         "\n", detail::describe(run.settings()), "\n"});
  }
  state_ = state::running;
}

void html_report_listener::on_step(training& run, step_report const& done) {
  bool const is_first = !std::exchange(has_stepped_, true);
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
  if (every > 0 && step_ % every == 0 && before_.step() == step_ - 1 && done.updated) add_ratios(run, step_);
  if (every > 0 && (step_ + 1) % every == 0) before_ = detail::dense_parameters(run.parameters(), step_);
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
  std::string rows;
  for (measurement const& one : measured)
    rows += detail::text_of({"<tr><td>", detail::escape_html(one.name), "</td><td>",
                             detail::short_number(one.value), "</td></tr>\n"});
  exchange_ = detail::text_of(
      {"<p>", ranks_, " ranks; rank 0 sent ",
       detail::in_bytes(static_cast<double>(bytes_sent_) / static_cast<double>(measured_steps_)),
       " a step and waited ", detail::short_number(seconds_ > 0 ? 100 * exchange_seconds_ / seconds_ : 0),
       " % of the time for other ranks</p>\n<p>",
       detail::escape_html(exchange_text(measured, exchange_before_, steps)), "</p>\n<table>", rows,
       "</table>\n"});
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
  std::vector<std::string> const labels =
      targets.empty() ? std::vector<std::string>() : targets[0].label_names;
  if (which == detail::class_report::of_classes) {
    classification_report const report = run.evaluate(data, settings_.how);
    if (run.world().rank() == 0)
      classes_ =
          detail::table_of_classes(report, labels, nullptr) + detail::confusion_picture(report, labels);
    return;
  }
  shape const output = net[net.with_role(layer_role::loss).at(0)].output;
  if (which == detail::class_report::of_outputs) {
    auto const columns = static_cast<int>(detail::loss_rows::of_output(output).elements());
    roc_report curves(columns, {.steps = 1000});
    calibration_report calibration(columns);
    run.evaluate(data, {&curves, &calibration}, settings_.how);
    if (run.world().rank() == 0)
      classes_ = detail::table_of_outputs(curves) + "<div class=\"charts\">"
                 + detail::roc_picture(curves, {}, "ROC curves of the outputs")
                 + (columns == 1 ? detail::calibration_picture(calibration) : std::string()) + "</div>\n";
    return;
  }
  int const classes = channels_of(output);
  classification_report report(classes, {.top = settings_.how.top, .labels = labels});
  roc_report curves(classes, {.steps = 1000});
  calibration_report calibration(classes);
  run.evaluate(data, {&report, &curves, &calibration}, settings_.how);
  if (run.world().rank() != 0) return;
  classes_ = detail::table_of_classes(report, labels, &curves) + "<div class=\"charts\">"
             + detail::confusion_picture(report, labels)
             + detail::roc_picture(curves, labels, "ROC curves: each class against the others")
             + detail::calibration_picture(calibration) + "</div>\n";
}

std::array<char const*, html_report_listener::phases> html_report_listener::phase_names() const {
  return {
      "wait for data", "prepare", "forward",         separate_backward_ ? "backward" : "forward and backward",
      "exchange",      "update",  "after the update"};
}

void html_report_listener::describe_ranks(training& run) {
  communicator& world = run.world();
  if (world.size() == 1) return;
  std::array<double, phases> mine = phase_seconds_;
  for (double& one : mine) one /= static_cast<double>(std::max<std::int64_t>(measured_steps_, 1));
  gathered const all = world.allgatherv(std::as_bytes(std::span(mine)));
  if (world.rank() != 0) return;
  std::vector<std::array<double, phases>> of_rank(static_cast<std::size_t>(world.size()));
  for (int rank = 0; rank < world.size(); ++rank)
    std::memcpy(&of_rank[static_cast<std::size_t>(rank)], all.of(rank).data(), sizeof mine);
  auto const names = phase_names();
  std::string rows;
  auto const add = [&](char const* name, auto milliseconds_of) {
    std::size_t least = 0, most = 0;
    double sum = 0;
    for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
      double const time = milliseconds_of(of_rank[rank]);
      sum += time;
      if (time < milliseconds_of(of_rank[least])) least = rank;
      if (time > milliseconds_of(of_rank[most])) most = rank;
    }
    if (sum > 0)
      rows += detail::text_of({"<tr><td>", name, "</td><td>",
                               detail::short_number(sum / static_cast<double>(of_rank.size())), "</td><td>",
                               detail::short_number(milliseconds_of(of_rank[least])), "</td><td>", least,
                               "</td><td>", detail::short_number(milliseconds_of(of_rank[most])), "</td><td>",
                               most, "</td></tr>\n"});
  };
  for (std::size_t k = 0; k < phases; ++k) add(names[k], [k](auto const& times) { return 1e3 * times[k]; });
  add("all", [](auto const& times) {
    double sum = 0;
    for (double const one : times) sum += 1e3 * one;
    return sum;
  });
  phases_of_ranks_ =
      "<table><tr><th>ms a step</th><th>mean of all ranks</th><th>fastest</th><th>rank</th>"
      "<th>slowest</th><th>rank</th></tr>\n"
      + rows + "</table>\n";
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
  detail::curve_named(loss_, "loss of the epoch").add(x, done.loss);
  for (metric_value const& one : done.validation)
    detail::curve_named(one.name == metrics::loss.name ? loss_ : metrics_, one.name).add(x, one.value);
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

std::string html_report_listener::head() const {
  char const* const states[]{"not started", "running", "completed", "stopped", "interrupted"};
  std::string text =
      detail::text_of({"<p><b>", states[static_cast<std::size_t>(state_)], "</b>, step ", step_, ", "});
  if (step_in_epoch_ > 0) {
    text += detail::text_of({"epoch ", epoch_ + 1, ", step ", step_in_epoch_});
    if (steps_in_epoch_ > 0) text += detail::text_of({" of ", steps_in_epoch_});
  } else {
    text += detail::text_of({epoch_, epoch_ == 1 ? " epoch" : " epochs"});
    if (epochs_ > epoch_) text += detail::text_of({" of ", epochs_});
  }
  text += detail::text_of(
      {", ", ranks_, ranks_ == 1 ? " rank" : " ranks", ", ", detail::short_number(seconds_), " s in steps"});
  return text + "</p>\n";
}

std::string html_report_listener::memory_text() const {
  std::string text = detail::line_chart("Resident memory", memory_);
  if (!settings_.memory) return text;
  run_memory const& m = *settings_.memory;
  std::pair<char const*, std::size_t> const kinds[]{{"parameters", m.parameters},
                                                    {"optimizer state", m.optimizer_state},
                                                    {"working copies", m.working_copies},
                                                    {"gradients", m.gradients},
                                                    {"activations", m.activations},
                                                    {"accumulation", m.accumulation},
                                                    {"staging", m.staging},
                                                    {"batches", m.batches},
                                                    {"exchange", m.exchange}};
  std::vector<detail::bar_part> parts;
  for (auto const& [name, bytes] : kinds)
    if (bytes > 0) parts.push_back({name, static_cast<double>(bytes) / 1e6});
  return text + detail::stacked_bar("Tensors of a rank, computed before the run", parts, "MB");
}

std::string html_report_listener::page() const {
  std::string const title = detail::escape_html(settings_.title);
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  if (settings_.refresh > 0 && (state_ == state::running || state_ == state::not_started))
    text += detail::text_of({"<meta http-equiv=\"refresh\" content=\"", settings_.refresh, "\">\n"});
  text += detail::text_of({"<title>", title, "</title>\n<style>", detail::report_style,
                           "</style></head><body>\n<header><h1>", title, "</h1>\n", head(), "</header>\n"});
  text += detail::report_section("Loss and metrics", [&] {
    std::string const charts = detail::line_chart("Loss", loss_) + detail::line_chart("Metrics", metrics_)
                               + detail::line_chart("Speed", speed_);
    return charts.empty() ? charts : "<div class=\"charts\">" + charts + "</div>\n";
  }());
  text += detail::report_section("Updates", detail::line_chart("Norm of the update / norm of the weights",
                                                               ratios_, detail::y_axis::logarithmic));
  text += detail::report_section("Classes", classes_);
  auto const names = phase_names();
  std::vector<detail::bar_part> parts;
  for (std::size_t k = 0; k < phases; ++k)
    if (measured_steps_ > 0 && phase_seconds_[k] > 0)
      parts.push_back({names[k], 1e3 * phase_seconds_[k] / static_cast<double>(measured_steps_)});
  text += detail::report_section(
      "Phases of a step", detail::stacked_bar("Mean step of rank 0", parts, "ms a step") + phases_of_ranks_);
  text += detail::report_section("Exchange", exchange_);
  text += detail::report_section("Memory", memory_text());
  text += detail::report_section(
      "Network", network_.empty() ? network_ : "<div class=\"network\">" + network_ + "</div>\n");
  text += detail::report_section(
      "Settings",
      settings_text_.empty() ? settings_text_ : "<pre>" + detail::escape_html(settings_text_) + "</pre>\n");
  return text + "</body></html>\n";
}

}  // namespace cohort
