// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cohort/detail/text.hpp>
#include <cohort/documents/ranks.hpp>
#include <cohort/documents/reports.hpp>
#include <cohort/evaluation/regression.hpp>
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/exchange_text.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cohort::documents {

using detail::text_of;

namespace {

/// Returns a number with `decimals` digits after the point.
std::string fixed(double number, int decimals) {
  char text[340];
  std::snprintf(text, sizeof text, "%.*f", decimals, number);
  return text;
}

}  // namespace

void print_data(std::string const& notice, std::string const& where, dataset const& train,
                dataset const* test, char const* examples, sink const& output) {
  if (!notice.empty()) output(notice);
  std::string const held_out = test ? text_of({"and ", test->size(), " test "}) : "";
  output(text_of({"data: ", where, ", ", train.size(), " training ", held_out, examples}));
}

void print_data(run_document const& run, data_sets const& data, communicator const& world, sink const& output,
                sink const& log) {
  if (world.rank() != 0) return;
  print_data(data.notice, data.where, data.train, data.test ? &*data.test : nullptr, "examples", output);
  for (std::string const& notice : data.notices) log(run.explain(notice));
  print_rows(data, output, log);
}

void print_rows(data_sets const& data, sink const& output, sink const& log) {
  if (!data.rows) return;
  transform_report const& rows = *data.rows;
  for (std::string const& problem : rows.problems) log("skipped: " + problem);
  output(text_of(
      {"rows: ", rows.rows, " read, ", rows.removed, " removed by filters, ", rows.skipped, " skipped"}));
}

read_counts count_reads(data_sets const& data, communicator& world) {
  auto const counted =
      [&](std::shared_ptr<std::atomic<std::int64_t>> const& counter) -> std::optional<std::uint64_t> {
    if (!counter) return std::nullopt;
    auto count = static_cast<std::uint64_t>(counter->exchange(0));
    world.allreduce(std::span<std::uint64_t>(&count, 1));
    return count;
  };
  read_counts reads;
  reads.skipped = counted(data.skipped);
  reads.ignored_orientations = counted(data.ignored_orientations);
  return reads;
}

void print(read_counts const& reads, sink const& output) {
  if (reads.skipped.value_or(0) > 0) output(text_of({"damaged records: ", *reads.skipped, " reads skipped"}));
  if (reads.ignored_orientations.value_or(0) > 0)
    output(text_of({"EXIF orientations: not applied in ", *reads.ignored_orientations, " reads of images"}));
}

test_report evaluate(training& trained, dataset const& test, evaluation_settings const& settings) {
  tensor_description const target = test.describe().targets.at(0);
  test_report results;
  auto const add = [&](char const* name, std::optional<double> const& value) {
    if (value) results.numbers.push_back({name, *value});
  };
  if (target.classes > 0) {
    evaluation_settings limited = settings;
    limited.top = std::min(settings.top, target.classes);
    classification_report const report = trained.evaluate(test, limited);
    results.text = report.stats();
    add("accuracy", report.accuracy());
    if (limited.top > 1) add("top_accuracy", report.top_accuracy());
  } else {
    regression_report report(static_cast<int>(target.example.elements()));
    trained.evaluate(test, {&report}, settings);
    results.text = report.stats();
    add("rmse", report.rmse());
    add("mae", report.mae());
    add("r2", report.r2());
  }
  return results;
}

run_totals totals_of(fit_report const& fitted, double seconds, communicator& world) {
  run_totals totals{.seconds = seconds, .wait_seconds = fitted.wait_seconds};
  world.allreduce(std::span<double>(&totals.wait_seconds, 1), reduction::maximum);
  totals.bytes = world.sent().bytes_sent;
  world.allreduce(std::span<std::uint64_t>(&totals.bytes, 1));
  return totals;
}

void print_totals(training& trained, fit_report const& fitted, run_totals const& totals,
                  strategy_source const& strategy, sink const& output) {
  communicator const& world = trained.world();
  auto const per_second = [&](double count) { return totals.seconds > 0 ? count / totals.seconds : 0; };
  std::string line;
  if (fitted.steps > 0)
    line = text_of({fitted.steps, " steps in ", fixed(totals.seconds, 2), " s, ",
                    fixed(per_second(static_cast<double>(fitted.examples)), 0), " samples/s, ",
                    fixed(100 * per_second(totals.wait_seconds), 0), " % waiting for data, "});
  if (world.size() > 1)
    line += text_of({world.size(), " ranks over ", world.name(), " by ", strategy_name(strategy, world), ", ",
                     fixed(static_cast<double>(totals.bytes) / 1e6, 1), " MB sent, "});
  output(line + "checksum " + trained.checksum());
  if (std::string const text = exchange_text(trained.exchange_report(), {}, fitted.steps);
      !text.empty() && fitted.steps > 0)
    output("exchange by rank 0: " + text);
}

void write_totals(io::json_writer& out, training& trained, fit_report const& fitted, run_totals const& totals,
                  strategy_source const& strategy) {
  communicator const& world = trained.world();
  double const examples = static_cast<double>(fitted.examples);
  out.field("seconds", totals.seconds);
  out.field("samples_per_second", totals.seconds > 0 ? examples / totals.seconds : 0);
  out.field("wait_seconds", totals.wait_seconds).field("ranks", world.size());
  out.field("communicator", world.name()).field("strategy", strategy_name(strategy, world));
  out.field("bytes_sent", totals.bytes).field("exchange_seconds", fitted.exchange_seconds);
  out.field("backend", trained.backend()).field("steps", fitted.steps).key("loss");
  fitted.loss == fitted.loss ? out.value(fitted.loss) : out.value(nullptr);  // NaN: no loss
  out.field("checksum", trained.checksum());
}

void resume_newest(training& trained, std::string const& checkpoints, sink const& output) {
  auto const from = resume(trained, checkpoints);
  if (trained.world().rank() != 0) return;
  output(from ? text_of({"resumed from ", *from, ", after ", trained.step(), " steps"})
              : text_of({"no checkpoint in ", checkpoints, ": starting from scratch"}));
}

int report_failed_saves(training const& trained, checkpoint_listener const* saving, sink const& log) {
  if (!saving || saving->failures() == 0) return 0;
  if (trained.world().rank() == 0)
    log(text_of({saving->failures(), " checkpoints could not be saved (",
                 saving->last_error().empty() ? "the last one was" : saving->last_error(), "); ",
                 saving->newest().empty() ? "this run has saved none" : "the newest one is ",
                 saving->newest()}));
  return saving->last_error().empty() ? 0 : 1;
}

int report_stop(training const& trained, checkpoint_listener const* saving, sink const& output,
                sink const& log) {
  std::int64_t const step = trained.step();
  bool const prints = trained.world().rank() == 0;
  if (saving && saving->newest_step() == step) {
    if (prints) output(text_of({"stopped after ", step, " steps: saved in ", saving->newest()}));
    return communicator_exit_status;
  }
  if (!prints) return 1;
  std::string const reason = saving ? saving->last_error() : "no folder for checkpoints is set";
  std::string const older = !saving || saving->newest().empty()
                                ? "no checkpoint was saved"
                                : text_of({"the newest checkpoint, ", saving->newest(), ", is ",
                                           step - saving->newest_step(), " steps older"});
  log(text_of({"stopped after ", step, " steps, state not saved: ", reason, "; ", older}));
  return 1;
}

}  // namespace cohort::documents
