// SPDX-License-Identifier: Apache-2.0
// needs: configuration onednn transform zlib
// uses: image yaml
// Trains the network that a file describes, without C++: cohort-train --help
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cohort/checkpoint/checkpoint_reader.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/cohort.hpp>
#include <cohort/configuration/run_document.hpp>
#include <cohort/evaluation/regression.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/json_writer.hpp>
#include <cohort/training/checkpoint_listener.hpp>
#include <cohort/training/load_parameters.hpp>
#include <cohort/training/progress_listener.hpp>
#include <cohort/training/stop_on_signal.hpp>
#include <cohort/transform/keep_pipeline.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>
#include "cohort_train/document_data.hpp"
#include "reference_program/monitors.hpp"
#include "reference_program/program.hpp"
#if __has_include(<cohort/yaml.hpp>)
#include <cohort/yaml.hpp>
#define HAS_YAML 1
#endif

extern char** environ;  // NOLINT: POSIX

namespace {

using cohort::run_document;
using cohort_train::document_data;
using reference_program::usage_error;

constexpr char const* help =
    R"(Trains the network that a document describes: its layers, data, optimizer, strategy and all settings.

  cohort-train FILE [flags]      FILE ends in .yaml, .yml or .json

  --set PATH=VALUE   sets a field, as in --set training.batch=64 or --set strategy.averaging.every=3.
                     VALUE is JSON, or else a text; lists are replaced as a whole
  --ranks N          the same as --set ranks.count=N: ranks as threads of this process.
                     Under mpirun, and with COHORT_JOIN, each process is a rank
  --resume           the same as --set output.resume=true: starts from the newest checkpoint
  --max-bytes SIZE   sets training.max_bytes, the limit of a rank's memory for training: bytes, or a number with
                     K, M, G or T (powers of 1024), such as 512M; 0: none
  --preflight        checks hosts, network, settings, memory and disk before training, and prints latency and
                     bandwidth of every pair of ranks
  --print-config     prints the document with all fields, as JSON, and ends
  --print-schema     prints the JSON Schema of documents, and ends
  --help             prints this text

A variable COHORT_SET_TRAINING__BATCH=64 does the same as --set training.batch=64: two underscores stand for a
point, capitals for small letters. COHORT_MAX_BYTES=8G does the same as --max-bytes 8G. Flags override variables,
and these override the file; of a repeated flag the last one counts. With mpirun on several hosts, export the
variables by its flag -x.

Exit status: 0; 1 after an error in a run; 2 for an invalid document or flag; 75 if the same command can be
restarted with --resume.
)";

constexpr reference_program::setting_names document_fields{.backend = "backend",
                                                           .ranks = "ranks.count",
                                                           .communicator = "ranks.communicator",
                                                           .strategy = "strategy"};

/// One field to set, and the source of the value.
struct assignment {
  std::string path, value, origin;
};

struct command {
  std::string file{};
  std::vector<assignment> fields{};  // fields that flags set
  bool preflight = false;
  bool prints_config = false;
  bool prints_schema = false;
  bool prints_help = false;
};

assignment assignment_of(std::string const& text, std::string origin) {
  std::size_t const equals = text.find('=');
  if (equals == std::string::npos) throw usage_error(origin + ": expected PATH=VALUE, got '" + text + "'");
  return {text.substr(0, equals), text.substr(equals + 1), std::move(origin)};
}

assignment max_bytes_assignment(std::string_view size, char const* origin) {
  return {"training.max_bytes", std::to_string(reference_program::bytes_of(origin, size)), origin};
}

