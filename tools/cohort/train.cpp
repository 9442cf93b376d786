// SPDX-License-Identifier: Apache-2.0
// Trains the network that a document describes: cohort train --help
#include <algorithm>
#include <cmath>
#include <cohort/checkpoint/checkpoint_reader.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/cohort.hpp>
#include <cohort/configuration/run_document.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/json_writer.hpp>
#include <cohort/training/checkpoint_listener.hpp>
#include <cohort/training/load_parameters.hpp>
#include <cohort/training/progress_listener.hpp>
#include <cohort/training/stop_on_signal.hpp>
#include <cohort/transform/keep_pipeline.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>
#include "commands.hpp"
#include "document_call.hpp"
#include "document_data.hpp"
#include "document_run.hpp"
#include "reference_program/monitors.hpp"
#include "reference_program/program.hpp"

namespace {

using cohort::run_document;
using cohort_program::document_call;
using cohort_program::document_data;
using cohort_program::document_fields;
using cohort_program::test_report;

constexpr char const* help =
    R"(Trains the network that a document describes: its layers, data, optimizer, strategy and all settings.

  cohort train FILE [flags]

  --resume           the same as --set output.resume=true: starts from the newest checkpoint
  --preflight        checks as cohort check before training
)";

constexpr char const* help_of_check =
    R"(Checks hosts, network, settings, memory and disk of the run that a document describes, and prints latency and
bandwidth of every pair of ranks. Nothing is trained.

  cohort check FILE [flags]

  --resume           the same as --set output.resume=true
)";

std::string json_report(run_document const& run, cohort::training& training, cohort::fit_report const& fitted,
                        test_report const& results, reference_program::run_totals const& totals,
                        std::optional<std::uint64_t> skipped,
                        std::optional<cohort::transform_report> const& rows) {
  cohort::io::json_writer out(2);
  out.begin_object();
  for (auto const& [name, value] : results.numbers) out.field(name, value);
  reference_program::write_totals(out, training, fitted, totals, run.strategy);
  out.field("epochs", training.epoch());
  if (skipped) out.field("skipped_records", *skipped);
  if (rows) out.field("removed_rows", rows->removed).field("skipped_rows", rows->skipped);
  out.key("history").begin_object();
  for (std::string const& name : fitted.history.names()) {
    out.key(name).begin_array(cohort::io::json_lines::one);
    for (double const value : fitted.history[name])
      value == value ? out.value(value) : out.value(nullptr);  // NaN: undefined
    out.end_array();
  }
  return out.end_object().end_object().text();
}

/// Loads the model or parameters that the document starts from, and prepares the data. Collective.
void start(cohort::training& training, run_document const& run, std::optional<cohort::model_file> const& from,
           document_data const& data) {
  if (from && run.network.optimizer_state) {
    if (!from->optimizer())
      throw cohort::setting_error({.what = "the model does not contain the state of its training",
                                   .where = "network.optimizer_state",
                                   .expected = "false, or a model that output.model of a run has written",
                                   .got = run.network.model});
    training.load(*from);
  } else if (from && run.network.parameters) {
    load_parameters(training, *from);
  }
  if (run.normalise.inputs != cohort::rescaling::none || run.normalise.targets != cohort::rescaling::none) {
    if (!training.normalisation().empty())
      throw cohort::setting_error(
          {.what = "the document sets a normalisation, but the model's parameters were trained with the "
                   "model's own",
           .where = "normalise",
           .expected = "none, or network.parameters: false",
           .got = run.network.model + ", which contains a normalisation"});
    training.normalise(data.train, run.normalise, run.fit.sharding);
  }
  if (data.pipeline) keep(training, *data.pipeline);
  if (data.encoder) training.keep(*data.encoder);
}

/// Returns the first map of `one` that differs in `other`, as text; empty: none. Differences caused by
/// rounding are ignored, because the order of a sum depends on the number of ranks.
std::string difference(cohort::normalisation const& one, cohort::normalisation const& other) {
  auto const between = [](char const* kind, auto const& some, auto const& others) -> std::string {
    constexpr double rounding = 1e-4;
    auto const is_close = [](cohort::channel_scaling const& a, cohort::channel_scaling const& b) {
      return std::abs(a.scale - b.scale) <= rounding * std::abs(a.scale)
             && std::abs(a.offset - b.offset) <= rounding * std::max(1.0, std::abs(a.offset));
    };
    for (std::size_t part = 0; part < std::max(some.size(), others.size()); ++part) {
      auto const maps = part < some.size() ? some[part] : std::vector<cohort::channel_scaling>();
      auto const other_maps = part < others.size() ? others[part] : std::vector<cohort::channel_scaling>();
      std::string const where = std::string(kind) + ' ' + std::to_string(part) + ": ";
      if (maps.size() < other_maps.size())
        return where + (maps.empty() ? "not rescaled" : std::to_string(maps.size()) + " channels");
      for (std::size_t c = 0; c < maps.size(); ++c)
        if (c >= other_maps.size() || !is_close(maps[c], other_maps[c]))
          return where + "scale " + std::to_string(maps[c].scale) + " and offset "
                 + std::to_string(maps[c].offset) + " in channel " + std::to_string(c);
    }
    return "";
  };
  std::string const inputs = between("input", one.inputs, other.inputs);
  return inputs.empty() ? between("target", one.targets, other.targets) : inputs;
}

