// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/checkpoint/safetensors.hpp>
#include <cohort/communicator/require_same.hpp>
#include <cohort/data/weighted_by_class.hpp>
#include <cohort/documents/checks.hpp>
#include <cohort/documents/data.hpp>
#include <cohort/documents/monitors.hpp>
#include <cohort/documents/networks.hpp>
#include <cohort/documents/outputs.hpp>
#include <cohort/documents/ranks.hpp>
#include <cohort/documents/remote.hpp>
#include <cohort/documents/run.hpp>
#include <cohort/documents/settings.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/export_onnx.hpp>
#include <cohort/interchange/name_map.hpp>
#include <cohort/interchange/write_predictions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/json_writer.hpp>
#include <cohort/training/early_stopping_listener.hpp>
#include <cohort/training/load_parameters.hpp>
#include <cohort/training/metric.hpp>
#include <cohort/training/progress_listener.hpp>
#include <cohort/training/stop_on_signal.hpp>
#include <cohort/transform/keep_pipeline.hpp>
#if COHORT_WITH_YAML
#include <cohort/yaml.hpp>
#endif
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::documents {

namespace {

/// Writes a number, or null for NaN: undefined.
void write_number(io::json_writer& out, double value) {
  value == value ? out.value(value) : out.value(nullptr);
}

/// Metrics of the test set for the parameters that early stopping has restored. `epoch`: of these parameters,
/// from 1; 0: none were restored.
struct restored_metrics {
  std::int64_t epoch = 0;
  std::vector<metric_value> values{};
};

std::string json_report(run_document const& run, training& trained, fit_report const& fitted,
                        test_report const& results, run_totals const& totals,
                        std::optional<std::uint64_t> skipped, std::optional<transform_report> const& rows,
                        restored_metrics const& restored) {
  io::json_writer out(2);
  out.begin_object();
  for (auto const& [name, value] : results.numbers) out.field(name, value);
  write_totals(out, trained, fitted, totals, run.strategy);
  out.field("epochs", trained.epoch());
  if (skipped) out.field("skipped_records", *skipped);
  if (rows) out.field("removed_rows", rows->removed).field("skipped_rows", rows->skipped);
  if (restored.epoch > 0) {
    out.key("restored").begin_object().field("epoch", restored.epoch);
    for (metric_value const& value : restored.values) write_number(out.key(value.name), value.value);
    out.end_object();
  }
  out.key("history").begin_object();
  for (std::string const& name : fitted.history.names()) {
    out.key(name).begin_array(io::json_lines::one);
    for (double const value : fitted.history[name]) write_number(out, value);
    out.end_array();
  }
  return out.end_object().end_object().text();
}

/// Reads initial parameters from a file of tensors.
void read_weights(training& trained, network_source const& from) {
  auto const file = safetensors::load(from.weights);
  name_map const names =
      from.names.empty() ? name_map::parse("* *", "equal names") : name_map::load(from.names);
  read_mapped(file.tensors(), file.name(), names, trained.network(), trained.parameters());
}

/// Returns a metric by its name in documents.
metric metric_of(std::string_view name, int top) {
  for (auto const& [known, found] :
       std::initializer_list<std::pair<std::string_view, metric>>{{"loss", metrics::loss},
                                                                  {"accuracy", metrics::accuracy},
                                                                  {"log_loss", metrics::log_loss},
                                                                  {"perplexity", metrics::perplexity},
                                                                  {"rmse", metrics::rmse},
                                                                  {"mae", metrics::mae},
                                                                  {"r2", metrics::r2},
                                                                  {"auc", metrics::auc}})
    if (known == name) return found;
  return metrics::top_k(top);
}

/// Adds the test set, its metrics and early stopping to the settings of fit.
void add_validation(fit_settings& fitting, std::optional<early_stopping_listener>& stopping,
                    run_document const& run, dataset const* test, sink const& log) {
  if (!test) {
    auto const refuse = [](char const* field) {
      throw setting_error({.what = "there is no test set",
                           .where = field,
                           .expected = "data with a test set, or no such field",
                           .got = "data without one"});
    };
    if (!run.metrics.empty()) refuse("training.metrics");
    if (run.early_stopping) refuse("training.early_stopping");
    if (!run.output.predictions.empty()) refuse("output.predictions");
    return;
  }
  int const classes = test->describe().targets.at(0).classes;
  int const top = classes > 0 ? std::min(run.evaluation.top, classes) : run.evaluation.top;
  fitting.validation = *test;
  for (std::string const& name : run.metrics) fitting.metrics.push_back(metric_of(name, top));
  if (run.metrics.empty()) fitting.metrics = {metric_of(classes > 0 ? "accuracy" : "rmse", top)};
  if (!run.early_stopping) return;
  metric const judge = metric_of(run.early_stopping->metric, top);
  auto const has_name = [&](metric const& known) { return known.name == judge.name; };
  if (judge.name != metrics::loss.name && std::ranges::none_of(fitting.metrics, has_name))
    fitting.metrics.push_back(judge);
  early_stopping_settings settings = run.early_stopping->settings;
  settings.lines = log;
  fitting.listeners.push_back(&stopping.emplace(judge, settings));
}

/// Returns a data set whose classes have the weights of the document. With local sharding, balanced weights
/// are those of the examples of all ranks. Collective.
dataset weighted(dataset const& data, run_document const& run, communicator& world) {
  class_weights const& weights = run.weights_of_classes;
  if (weights.balanced && run.fit.sharding == sharding::local) {
    std::vector<std::uint64_t> counts = detail::count_classes(data);
    require_same(world, std::vector<shared_fact>{{"number of classes", std::to_string(counts.size())}});
    world.allreduce(std::span<std::uint64_t>(counts));
    return weighted_by_class(data, detail::balanced_weights(counts));
  }
  if (weights.balanced) return weighted_by_class(data);
  if (weights.values.empty()) return data;
  return weighted_by_class(data, std::vector<float>(weights.values.begin(), weights.values.end()));
}

/// Loads the model or parameters that the document starts from, and prepares the data. Collective.
void start(training& trained, run_document const& run, std::optional<model_file> const& from,
           data_sets const& data) {
  if (from && run.network.optimizer_state) {
    if (!from->optimizer())
      throw setting_error({.what = "the model does not contain the state of its training",
                           .where = "network.optimizer_state",
                           .expected = "false, or a model that output.model of a run has written",
                           .got = run.network.model});
    trained.load(*from);
  } else if (from && run.network.parameters) {
    load_parameters(trained, *from);
  }
  if (!run.network.weights.empty()) read_weights(trained, run.network);
  if (run.normalise.inputs != rescaling::none || run.normalise.targets != rescaling::none) {
    if (!trained.normalisation().empty())
      throw setting_error(
          {.what = "the document sets a normalisation, but the model's parameters were trained with the "
                   "model's own",
           .where = "normalise",
           .expected = "none, or network.parameters: false",
           .got = from->file().name() + ", which contains a normalisation"});
    trained.normalise(data.train, run.normalise, run.fit.sharding);
  }
  if (data.pipeline) keep(trained, *data.pipeline);
  if (data.encoder) trained.keep(*data.encoder);
}

/// Returns the first map of `first` that differs in `second`, as text; empty: none. Differences caused by
/// rounding are ignored, because the order of a sum depends on the number of ranks.
std::string difference(normalisation const& first, normalisation const& second) {
  auto const between = [](char const* kind, auto const& some, auto const& others) -> std::string {
    constexpr double rounding = 1e-4;
    auto const is_close = [](channel_scaling const& a, channel_scaling const& b) {
      return std::abs(a.scale - b.scale) <= rounding * std::abs(a.scale)
             && std::abs(a.offset - b.offset) <= rounding * std::max(1.0, std::abs(a.offset));
    };
    for (std::size_t part = 0; part < std::max(some.size(), others.size()); ++part) {
      auto const maps = part < some.size() ? some[part] : std::vector<channel_scaling>();
      auto const other_maps = part < others.size() ? others[part] : std::vector<channel_scaling>();
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
  std::string const inputs = between("input", first.inputs, second.inputs);
  return inputs.empty() ? between("target", first.targets, second.targets) : inputs;
}

/// Continues from the newest checkpoint, if there is one. Collective.
void continue_run(training& trained, run_document const& run, data_sets const& data, sink const& output) {
  normalisation const learned = trained.normalisation();
  resume_newest(trained, run.output.checkpoints, output);
  if (std::string const saved = difference(trained.normalisation(), learned); !saved.empty())
    throw setting_error({.what = "the document's normalise, or its data, differs from that of the checkpoint",
                         .where = run.output.checkpoints,
                         .expected = saved,
                         .got = difference(learned, trained.normalisation())});
  auto const refuse = [&](char const* part) {
    throw setting_error({.what = {"the table's ", part, " differs from the ", part, " of the checkpoint"},
                         .where = run.output.checkpoints,
                         .expected = "the table of the run that wrote the checkpoint",
                         .got = data.where});
  };
  if (kept_pipeline(trained) != data.pipeline) refuse("pipeline");
  if (data.encoder && trained.encoder() != *data.encoder) refuse("encoder");
}

/// Computes the metrics of fit for the parameters that early stopping has restored. Collective.
restored_metrics measure_restored(training& trained, early_stopping_listener const& early,
                                  fit_settings const& fitting, evaluation_settings const& evaluation) {
  restored_metrics restored{.epoch = early.best_epoch()};
  std::vector<metric> measured = fitting.metrics;
  if (std::ranges::find(measured, metrics::loss.name, &metric::name) == measured.end())
    measured.emplace_back(metrics::loss);
  for (metric const& computed : measured)
    restored.values.push_back({computed.name, computed.on(*fitting.validation, evaluation).of(trained)});
  return restored;
}

/// Writes the outputs for the test set. Collective.
void write_test_predictions(training& trained, run_document const& run, dataset const& test) {
  std::string const& path = run.output.predictions;
  write_predictions(trained, test, path,
                    {.format = path.ends_with(".npy") ? prediction_format::npy : prediction_format::csv,
                     .batch = run.evaluation.batch,
                     .sharding = run.fit.sharding,
                     .readers = run.evaluation.readers,
                     .resume = false});
}

/// Runs one rank.
document_result run_rank(run_document const& run, run_settings const& settings, communicator& world,
                         data_sets const& data) {
  require_same_calls(world, {{"output.resume", run.output.resume},
                             {"output.model", !run.output.model.empty()},
                             {"output.onnx", !run.output.onnx.empty()},
                             {"output.predictions", !run.output.predictions.empty()},
                             {"training.class_weights",
                              run.weights_of_classes.balanced && run.fit.sharding == sharding::local}});
  dataset const* const test = data.test ? &*data.test : nullptr;
  print_data(run, data, world, settings.output, settings.log);
  dataset const training_set = weighted(data.train, run, world);
  network_start from = read_network(run);
  training trained = make_training(with_frozen_layers(run, from.frozen), std::move(from.net), world);
  start(trained, run, from.model, data);
  from.model.reset();
  if (settings.start) settings.start(trained);
  std::int64_t const last_epoch = trained.epoch() + run.fit.epochs;
  if (run.output.resume) continue_run(trained, run, data, settings.output);

  progress_listener progress(settings.progress);
  std::optional<checkpoint_listener> saving;
  std::optional<stop_on_signal> stopping;
  std::optional<early_stopping_listener> early;
  fit_settings fitting = run.fit;
  fitting.epochs = static_cast<int>(std::max<std::int64_t>(last_epoch - trained.epoch(), 0));
  fitting.listeners = {&progress};
  add_validation(fitting, early, run, test, settings.log);
  if (!run.output.checkpoints.empty()) {
    fitting.listeners.push_back(&saving.emplace(run.output.checkpoints, run.output.checkpoint_every,
                                                run.output.keep, stderr_sink(),
                                                std::chrono::seconds(run.output.max_age)));
    fitting.listeners.push_back(&stopping.emplace());
  }
  if (settings.checks != checking::none) check_run(trained, training_set, fitting, run, settings.log);
  document_result result;
  if (settings.checks == checking::only) return result;
  evaluation_settings evaluation = run.evaluation;
  evaluation.sharding = run.fit.sharding;
  if (int const classes = test ? test->describe().targets.at(0).classes : 0; classes > 0)
    evaluation.top = std::min(evaluation.top, classes);
  monitors const shown(run.output, settings.title.c_str(), trained, training_set, test, evaluation, fitting);
  shown.add_to(fitting.listeners);
  result.fitted = trained.fit(training_set, fitting);
  checkpoint_listener const* const saved = saving ? &*saving : nullptr;
  if (result.fitted.stopped && !(early && early->has_stopped())) {
    result.exit_status = report_stop(trained, saved, settings.output, settings.log);
    return result;
  }

  if (test) result.test = evaluate(trained, *test, evaluation);
  restored_metrics restored;
  if (early && run.early_stopping->settings.restore_best && early->best_epoch() > 0)
    restored = measure_restored(trained, *early, fitting, evaluation);
  run_totals const totals = totals_of(result.fitted, result.fitted.seconds, world);
  read_counts const reads = count_reads(data, world);
  trained.gather_parameters();  // for the checksum, exports and predictions
  result.checksum = trained.checksum();
  bool const prints = world.rank() == 0;
  if (prints) {
    if (test) print_lines("\n" + result.test.text, settings.output);
    print_totals(trained, result.fitted, totals, run.strategy, settings.output);
    print(reads, settings.output);
  }
  if (!run.output.model.empty()) trained.save(run.output.model, true);
  if (prints && data.tokens && !run.output.tokens.empty()) data.tokens->save(run.output.tokens);
  if (settings.finish) settings.finish(trained);
  if (prints && !run.output.report.empty())
    io::write_file(run.output.report, json_report(run, trained, result.fitted, result.test, totals,
                                                  reads.skipped, data.rows, restored));
  if (!run.output.onnx.empty()) export_onnx(trained, run.output.onnx);
  if (!run.output.predictions.empty()) write_test_predictions(trained, run, *test);
  result.exit_status = report_failed_saves(trained, saved, settings.log);
  return result;
}

}  // namespace

}  // namespace cohort::documents

namespace cohort {

run_document read_document(std::string const& path) {
  if (path.ends_with(".json")) return run_document::from_json(io::read_text(path), path);
  if (!path.ends_with(".yaml") && !path.ends_with(".yml"))
    throw documents::usage_error("expected a file that ends in .yaml, .yml or .json, got '" + path + "'");
#if COHORT_WITH_YAML
  io::json_document const parsed = io::parse_yaml(io::read_text(path), path);
  return run_document::from(parsed.root());
#else
  throw documents::usage_error(
      path
      + ": this program was built without the component yaml: expected a document in JSON; or install "
        "libyaml-cpp-dev and build again");
#endif
}

document_result run(run_document const& document, documents::run_settings const& settings) {
  document.check();
  if (!settings.load) documents::require_equal_preparation(document);
  document_result result;
  run_document local = document;  // assigned before the ranks of this process read it
  int const status = documents::run_on_ranks(
      document, {.preflight = settings.checks != documents::checking::none,
                 .begin =
                     [&](communicator& world) {
                       documents::require_outputs(document.output, world);
                       if (settings.begin) settings.begin(world);
                     },
                 .load =
                     [&](communicator& world) {
                       local = documents::with_local_files(document);
                       return settings.load ? settings.load(world)
                                            : documents::load(local, documents::shards_of(local, world));
                     },
                 .run_rank =
                     [&](communicator& world, documents::data_sets const& data) {
                       document_result of_rank = documents::run_rank(local, settings, world, data);
                       int const rank_status = of_rank.exit_status;
                       if (world.rank() == 0 || world.name() != "threads") result = std::move(of_rank);
                       return rank_status;
                     }});
  result.exit_status = status;
  return result;
}

}  // namespace cohort