/// Returns the fields that the environment sets, in the order of the variables' names. COHORT_MAX_BYTES is
/// first, so COHORT_SET_TRAINING__MAX_BYTES overrides it.
std::vector<assignment> assignments_of_environment() {
  constexpr std::string_view prefix = "COHORT_SET_";
  std::map<std::string, std::string> sorted;
  for (char** one = environ; *one; ++one) {
    std::string_view const entry = *one;
    std::size_t const equals = entry.find('=');
    if (!entry.starts_with(prefix) || equals == entry.npos) continue;
    sorted.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  std::vector<assignment> fields;
  constexpr char const* limit = reference_program::max_bytes_variable;
  if (char const* const size = std::getenv(limit); size && *size)
    fields.push_back(max_bytes_assignment(size, limit));
  for (auto const& [name, value] : sorted) {
    std::string path;
    for (std::size_t k = prefix.size(); k < name.size(); ++k) {
      bool const is_point = name.compare(k, 2, "__") == 0;
      path += is_point                           ? '.'
              : name[k] >= 'A' && name[k] <= 'Z' ? static_cast<char>(name[k] - 'A' + 'a')
                                                 : name[k];
      if (is_point) ++k;
    }
    fields.push_back({path, value, name});
  }
  return fields;
}

command parse(int argc, char** argv) {
  command made;
  for (int k = 1; k < argc; ++k) {
    std::string const given = argv[k];
    std::string const flag = given.substr(0, given.find('='));
    auto const value = [&]() -> std::string {
      if (flag.size() < given.size()) return given.substr(flag.size() + 1);
      if (++k == argc) throw usage_error(flag + ": expected a value, got none");
      return argv[k];
    };
    if (flag == "--set") {
      std::string const text = value();
      made.fields.push_back(assignment_of(text, "--set " + text));
    } else if (flag == "--ranks") {
      made.fields.push_back({"ranks.count", value(), "--ranks"});
    } else if (flag == "--max-bytes") {
      made.fields.push_back(max_bytes_assignment(value(), "--max-bytes"));
    } else if (given == "--resume") {
      made.fields.push_back({"output.resume", "true", "--resume"});
    } else if (given == "--preflight") {
      made.preflight = true;
    } else if (given == "--print-config") {
      made.prints_config = true;
    } else if (given == "--print-schema") {
      made.prints_schema = true;
    } else if (given == "--help") {
      made.prints_help = true;
    } else if (given.starts_with("-")) {
      throw usage_error("unknown flag '" + given + "'; --help lists the flags");
    } else if (!made.file.empty()) {
      throw usage_error("expected one file, got '" + made.file + "' and '" + given + "'");
    } else {
      made.file = given;
    }
  }
  return made;
}

run_document read_document(std::string const& path) {
  std::string const text = cohort::io::read_text(path);
  if (path.ends_with(".json")) return run_document::from_json(text, path);
  if (!path.ends_with(".yaml") && !path.ends_with(".yml"))
    throw usage_error("expected a file that ends in .yaml, .yml or .json, got '" + path + "'");
#if HAS_YAML
  cohort::io::json_document const parsed = cohort::io::parse_yaml(text, path);
  return run_document::from(parsed.root());
#else
  throw usage_error(path
                    + ": this program was built without the component yaml: expected a document in JSON; or "
                      "install libyaml-cpp-dev and build again");
#endif
}

/// Returns the document of a command: its file, overridden by the environment, then by the flags.
run_document document_of(command const& given) {
  if (given.file.empty())
    throw usage_error("expected a file, got none; --help shows how to use this program");
  run_document run = read_document(given.file);
  std::vector<assignment> fields = assignments_of_environment();
  fields.insert(fields.end(), given.fields.begin(), given.fields.end());
  for (assignment const& one : fields) run.set(one.path, one.value, one.origin);
  run.check();
  return run;
}

/// Results on the test set, of a classification or a regression.
struct test_report {
  std::string text;
  std::vector<std::pair<std::string, double>> numbers;
};

/// Evaluates the test set. Collective.
test_report evaluate(cohort::training& training, cohort::dataset const& test,
                     cohort::evaluation_settings const& how) {
  cohort::tensor_description const target = test.describe().targets.at(0);
  test_report made;
  auto const add = [&](char const* name, std::optional<double> const& value) {
    if (value) made.numbers.push_back({name, *value});
  };
  if (target.classes > 0) {
    cohort::evaluation_settings limited = how;
    limited.top = std::min(how.top, target.classes);
    cohort::classification_report const report = training.evaluate(test, limited);
    made.text = report.stats();
    add("accuracy", report.accuracy());
    if (limited.top > 1) add("top_accuracy", report.top_accuracy());
  } else {
    cohort::regression_report report(static_cast<int>(target.example.elements()));
    training.evaluate(test, {&report}, how);
    made.text = report.stats();
    add("rmse", report.rmse());
    add("mae", report.mae());
    add("r2", report.r2());
  }
  return made;
}

/// Returns the number of reads that all ranks have counted; nullopt without counter. Collective. Each read
/// counts once, even if ranks that are threads share a counter.
std::optional<std::uint64_t> counted_reads(std::shared_ptr<std::atomic<std::int64_t>> const& counter,
                                           cohort::communicator& world) {
  if (!counter) return std::nullopt;
  auto count = static_cast<std::uint64_t>(counter->exchange(0));
  world.allreduce(std::span<std::uint64_t>(&count, 1));
  return count;
}

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

/// Prints the numbers of rows that a pipeline has read, removed and skipped.
void print_rows(cohort::transform_report const& rows) {
  for (std::string const& problem : rows.problems) std::fprintf(stderr, "skipped: %s\n", problem.c_str());
  std::printf("rows: %lld read, %lld removed by filters, %lld skipped\n", static_cast<long long>(rows.rows),
              static_cast<long long>(rows.removed), static_cast<long long>(rows.skipped));
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

/// Runs one rank. Returns its exit status.
int run_rank(run_document const& run, bool preflight, cohort::communicator& world,
             document_data const& data) {
  bool const prints = world.rank() == 0;
  reference_program::require_same_calls(
      world, {{"output.resume", run.output.resume}, {"output.model", !run.output.model.empty()}});
  cohort::dataset const* const test = data.test ? &*data.test : nullptr;
  if (prints) reference_program::print_data(data.notice, data.where, data.train, test, "examples");
  for (std::string const& notice : data.notices)
    if (prints) std::fprintf(stderr, "%s\n", run.explain(notice).c_str());
  if (prints && data.rows) print_rows(*data.rows);
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
  cohort::evaluation_settings evaluation = run.evaluation;
  evaluation.sharding = run.fit.sharding;
  reference_program::monitors const shown(run.output, "cohort-train", training, data.train, test, evaluation,
                                          how);
  shown.add_to(how.listeners);
  if (preflight) reference_program::check_run(training, data.train, how, run);
  cohort::fit_report const fitted = training.fit(data.train, how);
  if (fitted.stopped) return reference_program::report_stop(training, saving ? &*saving : nullptr);

  test_report results;
  if (test) results = evaluate(training, *test, evaluation);
  reference_program::run_totals const totals{.seconds = fitted.seconds,
                                             .wait_seconds = reference_program::longest_wait(fitted, world),
                                             .bytes = reference_program::bytes_sent(world)};
  std::optional<std::uint64_t> const skipped = counted_reads(data.skipped, world),
                                     ignored = counted_reads(data.ignored_orientations, world);
  if (prints) {
    if (test) std::printf("\n%s\n", results.text.c_str());
    reference_program::print_totals(training, fitted, totals, run.strategy);
    if (skipped.value_or(0) > 0)
      std::printf("damaged records: %llu reads skipped\n", static_cast<unsigned long long>(*skipped));
    if (ignored.value_or(0) > 0)
      std::printf("EXIF orientations: not applied in %llu reads of images\n",
                  static_cast<unsigned long long>(*ignored));
    std::fflush(stdout);
  }
  if (!run.output.model.empty()) reference_program::save(training, run.output.model);
  if (prints && !run.output.report.empty())
    cohort::io::write_file(run.output.report,
                           json_report(run, training, fitted, results, totals, skipped, data.rows));
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

/// Rejects local sharding if the preparation of the data is learned from the files (tables and texts).
void require_equal_preparation(run_document const& run) {
  bool const learns = std::holds_alternative<cohort::table_source>(run.data)
                      || std::holds_alternative<cohort::text_source>(run.data);
  if (learns && run.fit.sharding == cohort::sharding::local)
    throw usage_error(
        "training.sharding: expected global for a table or a text, whose classes and tokens come from one "
        "file, got "
        "local; use idx, images, series or records");
}

/// Returns the preparation of tables that is stored in the model from whose parameters training starts.
cohort_train::table_preparation preparation_of(cohort::network_source const& from) {
  if (from.model.empty() || !from.parameters) return {};
  auto const model = cohort::model_file::open(from.model);
  return {.pipeline = pipeline_in(model), .encoder = encoder_in(model)};
}

int train(run_document const& run, bool preflight, int argc, char** argv) {
  reference_program::require_backend(run.backend, document_fields);
  require_equal_preparation(run);
  std::optional<document_data> data;  // loaded after the ranks have joined, as in the reference programs
  std::once_flag is_loaded;
  auto const body = [&](cohort::communicator& world) {
    require_outputs(run.output, world);
    std::call_once(is_loaded, [&] {
      data.emplace(cohort_train::load(run.data, run.training.seed, preparation_of(run.network)));
    });
    return run_rank(run, preflight, world, *data);
  };
  return reference_program::launch(run, preflight, argc, argv, body, document_fields);
}

int print_error(std::string const& problem, int status) {
  std::fprintf(stderr, "cohort-train: %s\n", problem.c_str());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  run_document run;
  bool preflight = false;
  try {
    command const given = parse(argc, argv);
    preflight = given.preflight;
    if (given.prints_help) return std::fputs(help, stdout) < 0;
    if (given.prints_schema) return std::fputs(cohort::run_document_schema().c_str(), stdout) < 0;
    run = document_of(given);
    if (given.prints_config) return std::fputs(to_json(run).c_str(), stdout) < 0;
  } catch (std::exception const& problem) {
    return print_error(problem.what(), 2);
  }
  try {
    return train(run, preflight, argc, argv);
  } catch (usage_error const& mistake) {
    return print_error(mistake.what(), reference_program::usage_status);
  } catch (cohort::communicator_error const& problem) {
    return print_error(run.explain(problem.what()), problem.exit_status());
  } catch (std::exception const& problem) {
    return print_error(run.explain(problem.what()), 1);
  }
}