/// Continues from the newest checkpoint, if there is one. Collective.
void resume(cohort::training& training, run_document const& run, document_data const& data) {
  cohort::normalisation const learned = training.normalisation();
  reference_program::resume_newest(training, run.output.checkpoints);
  if (std::string const saved = difference(training.normalisation(), learned); !saved.empty())
    throw cohort::setting_error(
        {.what = "the document's normalise, or its data, differs from that of the checkpoint",
         .where = run.output.checkpoints,
         .expected = saved,
         .got = difference(learned, training.normalisation())});
  auto const refuse = [&](char const* part) {
    throw cohort::setting_error(
        {.what = {"the table's ", part, " differs from the ", part, " of the checkpoint"},
         .where = run.output.checkpoints,
         .expected = "the table of the run that wrote the checkpoint",
         .got = data.where});
  };
  if (kept_pipeline(training) != data.pipeline) refuse("pipeline");
  if (data.encoder && training.encoder() != *data.encoder) refuse("encoder");
}

enum class checking { none, before_training, only };

/// Runs one rank. Returns its exit status.
int run_rank(run_document const& run, checking checks, cohort::communicator& world,
             document_data const& data) {
  bool const prints = world.rank() == 0;
  reference_program::require_same_calls(
      world, {{"output.resume", run.output.resume}, {"output.model", !run.output.model.empty()}});
  cohort::dataset const* const test = data.test ? &*data.test : nullptr;
  cohort_program::print_data(run, data, world);
  std::optional<cohort::model_file> from;
  if (!run.network.model.empty()) from = cohort::model_file::open(run.network.model);
  cohort::training training = reference_program::make_training(
      run, from ? from->network() : *run.network.layers, world, document_fields);
  start(training, run, from, data);
  from.reset();
  std::int64_t const last_epoch = training.epoch() + run.fit.epochs;
  if (run.output.resume) resume(training, run, data);

  cohort::progress_listener progress;
  std::optional<cohort::checkpoint_listener> saving;
  std::optional<cohort::stop_on_signal> stopping;
  cohort::fit_settings how = run.fit;
  how.epochs = static_cast<int>(std::max<std::int64_t>(last_epoch - training.epoch(), 0));
  if (test) {
    bool const classifies = test->describe().targets.at(0).classes > 0;
    how.validation = *test;
    how.metrics = {classifies ? cohort::metric(cohort::metrics::accuracy)
                              : cohort::metric(cohort::metrics::rmse)};
  }
  how.listeners = {&progress};
  if (!run.output.checkpoints.empty()) {
    how.listeners.push_back(
        &saving.emplace(run.output.checkpoints, run.output.checkpoint_every, run.output.keep));
    how.listeners.push_back(&stopping.emplace());
  }
  if (checks != checking::none) reference_program::check_run(training, data.train, how, run);
  if (checks == checking::only) return 0;
  cohort::evaluation_settings evaluation = run.evaluation;
  evaluation.sharding = run.fit.sharding;
  reference_program::monitors const shown(run.output, "cohort train", training, data.train, test, evaluation,
                                          how);
  shown.add_to(how.listeners);
  cohort::fit_report const fitted = training.fit(data.train, how);
  if (fitted.stopped) return reference_program::report_stop(training, saving ? &*saving : nullptr);

  test_report results;
  if (test) results = cohort_program::evaluate(training, *test, evaluation);
  reference_program::run_totals const totals{.seconds = fitted.seconds,
                                             .wait_seconds = reference_program::longest_wait(fitted, world),
                                             .bytes = reference_program::bytes_sent(world)};
  cohort_program::read_counts const reads = count_reads(data, world);
  if (prints) {
    if (test) std::printf("\n%s\n", results.text.c_str());
    reference_program::print_totals(training, fitted, totals, run.strategy);
    print(reads);
    std::fflush(stdout);
  }
  if (!run.output.model.empty()) reference_program::save(training, run.output.model);
  if (prints && !run.output.report.empty())
    cohort::io::write_file(run.output.report,
                           json_report(run, training, fitted, results, totals, reads.skipped, data.rows));
  return reference_program::report_failed_saves(training, saving ? &*saving : nullptr);
}

/// Checks on rank 0 that the outputs can be written.
void require_outputs(cohort::output_settings const& output, cohort::communicator const& world) {
  if (world.rank() != 0) return;
  reference_program::output_place const checkpoints{output.checkpoints, "output.checkpoints", true};
  reference_program::require_writable({{output.model, "output.model"},
                                       {output.report, "output.report"},
                                       {output.tensorboard, "output.tensorboard", true},
                                       {output.html_report, "output.html_report"},
                                       checkpoints});
  reference_program::require_no_checkpoints(checkpoints, output.resume);
}

int train(run_document const& run, checking checks, int count, char** words) {
  cohort_program::require_equal_preparation(run);
  return cohort_program::run_on_ranks(
      run, count, words,
      {.preflight = checks != checking::none,
       .begin = [&](cohort::communicator const& world) { require_outputs(run.output, world); },
       .load =
           [&] {
             return cohort_program::load(run.data, run.training.seed,
                                         cohort_program::preparation_of(run.network));
           },
       .run_rank = [&](cohort::communicator& world,
                       document_data const& data) { return run_rank(run, checks, world, data); }});
}

}  // namespace

int cohort_program::train_command(int count, char** words) {
  return run_document_command(
      count, words,
      {.help = help,
       .flags = {{"--resume", false}, {"--preflight", false}},
       .work = [&](document_call const& call, run_document const& run) {
         return train(run, call.has("--preflight") ? checking::before_training : checking::none, count,
                      words);
       }});
}

int cohort_program::check_command(int count, char** words) {
  return run_document_command(count, words,
                              {.help = help_of_check,
                               .flags = {{"--resume", false}},
                               .work = [&](document_call const&, run_document const& run) {
                                 return train(run, checking::only, count, words);
                               }});
}
